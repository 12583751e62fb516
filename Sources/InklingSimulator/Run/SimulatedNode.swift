import InklingCore
import InklingWire

/// The node of a host, from one start to its end.
final class SimulatedNode {
    var endpoint: Endpoint
    /// When it wants to be woken.
    private(set) var deadline: Instant?
    private(set) var wantsSocketDrained = false
    /// How many datagrams it has dropped.
    private(set) var dropped = 0
    /// How many of them were more than their link may send: signs of life all the same.
    private(set) var surplus = 0
    /// When the timer event that counts comes; others are outdated.
    var timerAt: Instant?
    var isAway = false
    var isSuspended = false
    /// The last wills that the helper process keeps, by session.
    var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    /// Gives it an input.
    ///
    /// - Parameter index: The session of the datagram that the input is.
    func react(to body: (inout Endpoint, Instant) -> Void, ofSession index: UInt32?, _ now: Instant) -> Reaction {
        let reaction = endpoint.react(to: body, ofSession: index, now, (dropped, surplus))
        dropped += reaction.dropped
        surplus += reaction.surplus
        wantsSocketDrained = reaction.wantsSocketDrained
        deadline = reaction.deadline
        return reaction
    }
}

/// All that an input came to. It is gathered in one access: an endpoint is too large to be copied for each question.
struct Reaction {
    let outputs: [Output]
    /// The chat of the session that the datagram was for, as it was before.
    let chat: ChatTag?
    /// How many datagrams were dropped.
    let dropped: Int
    /// How many of them were more than their link may send.
    let surplus: Int
    let wantsSocketDrained: Bool
    let deadline: Instant?
}

extension Endpoint {
    fileprivate mutating func react(
        to body: (inout Endpoint, Instant) -> Void, ofSession index: UInt32?, _ now: Instant,
        _ before: (dropped: Int, surplus: Int)
    ) -> Reaction {
        let chat = index.flatMap { self.chat(ofSession: $0) }
        body(&self, now)
        var outputs: [Output] = []
        while let output = nextOutput() {
            outputs.append(output)
            if case .message(_, _, let number, _) = output { messageTaken(number) }
        }
        return Reaction(
            outputs: outputs, chat: chat, dropped: counters.drops.values.reduce(0, +) - before.dropped,
            surplus: (counters.drops[.peerLimit] ?? 0) - before.surplus, wantsSocketDrained: wantsSocketDrained,
            deadline: nextDeadline)
    }
}
