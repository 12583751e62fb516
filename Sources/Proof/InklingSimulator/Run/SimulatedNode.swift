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

    /// Answers a question about the endpoint in place. A copy of the endpoint costs more than most questions.
    func ask<Answer>(_ question: (inout Endpoint) -> Answer) -> Answer { question(&endpoint) }

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
            if takesMessages, case .message(_, _, let number, _, _) = output { messageTaken(number, now: now) }
        }
        return Reaction(
            outputs: outputs, chat: chat, dropped: counters.drops.values.reduce(0, +) - before.dropped,
            surplus: (counters.drops[.peerLimit] ?? 0) - before.surplus, wantsSocketDrained: wantsSocketDrained,
            deadline: nextDeadline, links: liveLinks)
    }
}

/// The state of a host.
enum HostState {
    /// No node runs.
    case off
    case running(SimulatedNode)
    /// The host's node is stopped as by SIGSTOP. Arrivals wait in the socket.
    case paused(SimulatedNode, Pause)
    /// The machine is asleep, with its node if one was running. Arrivals are lost.
    case asleep(SimulatedNode?)
}

/// One stop of a node.
struct Pause {
    struct Waiting {
        let packet: Packet
        let arrivedAt: Instant
    }

    /// The number of the stop, which differs from those of the host's other stops.
    let number: Int
    private(set) var socket: [Waiting] = []

    init(number: Int) { self.number = number }

    /// Queues an arrival if the socket has room.
    mutating func add(_ packet: Packet, arrivedAt: Instant) {
        if socket.count < 400 { socket.append(Waiting(packet: packet, arrivedAt: arrivedAt)) }
    }
}

/// One machine of the virtual LAN: its node, its addresses, and what its user does.
final class SimulatedHost {
    /// The real actions of the host's user in a chat, with which the checkers compare the displays of other nodes.
    struct Writing {
        /// The time of the last edit, even if a later action ended the typing.
        private(set) var newestEdit = Instant.zero
        private(set) var edits = 0
        /// Whether no action has ended the typing since the last edit.
        private var goesOn = false

        mutating func edit(_ now: Instant) {
            newestEdit = now
            edits += 1
            goesOn = true
        }

        mutating func end() { goesOn = false }

        /// Returns whether the user types: the last edit is at most 2.9 s old, and no action has ended the typing
        /// since.
        func isTyping(_ now: Instant) -> Bool { goesOn && now - newestEdit < .milliseconds(2_900) }
    }

    /// The state of the user's block of another person.
    enum Block {
        case inForce
        case ended(at: Instant)
    }

    let index: Int
    let plan: Scenario.HostPlan
    let identity: KeyPair
    /// The prefix length of the host's IPv4 network, counted in the mapped IPv6 address.
    let ipv4Prefix: Int
    var state = HostState.off
    /// The number of starts of the host's node.
    var incarnation = 0
    var startedAt = Instant.zero
    /// The time of the last disturbance from which the host's links must recover.
    var disturbedAt = Instant.zero
    /// A snapshot of the node, with the number of the start in which it was made.
    var snapshot: (incarnation: Int, endpoint: Endpoint)?
    /// Whether the host returned to a snapshot. Its node then repeats itself.
    var wasReverted = false
    /// The time when the host last got another address.
    var movedAt: Instant?
    /// The time when the host's node last continued after a stop or sleep.
    var wokeAt: Instant?
    /// The time when the node last ran so late that it had to catch up (L-30). Only a busy processor causes this.
    var lateAt: Instant?
    /// The number of times that the host's node was stopped.
    var pauses = 0
    /// The host's addresses, the IPv4 address first.
    var addresses: [Address]
    var isUnplugged = false
    var chats: Set<Int>
    /// The names that the host's user has taken, the current one last.
    private(set) var names: [String]
    var writing: [Writing]
    /// The typing announcements that the host's node must make, by chat.
    var typing: [TypingModel]
    /// All identities that the host's user ever blocked. The host's node says bye to a person whom its user blocks.
    var blocks: [Int: Block] = [:]
    /// The number of the last datagram that may have been a farewell, by chat.
    var farewells: [Int: UInt64] = [:]
    /// The time until which copies of a farewell may leave the host, even if its node runs again.
    var farewellsEnd = Instant.zero
    /// The number of service instances that the host has advertised.
    var advertisements = 0
    /// The current instance name of each chat.
    var instanceNames: [Int: String] = [:]
    /// The last addresses of the node's links, by chat and key. The node's state directory keeps them.
    var lastAddresses: [Int: [PublicKey: [Address]]] = [:]
    /// The last addresses of the hosts that this host had links with, by chat and host, as an observer saw them.
    var meetings: [Int: [Int: [Address]]] = [:]
    /// The owner's chat that the host is in, as the node's state directory keeps it.
    var membership: Membership?
    /// The owner's chat in which the host's node claims to be the owner, or gives a successor that removes its owner.
    var lie: Int?
    /// The texts that the node's daemon keeps, in scenarios with texts that wait.
    var store = TextStore()
    var lateness: SeededGenerator
    /// The host's processor. Its work takes time only in scenarios with an adversary.
    var processor = Processor()

