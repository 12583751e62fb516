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
    var awayChangedAt = Instant.zero
    /// The instant by which peers must know the name that the node took last; nil if it kept its first name (M-24).
    private(set) var nameDue: Instant?
    /// How many up or suspect links it has.
    private(set) var links = 0
    var isSuspended = false
    /// The last wills that the helper process keeps, by session.
    var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]
    /// Whether its user takes messages.
    var takesMessages = true
    /// The messages that its user has not taken, and the bytes of their texts together.
    private var untaken: [UInt64] = []
    private(set) var untakenBytes = 0
    /// Those of each author.
    private(set) var untakenBytesOfAuthors: [PublicKey: Int] = [:]
    /// The index of the handshake that it began last.
    private var newestAttempt: UInt32?
    /// The ephemeral keys of its responses, by their first bytes: those that are sent again cost nothing.
    private var responses: Set<UInt32> = []

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    /// Gives it an input.
    ///
    /// - Parameter index: The session of the datagram that the input is.
    func react(to body: (inout Endpoint, Instant) -> Void, ofSession index: UInt32?, _ now: Instant) -> Reaction {
        let reaction = endpoint.react(to: body, ofSession: index, now, (dropped, surplus), takesMessages)
        if !takesMessages {
            for case .message(_, let author, let number, let text) in reaction.outputs {
                untaken.append(number)
                untakenBytes += text.utf8.count
                untakenBytesOfAuthors[author.key, default: 0] += text.utf8.count
            }
        }
        links = reaction.links
        dropped += reaction.dropped
        surplus += reaction.surplus
        wantsSocketDrained = reaction.wantsSocketDrained
        deadline = reaction.deadline
        return reaction
    }

    /// Resets the state that a snapshot does not have.
    func reverted() {
        wills = [:]
        (dropped, surplus) = (
            endpoint.counters.drops.values.reduce(0, +), endpoint.counters.drops[.peerLimit] ?? 0
        )
        nameDue = nil
    }

    /// Records a change of the node's name. Its peers hear of the name now, or a second after the last name.
    func noteNewName(_ now: Instant) {
        // A waiting report has the name of its moment.
        if let nameDue, nameDue > now { return }
        nameDue = nameDue.map { max(now, $0 + Limits.nameInterval) } ?? now
    }

    /// Its user takes messages again, and first those that wait.
    func takeMessages() -> [UInt64] {
        takesMessages = true
        untakenBytes = 0
        untakenBytesOfAuthors = [:]
        defer { untaken = [] }
        return untaken
    }

    /// Returns the work of an input.
    ///
    /// - Parameters:
    ///   - bytes: The datagram, if the input was one.
    ///   - before: The drops before it.
    func work(_ reaction: Reaction, _ bytes: [UInt8]?, _ before: [DropReason: Int]) -> Work {
        var work = Work()
        var answers = 0
        for case .send(let bytes, _, let kind) in reaction.outputs {
            if kind == .typing || kind == .heartbeat {
                work.statuses += 1
            } else {
                work.datagrams += 1
                if kind.isSealed { work.seals += 1 }
            }
            if kind == .response, responses.insert(SealedHeader(bytes).counter).inserted { answers += 1 }
            guard kind == .initiation, bytes.count >= 5 else { continue }
            let index = SealedHeader(bytes).index
            // An initiation costs a key pair and two agreements. A repeated one costs nothing.
            if index != newestAttempt { work.limitedAgreements += 3 }
            newestAttempt = index
        }
        guard let bytes, let first = bytes.first else { return work }
        work.datagrams += 1
        let drops = endpoint.counters.drops
        let reason = DropReason.allCases.first { drops[$0] != before[$0] }
        switch (first & 0xF, reason) {
        case (_, .malformed), (_, .offLink), (_, .suspended), (_, .notUnicast), (_, .unknownIndex): break
        case (1, .unknownChat), (1, .sourceLimit), (1, .cookie): break
        case (1, nil): work.limitedAgreements += 5 * answers
        case (1, _): work.agreements += 2
        case (2, .responseLimit): break
        case (2, _): work.agreements += 2
        case (3, .replayed): break
        case (3, _): work.seals += 1
        default: break
        }
        return work
    }
}

/// All results of an input, gathered in one access: an endpoint is too large to be copied for each query.
struct Reaction {
    let outputs: [Output]
    /// The chat of the session that the datagram was for, before the input.
    let chat: ChatID?
    /// How many datagrams were dropped.
    let dropped: Int
    /// How many of them were more than their link may send.
    let surplus: Int
    let wantsSocketDrained: Bool
    let deadline: Instant?
    /// How many up or suspect links there are.
    let links: Int
}

extension Endpoint {
    fileprivate mutating func react(
        to body: (inout Endpoint, Instant) -> Void, ofSession index: UInt32?, _ now: Instant,
        _ before: (dropped: Int, surplus: Int), _ takesMessages: Bool
    ) -> Reaction {
        let chat = index.flatMap { self.chat(ofSession: $0) }
        body(&self, now)
        var outputs: [Output] = []
        while let output = nextOutput() {
            outputs.append(output)
            if takesMessages, case .message(_, _, let number, _) = output { messageTaken(number) }
        }
        return Reaction(
            outputs: outputs, chat: chat, dropped: counters.drops.values.reduce(0, +) - before.dropped,
            surplus: (counters.drops[.peerLimit] ?? 0) - before.surplus, wantsSocketDrained: wantsSocketDrained,
            deadline: nextDeadline, links: liveLinks)
    }
}
