import InklingCore
import InklingWire

/// The node of a host, from one start to its end.
final class SimulatedNode {
    var endpoint: Endpoint
    /// The time of the node's next timer.
    private(set) var deadline: Instant?
    private(set) var wantsSocketDrained = false
    /// The number of datagrams that the node has dropped.
    private(set) var dropped = 0
    /// The number of dropped datagrams above a link's limit. These are signs of life all the same.
    private(set) var surplus = 0
    /// The time of the current timer event. Other timer events are outdated.
    var timerAt: Instant?
    var isAway = false
    var awayChangedAt = Instant.zero
    /// The instant by which peers must know the name that the node took last; nil if it kept its first name (M-24).
    private(set) var nameDue: Instant?
    /// The number of the node's up or suspect links.
    private(set) var links = 0
    var isSuspended = false
    /// The last wills that the helper process keeps, by session.
    var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]
    /// Whether the node's user takes messages.
    var takesMessages = true
    /// The messages that the user has not taken, and the bytes of all their texts.
    private var untaken: [UInt64] = []
    private(set) var untakenBytes = 0
    /// The bytes of the texts that the user has not taken, by author.
    private(set) var untakenBytesOfAuthors: [PublicKey: Int] = [:]
    /// The index of the last handshake that the node began.
    private var newestAttempt: UInt32?
    /// The ephemeral keys of the node's responses, by their first bytes. A repeated response costs nothing.
    private var responses: Set<UInt32> = []

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    /// Passes an input to the node.
    ///
    /// - Parameter index: The session index if the input is a sealed datagram.
    func react(to body: (inout Endpoint, Instant) -> Void, ofSession index: UInt32?, _ now: Instant) -> Reaction {
        let reaction = endpoint.react(to: body, ofSession: index, now, (dropped, surplus), takesMessages)
        if !takesMessages {
            for case .message(_, let author, let number, let text, _) in reaction.outputs {
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

    /// Resets the state that is no part of a snapshot.
    func reverted() {
        wills = [:]
        (dropped, surplus) = (
            endpoint.counters.drops.values.reduce(0, +), endpoint.counters.drops[.peerLimit] ?? 0
        )
        nameDue = nil
    }

    /// Records a change of the node's name. The node sends the name now, or a second after it sent the last one.
    func noteNewName(_ now: Instant) {
        // A name record that waits already will carry the new name.
        if let nameDue, nameDue > now { return }
        nameDue = nameDue.map { max(now, $0 + Limits.nameInterval) } ?? now
    }

    /// Lets the user take messages again.
    ///
    /// - Returns: The messages that wait, which the user takes first.
    func takeMessages() -> [UInt64] {
        takesMessages = true
        untakenBytes = 0
        untakenBytesOfAuthors = [:]
        defer { untaken = [] }
        return untaken
    }

    /// Returns the work that an input caused.
    ///
    /// - Parameters:
    ///   - bytes: The datagram, if the input was one.
    ///   - before: The numbers of drops before the input.
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
            // A new initiation costs a key pair and two agreements. A repeated one costs nothing.
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
        // The node opens few of these initiations a second (L-9, L-97), and the others not at all (L-96).
        case (1, .answerLimit): work.limitedAgreements += 2
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

/// All results of an input, gathered in one access: an endpoint is too large to copy for each query.
struct Reaction {
    let outputs: [Output]
    /// The chat of the datagram's session before the input.
    let chat: ChatID?
    /// The number of datagrams that the node dropped in the input.
    let dropped: Int
    /// The number of those above their link's limit.
    let surplus: Int
    let wantsSocketDrained: Bool
    let deadline: Instant?
    /// The number of up or suspect links after the input.
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
            if takesMessages, case .message(_, _, let number, _, _) = output { messageTaken(number) }
        }
        return Reaction(
            outputs: outputs, chat: chat, dropped: counters.drops.values.reduce(0, +) - before.dropped,
            surplus: (counters.drops[.peerLimit] ?? 0) - before.surplus, wantsSocketDrained: wantsSocketDrained,
            deadline: nextDeadline, links: liveLinks)
    }
}
