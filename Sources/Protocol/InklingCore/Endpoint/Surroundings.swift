import InklingWire

/// The state that all parts of a node share: its identity, settings, networks and activity. Only commands and a late
/// timer change this state.
struct Surroundings: Sendable {
    /// Whether a node takes part in its chats.
    enum Activity: Equatable {
        case running
        /// A timer of this node was late, and the datagrams in the socket may be old (L-30). `read` counts the
        /// datagrams read since.
        case catchingUp(read: Int)
        /// The user suspended the program, or the program ends: the node receives and opens nothing.
        ///
        /// `isBehind`: Whether a timer was late in the meantime, so that the node must catch up next.
        case suspended(isBehind: Bool)

        /// Begins catching up, because a timer of this node was late.
        mutating func fallBehind() {
            switch self {
            case .running, .catchingUp: self = .catchingUp(read: 0)
            case .suspended: self = .suspended(isBehind: true)
            }
        }

        /// Counts a datagram that was read.
        ///
        /// - Returns: Whether the datagram is new, because the limit of possibly old ones was reached.
        mutating func read() -> Bool {
            guard case .catchingUp(let read) = self else { return false }
            guard read < Limits.datagramsCaughtUp else {
                self = .running
                return true
            }
            self = .catchingUp(read: read + 1)
            return false
        }

        /// Ends catching up, because the socket was read until it was empty.
        mutating func catchUp() {
            switch self {
            case .running, .catchingUp: self = .running
            case .suspended: self = .suspended(isBehind: false)
            }
        }

        mutating func suspend() {
            switch self {
            case .running: self = .suspended(isBehind: false)
            case .catchingUp: self = .suspended(isBehind: true)
            case .suspended: break
            }
        }

        mutating func resume() {
            guard case .suspended(let isBehind) = self else { return }
            self = isBehind ? .catchingUp(read: 0) : .running
        }
    }

    let configuration: Endpoint.Configuration
    let ownKey: PublicKey
    /// The display name: NFC, 1 to 64 bytes of UTF-8.
    var name: String
    var activity = Activity.running
    /// Whether the user is away.
    var isAway = false
    /// Whether a helper process keeps last wills (L-33).
    var keepsWills = false
    var blocked: Set<UserID> = []
    /// The keys that the owner of a chat has removed (M-91).
    var refused: [ChatID: Set<PublicKey>] = [:]
    /// The chats that this node, as their owner, has left for a successor (M-65).
    var departures: [ChatID: Departure] = [:]
    /// How well the user knows each person. All people not listed are strangers.
    var standings: [PublicKey: Standing] = [:]
    /// The chats of the node that have a secret.
    var secretChats: Set<ChatID> = []
    /// The other keys of the node's talks.
    var talks: [ChatID: PublicKey] = [:]
    var networks: [LocalNetwork] = []
    /// The source addresses of this host besides the addresses in ``networks``.
    var ownAddresses = OwnAddresses()
    var ownPort: UInt16 = 0

    init(configuration: Endpoint.Configuration) {
        self.configuration = configuration
        ownKey = configuration.identity.publicKey
        name = configuration.name
    }

    var isSuspended: Bool {
        if case .suspended = activity { true } else { false }
    }

    /// Whether received datagrams may have waited in the socket for long.
    var isBehind: Bool {
        switch activity {
        case .running: false
        case .catchingUp: true
        case .suspended(let isBehind): isBehind
        }
    }

    func isBlocked(_ key: PublicKey) -> Bool { !blocked.isEmpty && blocked.contains(key.userID) }

    func isOnLink(_ address: Address) -> Bool { networks.contains { $0.contains(address) } }

    /// Returns whether an address is this node's socket: an address of this host with the node's own port.
    func isOneself(_ address: Address) -> Bool { address.port == ownPort && isOnOwnNetwork(address) }

    /// Returns whether programs of this host can send from an address.
    func isOwnHost(_ address: Address) -> Bool { isOnOwnNetwork(address) || ownAddresses.contains(address) }

    private func isOnOwnNetwork(_ address: Address) -> Bool {
        networks.contains { $0.address.high == address.high && $0.address.low == address.low }
    }

    /// Returns whether the system knows that a socket of the node's own user has an address.
    func isOwnUsers(_ address: Address) -> Bool { isOwnHost(address) && configuration.isOwnUsers(address) }

    /// Returns the addresses that are unicast, on-link and not this node's own (D-8).
    func usable(_ addresses: [Address]) -> [Address] {
        addresses.filter { $0.isUnicast && isOnLink($0) && !isOneself($0) }
    }

    /// Returns when this node may begin a handshake with a key. The node with the larger key lets the other begin first
    /// (L-1).
    func turn(with key: PublicKey, _ now: Instant) -> Instant { ownKey < key ? now : now + Limits.largerKeyWait }
}
