import InklingCore
import InklingWire

/// The state of a host.
enum HostState {
    /// No node runs.
    case off
    case running(SimulatedNode)
    /// Its node is stopped as by SIGSTOP: arrivals wait in the socket.
    case paused(SimulatedNode, Pause)
    /// The machine is asleep, and so is a running node: arrivals are lost.
    case asleep(SimulatedNode?)
}

/// One stop of a node.
struct Pause {
    struct Waiting {
        let packet: Packet
        let arrivedAt: Instant
    }

    /// Tells it from other stops of the host.
    let number: Int
    private(set) var socket: [Waiting] = []

    init(number: Int) { self.number = number }

    /// A packet waits, if the socket has room for it.
    mutating func add(_ packet: Packet, arrivedAt: Instant) {
        if socket.count < 400 { socket.append(Waiting(packet: packet, arrivedAt: arrivedAt)) }
    }
}

/// One machine of the virtual LAN: its node, its addresses, and what its user does.
final class SimulatedHost {
    /// The true actions of its user in a chat, against which the checkers hold the reports of others.
    struct Writing {
        /// The last edit ever, also if later actions ended it.
        private(set) var newestEdit = Instant.zero
        private(set) var edits = 0
        /// Nothing has ended it since the last edit.
        private var goesOn = false

        mutating func edit(_ now: Instant) {
            newestEdit = now
            edits += 1
            goesOn = true
        }

        mutating func end() { goesOn = false }

        /// Whether the user types: the last edit is at most 2.9 s old, and nothing has ended it since.
        func isTyping(_ now: Instant) -> Bool { goesOn && now - newestEdit < .milliseconds(2_900) }
    }

    /// Whether the host's user blocks somebody.
    enum Block {
        case inForce
        case ended(at: Instant)
    }

    let index: Int
    let plan: Scenario.HostPlan
    let identity: KeyPair
    /// The length of its IPv4 network's prefix, counted in the mapped address.
    let ipv4Prefix: Int
    var state = HostState.off
    /// Counts the starts of its node.
    var incarnation = 0
    var startedAt = Instant.zero
    /// When something last happened to it that links have to get over.
    var disturbedAt = Instant.zero
    /// A snapshot of its machine, with the start of its node that the snapshot belongs to.
    var snapshot: (incarnation: Int, endpoint: Endpoint)?
    /// Whether it was made to be that again: its node repeats itself.
    var wasReverted = false
    /// When it last got another address.
    var movedAt: Instant?
    /// When it last went on after it had been stopped.
    var wokeAt: Instant?
    /// When its processor last let its node come so late that the node catches up (L-30).
    var lateAt: Instant?
    /// Counts the times that it was stopped.
    var pauses = 0
    /// The one of IPv4 first.
    var addresses: [Address]
    var isUnplugged = false
    var chats: Set<Int>
    /// The names that its user has taken, the last one last.
    private(set) var names: [String]
    var writing: [Writing]
    /// The announcements of typing that its node has to make, by chat.
    var typing: [TypingModel]
    /// All identities that it ever blocked: these have heard a farewell from a node that went on.
    var blocks: [Int: Block] = [:]
    /// The last datagram in each chat that may have been a farewell.
    var farewells: [Int: UInt64] = [:]
    /// Until when copies of a farewell may still go out of a node that is back already.
    var farewellsEnd = Instant.zero
    /// How many instances it has advertised.
    var advertisements = 0
    /// The current instance name of each chat.
    var instanceNames: [Int: String] = [:]
    /// Where its node's links with others were last, by chat and key: its state directory keeps that.
    var lastAddresses: [Int: [PublicKey: [Address]]] = [:]
    /// Where the hosts were that it last had links with, by chat and host, as an observer saw it.
    var meetings: [Int: [Int: [Address]]] = [:]
    var lateness: SeededGenerator
    /// Its processor, which takes time in scenarios with an adversary alone.
    var processor = Processor()

    init(
        index: Int, plan: Scenario.HostPlan, identity: KeyPair, addresses: [Address], ipv4Prefix: Int, seed: UInt64
    ) {
        self.index = index
        self.plan = plan
        self.identity = identity
        self.ipv4Prefix = ipv4Prefix
        self.addresses = addresses
        chats = Set(plan.chats)
        names = ["host \(index)"]
        writing = Array(repeating: Writing(), count: Simulation.chats.count)
        typing = Array(repeating: TypingModel(), count: Simulation.chats.count)
        lateness = SeededGenerator(seed: seed, purpose: 1_000 + UInt64(index))
    }

    var key: PublicKey { identity.publicKey }

    /// Its node, whether it is stopped or not.
    var node: SimulatedNode? {
        switch state {
        case .off: nil
        case .running(let node), .paused(let node, _): node
        case .asleep(let node): node
        }
    }

    /// A node runs that is not stopped, and takes part.
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

    /// Whether programs of the host can send from that address.
    func isOwn(_ address: Address) -> Bool {
        address.isLoopback || addresses.contains { $0.high == address.high && $0.low == address.low }
    }

    /// The address from which a datagram to another address goes; nil if none of its kind is left.
    func source(for destination: Address) -> Address? {
        addresses.first { ($0.ipv4 == nil) == (destination.ipv4 == nil) }
    }

    // MARK: Its user

    var name: String { names[names.count - 1] }

    func takeAnotherName() { names.append("host \(index), name \(names.count)") }

    /// The chats in which its user is typing, as bits.
    func typingChats(_ now: Instant) -> UInt8 {
        guard plan.sendsTyping, let node, !node.isSuspended else { return 0 }
        var bits: UInt8 = 0
        for chat in writing.indices where writing[chat].isTyping(now) { bits |= 1 << UInt8(chat) }
        return bits
    }

    func stopWriting() {
        for chat in writing.indices { writing[chat].end() }
    }

    /// Its node says farewell, or has ended: nothing is announced.
    func abandonTyping() {
        for chat in typing.indices { typing[chat].abandon() }
    }

    /// Whether what it sends for a chat can only be farewells.
    func isGone(from chat: Int) -> Bool { node?.isSuspended ?? true || !chats.contains(chat) }

    func blocks(_ identity: Int) -> Bool {
        if case .inForce? = blocks[identity] { true } else { false }
    }

    /// Whether somebody may still be seeing it go because it blocks them, or did a moment ago.
    func hasLatelyBlocked(_ identity: Int, _ now: Instant) -> Bool {
        switch blocks[identity] {
        case nil: false
        case .inForce: true
        case .ended(let end): now - end < .seconds(10)
        }
    }

    /// A node that starts blocks nobody.
    func endBlocks(_ now: Instant) {
        for identity in blocks.keys where blocks(identity) { blocks[identity] = .ended(at: now) }
    }
}