    init(
        index: Int, plan: Scenario.HostPlan, identity: KeyPair, addresses: [Address], ipv4Prefix: Int, seed: UInt64,
        chatCount: Int
    ) {
        self.index = index
        self.plan = plan
        self.identity = identity
        self.ipv4Prefix = ipv4Prefix
        self.addresses = addresses
        chats = Set(plan.chats)
        names = ["host \(index)"]
        writing = Array(repeating: Writing(), count: chatCount)
        typing = Array(repeating: TypingModel(), count: chatCount)
        lateness = SeededGenerator(seed: seed, purpose: 1_000 + UInt64(index))
    }

    var key: PublicKey { identity.publicKey }

    /// The host's node, running, stopped or asleep.
    var node: SimulatedNode? {
        switch state {
        case .off: nil
        case .running(let node), .paused(let node, _): node
        case .asleep(let node): node
        }
    }

    /// Whether the host has a running node that is neither stopped nor suspended.
    var isActive: Bool {
        if case .running(let node) = state { !node.isSuspended } else { false }
    }

    var isAsleep: Bool {
        if case .asleep = state { true } else { false }
    }

    var networks: [LocalNetwork] {
        guard !isUnplugged else { return [] }
        let loopback = LocalNetwork(address: Address(ipv4: 0x7F00_0001, port: 0), prefixLength: 104)
        return [loopback]
            + addresses.map { address in
                LocalNetwork(
                    address: Address(high: address.high, low: address.low, port: 0, scope: address.scope),
                    prefixLength: address.ipv4 != nil ? ipv4Prefix : 64)
            }
    }

    /// Returns whether programs of the host can send from an address.
    func isOwn(_ address: Address) -> Bool {
        address.isLoopback || addresses.contains { $0.high == address.high && $0.low == address.low }
    }

    /// Returns the source address of a datagram to another address; nil if the host has none of that family.
    func source(for destination: Address) -> Address? {
        addresses.first { ($0.ipv4 == nil) == (destination.ipv4 == nil) }
    }

    // MARK: Its user

    var name: String { names[names.count - 1] }

    func takeAnotherName() { names.append("host \(index), name \(names.count)") }

    /// Returns the chats in which the host's user is typing, as bits.
    func typingChats(_ now: Instant) -> UInt32 {
        guard plan.sendsTyping, let node, !node.isSuspended else { return 0 }
        var bits: UInt32 = 0
        for chat in writing.indices where writing[chat].isTyping(now) { bits |= 1 << UInt32(chat) }
        return bits
    }

    func stopWriting() {
        for chat in writing.indices { writing[chat].end() }
    }

    /// Ends the typing announcements, because the node says farewell or has ended.
    func abandonTyping() {
        for chat in typing.indices { typing[chat].abandon() }
    }

    /// Returns whether the host's node can send only farewells in a chat.
    func isGone(from chat: Int) -> Bool { node?.isSuspended ?? true || !chats.contains(chat) }

    func blocks(_ identity: Int) -> Bool {
        if case .inForce? = blocks[identity] { true } else { false }
    }

    /// Returns whether a person may see the host leave because its user blocks the person, or did a moment ago.
    func hasLatelyBlocked(_ identity: Int, _ now: Instant) -> Bool {
        switch blocks[identity] {
        case nil: false
        case .inForce: true
        case .ended(let end): now - end < .seconds(10)
        }
    }

    /// Ends all blocks, because a node that starts has none.
    func endBlocks(_ now: Instant) {
        for identity in blocks.keys where blocks(identity) { blocks[identity] = .ended(at: now) }
    }
}
