import InklingWire

/// A test of the program under test.
package struct Case: Sendable {
    /// The subject of a case; `run --group` selects cases by this word.
    package enum Group: String, CaseIterable, Sendable {
        case vectors, handshake, sealed, typing, presence, messages, limits, malformed, extensions, links, driver
        case discovery
    }

    /// The load of a case on the machine while the case runs.
    package enum Load: Sendable {
        /// The case may run at the same time as other cases.
        case light
        /// The case may run with others, but takes half a minute or more. So it begins first.
        case long
        /// The case sends or measures so much that it must run alone.
        case heavy
    }

    /// A part of a program that a case needs besides the protocol. A case that needs none also runs in virtual time, on
    /// the core alone.
    package enum Need: String, CaseIterable, Sendable {
        case discovery = "a DNS-SD daemon"
        case program = "the arguments, lines and exit status of a program"
        case node = "the invitations or moves that a node keeps on top of the protocol"
    }

    /// The number of the case: its first clause and a number, such as `W-14.1`. A number is never used for another
    /// case.
    package let id: String
    /// The clauses that the case proves. The first one tells whether the case is a MUST or a SHOULD.
    package let clauses: [String]
    /// The group of the list in which the case stands.
    package var group = Group.links
    package let load: Load
    /// The need of the case; nil if the protocol is enough. Each case of the groups `driver` and `discovery` has the need
    /// of its group.
    package var need: Need?
    /// The correct behaviour, as a sentence.
    package let title: String
    package let body: @Sendable (Trial) throws -> Void

    package init(
        _ id: String, _ title: String, also clauses: String..., load: Load = .light, needs need: Need? = nil,
        _ body: @escaping @Sendable (Trial) throws -> Void
    ) {
        self.init(id, title, alsoAll: clauses, load: load, needs: need, body)
    }

    /// Makes a case with a list of further clauses.
    package init(
        _ id: String, _ title: String, alsoAll clauses: [String], load: Load = .light, needs need: Need? = nil,
        _ body: @escaping @Sendable (Trial) throws -> Void
    ) {
        self.id = id
        self.clauses = [String(id.prefix { $0 != "." })] + clauses
        self.load = load
        self.need = need
        self.title = title
        self.body = body
    }

    /// The first clause of the case.
    package var clause: Clause {
        guard let clause = Clause.all[clauses[0]] else { preconditionFailure("\(clauses[0]) is not a clause") }
        return clause
    }

    /// Tests a program on a stage.
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
        // If the program crashed, the case fails even if its checks passed.
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

/// The result of a case.
package struct CaseResult: Sendable {
    package enum Outcome: Sendable, Equatable {
        case passed
        case failed(Finding)
        /// The case did not run, because the program did not become ready. `StartCheck` made the finding.
        case notRun(Finding)
        case unsupported(Feature)
        case skipped(String)

        package var isFailure: Bool { if case .failed = self { true } else { false } }
    }

    package let test: Case
    package let outcome: Outcome
    package let duration: Duration
    /// The last datagrams of both sides as text; empty unless the case failed.
    package let trace: [String]

    package init(test: Case, outcome: Outcome, duration: Duration, trace: [String]) {
        self.test = test
        self.outcome = outcome
        self.duration = duration
        self.trace = trace
    }
}

/// All cases, in the order of the specification's texts and by number.
package enum Catalogue {
    package static let all: [Case] = [
        (.handshake, [handshakeCases, wireCases, openingCases, attemptCases, retryCases, askCases]),
        (.handshake, [localAddressCases, securityCases]), (.sealed, [sealedCases]),
        (.malformed, [datagramCases, frameCases, malformedCases]), (.extensions, [extensionCases]),
        (.links, [linkCases, orderCases, farewellCases, sessionCases, epochCases, talkCases]),
        (.typing, [typingSenderCases, typingEndCases, typingReceiverCases]),
        (.presence, [presenceCases, silenceCases, addressCases, sleepCases, peopleCases]),
        (
            .messages,
            [
                messageCases, queueCases, deliveryCases, outcomeCases, windowCases, waitingCases, invitationCases,
                followingCases, departureCases,
            ]
        ),
        (.limits, [loadCases, limitCases, poolCases]),
        (.driver, [answerCases, driverCases, driverLineCases, driverStartCases, requestCases, invitationRequestCases]),
        (.driver, [moveRequestCases]),
        (.discovery, [discoveryCases]), (.vectors, [vectorCases]),
    ].flatMap(list).sorted { $0.place < $1.place }.map(\.test)

    private static func list(group: Case.Group, lists: [[Case]]) -> [(place: Place, test: Case)] {
        lists.flatMap { $0 }.map { test in
            var test = test
            test.group = group
            switch group {
            case .driver: test.need = .program
            case .discovery: test.need = .discovery
            case .vectors, .handshake, .sealed, .typing, .presence, .messages, .limits, .malformed, .extensions, .links:
                break
            }
            return (place(of: test.id), test)
        }
    }

    private typealias Place = (letter: Int, clause: Int, vectors: Int, number: Int)

    /// Returns the sort key of a case's number: its clause, then the clause's own cases, then the cases made from
    /// vectors.
    private static func place(of id: String) -> Place {
        let parts = id.split(separator: ".")
        let clause = Clause.place(of: String(parts[0]))
        let isOfVectors = parts[1].hasPrefix("v")
        guard let number = Int(parts[1].drop { $0 == "v" }) else { preconditionFailure("\(id) is not a case's number") }
        return (clause.letter, clause.number, isOfVectors ? 1 : 0, number)
    }

    /// Returns the cases that a selection names: by a case's number, a clause, the letter of clauses, or a group.
    /// `unknown` has the names that match no case.
    package static func cases(named names: [String]) -> (cases: [Case], unknown: [String]) {
        guard !names.isEmpty else { return (all, []) }
        let unknown = names.filter { name in !all.contains { $0.isNamed(by: name) } }
        return (all.filter { test in names.contains { test.isNamed(by: $0) } }, unknown)
    }
}

extension Case {
    /// Returns whether `name` is the case's number, one of its clauses, the letter of its first clause, or its group.
    package func isNamed(by name: String) -> Bool {
        id == name || clauses.contains(name) || name.count == 1 && id.hasPrefix(name + "-") || group.rawValue == name
    }
}
