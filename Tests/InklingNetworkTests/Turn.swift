import Testing

/// When a suite on a network runs. Its hosts have namespaces of their own, so that it gets on side by side with others:
/// most of them wait most of the time. A suite that measures milliseconds, or keeps both processors busy, runs alone.
struct Turn: SuiteTrait, TestScoping {
    fileprivate enum Kind { case sideBySide, alone }

    /// Whether this task belongs to a suite that has its turn; nothing else may make hosts.
    @TaskLocal static var isTaken = false

    fileprivate let kind: Kind

    /// Outside of the time limits of the suite's tests, and of the times that are told of them.
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Turns.shared.begin(kind)
        let result: Result<Void, any Error>
        do {
            result = .success(try await Turn.$isTaken.withValue(true) { try await function() })
        } catch {
            result = .failure(error)
        }
        await Turns.shared.end()
        try result.get()
    }
}

extension Trait where Self == Turn {
    /// The suite runs beside a few others.
    static var sideBySide: Self { Turn(kind: .sideBySide) }

    /// The suite runs while no other suite on a network does.
    static var alone: Self { Turn(kind: .alone) }
}

/// Who has a turn and who waits for one. One that runs alone begins when nobody runs, and nobody else waits who need not
/// be alone.
private actor Turns {
    static let shared = Turns()

    /// So many suites run side by side: at their starts, which take all the processor time that they get, the bounds of
    /// the others must still hold on two processors.
    private static let places = 6

    private enum State {
        case sideBySide(Int)
        case alone
    }

    private var state = State.sideBySide(0)
    private var waiting: [(kind: Turn.Kind, turn: CheckedContinuation<Void, Never>)] = []

    func begin(_ kind: Turn.Kind) async {
        await withCheckedContinuation { turn in
            waiting.append((kind, turn))
            admit()
        }
    }

    func end() {
        switch state {
        case .sideBySide(let count): state = .sideBySide(count - 1)
        case .alone: state = .sideBySide(0)
        }
        admit()
    }

    private func admit() {
        while case .sideBySide(let count) = state, count < Turns.places,
            let next = waiting.firstIndex(where: { $0.kind == .sideBySide })
        {
            state = .sideBySide(count + 1)
            waiting.remove(at: next).turn.resume()
        }
        // Whoever still waits now, and finds nobody running, waits to run alone.
        guard case .sideBySide(0) = state, let next = waiting.first else { return }
        state = .alone
        waiting.removeFirst()
        next.turn.resume()
    }
}
