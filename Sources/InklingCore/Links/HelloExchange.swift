import InklingWire

/// Which hellos went out on a session, and when the next is due (L-16, L-17).
struct HelloExchange {
    private(set) var lastSent: Hello?
    private(set) var nextRepeat: Instant?
    private var lastSentAt: Instant?
    private var answers = 0
    private var hasPeerHello = false

    /// Whether every datagram without a message still has to carry our hello.
    var isOutstanding: Bool { nextRepeat != nil }

    /// The session is complete: hellos go out until the peer has shown that it got ours.
    mutating func begin(_ now: Instant) {
        nextRepeat = now
    }

    /// A newer session sends from now on.
    mutating func end() { nextRepeat = nil }

    mutating func sent(_ hello: Hello, now: Instant) {
        lastSent = hello
        lastSentAt = now
        guard nextRepeat != nil else { return }
        nextRepeat = now + Limits.helloInterval
    }

    /// Whether one that only repeats may go out again.
    func mayRepeat(_ now: Instant) -> Bool {
        lastSentAt.map { now - $0 >= Limits.helloAnswerInterval } ?? true
    }

    /// What a hello of the peer's asks for.
    enum Answer: Equatable { case none, sendNow }

    /// The peer's hello came.
    ///
    /// - Parameters:
    ///   - isHeld: Whether it says that the peer holds our stream.
    ///   - current: The hello that we would send now.
    mutating func received(isHeld: Bool, current: Hello, now: Instant) -> Answer {
        let isFirst = !hasPeerHello
        hasPeerHello = true
        nextRepeat = isHeld ? nil : nextRepeat ?? now + Limits.helloInterval
        let sinceLast = lastSentAt.map { now - $0 }
        let isNew = lastSent != current
        let isRepeat = !isFirst && sinceLast.map { $0 >= Limits.helloAnswerInterval } ?? true
        guard isNew || isRepeat else { return .none }
        // If twelve were lost, the peer must not wait forever.
        let isLate = sinceLast.map { $0 >= Limits.lateHelloAnswerInterval } ?? true
        guard answers < Limits.helloAnswersPerSession || isLate else { return .none }
        answers += 1
        return .sendNow
    }
}
