import Testing

/// The turn of a suite on a network. A suite has its own namespaces and mostly waits, so several run side by side. A
/// suite that measures milliseconds, or keeps both processors busy, runs alone.
struct Turn: SuiteTrait, TestScoping {
    fileprivate enum Kind { case sideBySide, alone }

    /// Whether this task belongs to a suite with a turn. Only such a suite may make hosts.
    @TaskLocal static var isTaken = false

    fileprivate let kind: Kind

    /// Waits for the suite's turn. The time limits and reported times of the suite's tests do not include the wait.
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

    /// The suite runs while no other suite on a network does. Only ``NetworkTests/Alone`` does so.
    static var alone: Self { Turn(kind: .alone) }
}

/// The suites that run or wait. A suite that runs alone begins when no suite runs. Only such suites wait.
private actor Turns {
    static let shared = Turns()

    /// The most suites side by side. When they start, they take all processor time. Even on two processors, the running
    /// ones must still keep their bounds.
    private static let places = 5

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
        // No suite is running, and those that remain wait to run alone.
        guard case .sideBySide(0) = state, let next = waiting.first else { return }
        state = .alone
        waiting.removeFirst()
        next.turn.resume()
    }
}
