import InklingCore
import InklingWire

/// One machine of the virtual LAN: its node, its addresses, and what its user does.
final class SimulatedHost {
    /// What its user truly does in a chat; what others are shown is held against it.
    struct Writing {
        var lastEdit: Instant?
        /// The last edit ever, whatever came after.
        var newestEdit = Instant.zero
        var edits = 0

        /// Whether the user types: the last edit is at most 2.9 s old, and nothing has ended it since.
        func isTyping(_ now: Instant) -> Bool {
            lastEdit.map { now - $0 < .milliseconds(2_900) } ?? false
        }
    }

    struct Waiting {
        let packet: Packet
        let arrivedAt: Instant
    }

    let index: Int
    let plan: Scenario.HostPlan
    let identity: KeyPair
    /// The length of its IPv4 network's prefix, counted in the mapped address.
    let ipv4Prefix: Int
    /// Nil while no node runs.
    var endpoint: Endpoint?
    var isRunning = false
    /// When the node wants to be woken.
    var deadline: Instant?
    var wantsSocketDrained = false
    /// How many datagrams its node has dropped.
    var dropped = 0
    /// How many of them were more than their link may send: signs of life all the same.
    var surplus = 0
    /// What its node has just sent may have been byes.
    private(set) var saysBye = false
    /// Counts the starts of its node.
    var incarnation = 0
    var startedAt = Instant.zero
    /// When something last happened to it that links have to get over.
    var disturbedAt = Instant.zero
    /// The one of IPv4 first.
    var addresses: [Address]
    var isUnplugged = false
    var chats: Set<Int>
    var writing: [Writing]
    var isAway = false
    var isSuspended = false
    /// The identities that it blocks.
    var blocked: Set<Int> = []
    /// The last wills that the helper process keeps, by session.
    var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]
    /// Stopped: what arrives waits in the socket.
    var pausedSince: Instant?
    var pauseNumber = 0
    /// When it was last stopped and went on.
    var wokeAt: Instant?
    var isAsleep = false
    var socket: [Waiting] = []
    /// When the timer event that counts comes; others are outdated.
    var timerAt: Instant?
    /// All that it ever blocked: these have heard a farewell from a node that went on.
    var everBlocked: Set<Int> = []
    /// When it last ended a block.
    var unblockedAt: [Int: Instant] = [:]
    /// The last datagram in each chat that may have been a farewell.
    var farewell: [Int: UInt64] = [:]
    /// How many instances it has advertised.
    var advertisements = 0
    /// The current instance name of each chat.
    var instanceNames: [Int: String] = [:]
    var lateness: SeededGenerator

    init(
        index: Int, plan: Scenario.HostPlan, identity: KeyPair, addresses: [Address], ipv4Prefix: Int, seed: UInt64
    ) {
        self.index = index
        self.plan = plan
        self.identity = identity
        self.ipv4Prefix = ipv4Prefix
        self.addresses = addresses
        chats = Set(plan.chats)
        writing = Array(repeating: Writing(), count: Simulation.chats.count)
        lateness = SeededGenerator(seed: seed, purpose: 1_000 + UInt64(index))
    }

    var key: PublicKey { identity.publicKey }
    var isPaused: Bool { pausedSince != nil }
    /// Whether somebody may still be seeing it go because it blocks them, or did a moment ago.
    func hasLatelyBlocked(_ identity: Int, _ now: Instant) -> Bool {
        blocked.contains(identity) || unblockedAt[identity].map { now - $0 < .seconds(10) } ?? false
    }
    /// A node runs and takes part.
    var isActive: Bool { isRunning && !isSuspended && !isPaused }

    var networks: [LocalNetwork] {
        guard !isUnplugged else { return [] }
        return addresses.map { address in
            LocalNetwork(
                address: Address(high: address.high, low: address.low, port: 0, scope: address.scope),
                prefixLength: address.ipv4 != nil ? ipv4Prefix : 64)
        }
    }

    /// Whether what it sends for a chat can only be farewells.
    func isGone(from chat: Int) -> Bool { !isRunning || isSuspended || !chats.contains(chat) }
    /// Until when copies of a farewell may still go out of a node that is back already.
    var farewellsEnd = Instant.zero

    /// The chats in which its user is typing, as bits.
    func typingChats(_ now: Instant) -> UInt8 {
        guard plan.sendsTyping, isRunning, !isSuspended else { return 0 }
        var bits: UInt8 = 0
        for chat in writing.indices where writing[chat].isTyping(now) { bits |= 1 << UInt8(chat) }
        return bits
    }

    func stopWriting() {
        for chat in writing.indices { writing[chat].lastEdit = nil }
    }

    /// The own address from which a datagram to another one goes; nil where none of its kind is left.
    func source(for destination: Address) -> Address? {
        addresses.first { ($0.ipv4 == nil) == (destination.ipv4 == nil) }
    }

    /// Keeps what an input came to.
    func note(_ reaction: Reaction) {
        saysBye = reaction.saysBye
        dropped = reaction.dropped
        surplus = reaction.surplus
        wantsSocketDrained = reaction.wantsSocketDrained
        deadline = reaction.deadline
    }
}
