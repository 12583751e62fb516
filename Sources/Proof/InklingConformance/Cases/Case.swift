import InklingWire

/// One thing that a program under test is tried for.
package struct Case: Sendable {
    /// What a case is about; `run --group` chooses by its word.
    package enum Group: String, CaseIterable, Sendable {
        case vectors, handshake, sealed, typing, presence, messages, limits, malformed, extensions, links, driver
        case discovery
    }

    /// What a case needs of the machine while it runs.
    package enum Load: Sendable {
        /// It runs beside others.
        case light
        /// The same, for half a minute or more: it begins first.
        case long
        /// It sends or measures so much that it runs alone.
        case heavy
    }

    /// The clause that it proves first, and a number, such as `W-14.1`; never used for another case.
    package let id: String
    /// The clauses that it proves; the first gives the level.
    package let clauses: [String]
    /// What the list of cases is about that it stands in.
    package var group = Group.links
    package let load: Load
    /// What the program does that passes, as a sentence.
    package let title: String
    package let body: @Sendable (Trial) throws -> Void

    package init(
        _ id: String, _ title: String, also clauses: String..., load: Load = .light,
        _ body: @escaping @Sendable (Trial) throws -> Void
    ) {
        self.init(id, title, alsoAll: clauses, load: load, body)
    }

    /// The same, with a list of further clauses.
    package init(
        _ id: String, _ title: String, alsoAll clauses: [String], load: Load = .light,
        _ body: @escaping @Sendable (Trial) throws -> Void
    ) {
        self.id = id
        self.clauses = [String(id.prefix { $0 != "." })] + clauses
        self.load = load
        self.title = title
        self.body = body
    }

    /// The clause that it proves first.
    package var clause: Clause {
        guard let clause = Clause.all[clauses[0]] else { preconditionFailure("\(clauses[0]) is not a clause") }
        return clause
    }

    /// Tries a program, on a stage of its own.
    package func run(on stage: some Stage, seed: UInt64) -> CaseResult {
        let trial = Trial(stage: stage, seed: seed)
        let start = stage.now
        let outcome = outcome(of: trial)
        return CaseResult(
            test: self, outcome: outcome, duration: stage.now - start,
            trace: outcome.isFailure ? trial.trace.map(\.text) : [])
    }

    private func outcome(of trial: Trial) -> CaseResult.Outcome {
        do {
            try body(trial)
        } catch let finding as Finding {
            return .failed(finding)
        } catch let unsupported as Unsupported {
            return .unsupported(unsupported.feature)
        } catch let untried as Untried {
            return .skipped(untried.reason)
        } catch {
            return .skipped("\(error)")
        }
        // A program that ends on its own account has not passed, whatever else it did.
        for program in trial.programs {
            if let exit = program.exit, case .signalled(let signal) = exit.status, signal != 9, signal != 15,
                signal != 2
            {
                return .failed(Finding(expected: "the program goes on", actual: "it was ended by signal \(signal)"))
            }
        }
        return .passed
    }
}

/// What became of a case.
package struct CaseResult: Sendable {
    package enum Outcome: Sendable, Equatable {
        case passed
        case failed(Finding)
        /// It was not run, as the program does not get ready; what `StartCheck` found.
        case notRun(Finding)
        case unsupported(Feature)
        case skipped(String)

        package var isFailure: Bool { if case .failed = self { true } else { false } }
    }

    package let test: Case
    package let outcome: Outcome
    package let duration: Duration
    /// The last datagrams of both sides as text, of a case that failed.
    package let trace: [String]

    package init(test: Case, outcome: Outcome, duration: Duration, trace: [String]) {
        self.test = test
        self.outcome = outcome
        self.duration = duration
        self.trace = trace
    }
}
