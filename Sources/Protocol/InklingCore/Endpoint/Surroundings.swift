import InklingWire

/// The state that all parts of a node share: its identity and settings, its networks, and its activity. Only commands
/// and a late timer change this state.
struct Surroundings: Sendable {
    /// The participation of a node in its chats.
    enum Activity: Equatable {
        case running
        /// Our own timer was late, and what the socket still holds is old (L-30). `read`: the datagrams since.
        case catchingUp(read: Int)
        /// The user suspended the program, or the program ends: the node receives and opens nothing.
        ///
        /// `isBehind`: Our own timer was late meanwhile, so that catching up comes next.
        case suspended(isBehind: Bool)

        /// Our own timer was late.
        mutating func fallBehind() {
            switch self {
            case .running, .catchingUp: self = .catchingUp(read: 0)
            case .suspended: self = .suspended(isBehind: true)
            }
        }

        /// A datagram was read.
        ///
        /// - Returns: Whether that was one more than may count as old: this one is new.
        mutating func read() -> Bool {
            guard case .catchingUp(let read) = self else { return false }
            guard read < Limits.datagramsCaughtUp else {
                self = .running
                return true
            }
            self = .catchingUp(read: read + 1)
            return false
        }

        /// The socket was read until it was empty.
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
    /// The user said to be away.
    var isAway = false
    /// Whether somebody keeps last wills (L-33).
    var keepsWills = false
    var blocked: Set<UserID> = []
    /// How well the user knows whom; all others are strangers.
    var standings: [PublicKey: Standing] = [:]
    /// The secret chats among those that the node is in.
    var secretChats: Set<ChatID> = []
    var networks: [LocalNetwork] = []
    /// The source addresses of this host beside those on ``networks``.
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

    /// Whether what is received may have waited in the socket for long.
    var isBehind: Bool {
        switch activity {
        case .running: false
        case .catchingUp: true
        case .suspended(let isBehind): isBehind
        }
    }

    /// Whether a key's node is opened to and shown.
    func admits(_ key: PublicKey) -> Bool { key != ownKey && !isBlocked(key) }

    func isBlocked(_ key: PublicKey) -> Bool { !blocked.isEmpty && blocked.contains(key.userID) }

    func isOnLink(_ address: Address) -> Bool { networks.contains { $0.contains(address) } }

    /// Whether it is an address of this host together with our own port.
    func isOneself(_ address: Address) -> Bool { address.port == ownPort && isOnOwnNetwork(address) }

    /// Whether programs of this host can send from that address.
    func isOwnHost(_ address: Address) -> Bool { isOnOwnNetwork(address) || ownAddresses.contains(address) }

    private func isOnOwnNetwork(_ address: Address) -> Bool {
        networks.contains { $0.address.high == address.high && $0.address.low == address.low }
    }

    /// Asks the system whether a socket of the node's own user has that address.
    func isOwnUsers(_ address: Address) -> Bool { isOwnHost(address) && configuration.isOwnUsers(address) }

    /// Those of a peer's addresses that are unicast, on-link and not this node's own (D-8).
    func usable(_ addresses: [Address]) -> [Address] {
        addresses.filter { $0.isUnicast && isOnLink($0) && !isOneself($0) }
    }

    /// When a handshake with that key may begin: the larger key leaves it to the other for a while (L-1).
    func turn(with key: PublicKey, _ now: Instant) -> Instant { ownKey < key ? now : now + Limits.largerKeyWait }
}
