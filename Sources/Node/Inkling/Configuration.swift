import InklingCore
import InklingModel
import InklingWire

/// The settings of a node. ``Node/start(_:logger:)`` checks them; changes after that have no effect.
public struct Configuration: Sendable {
    /// The display name. Trimmed and in NFC, the name must have 1 to 64 bytes of UTF-8 and no control characters
    /// (M-25). Several people may have the same name.
    public var name: String
    /// The directory of the identity and the known peers; nil for ``defaultStateDirectory``. The node makes a missing
    /// directory. One node uses a directory at a time.
    public var stateDirectory: String?
    /// Whether the identity is new and never saved. The node doesn't touch the state directory then.
    public var isEphemeral = false
    /// The UDP port, 1 to 65,535; 0 for any free port. Only a node that others name by hand needs a fixed port.
    public var port: UInt16 = 0
    /// The only address of this host to use, IPv4 or IPv6, a link-local one as `fe80::1%eth0`; nil for all.
    public var bindAddress: String?
    /// The names of the interfaces to use; empty for all but those of containers and tunnels.
    public var interfaces: [String] = []
    /// The names of interfaces to leave out; only where ``interfaces`` is empty.
    public var excludedInterfaces: [String] = []
    /// Whether to look for peers, and to advertise the node, over DNS-SD. Otherwise the node finds only the peers named
    /// by hand.
    public var discovery = true
    /// Peers named by hand, as `HOST:PORT` or `[IPV6]:PORT`, in addition to those that discovery finds (D-11).
    /// The start fails for a host that the name server doesn't know. Without an answer of the server, and while a host
    /// has no link, the node looks it up again each minute (D-24).
    public var peers: [String] = []
    /// Whether a host beyond the networks of this host may ask for this node and open links to it (D-16). Otherwise
    /// only peers named by hand may, and peers with whom the node has a link.
    public var acceptsRouted = false
    /// Whether a helper process says goodbye if this process dies. Others then see it at once, instead of after 3 s.
    public var lastWill = true
    /// The helper's program; nil for `inkling-lastwill` next to the running program.
    public var lastWillHelper: String?
    /// Whether others see that this user is typing. Otherwise the node announces that nobody types.
    public var sendsTyping = true
    /// Whether this user sees that others are typing. If not, the node reports no lists of typists.
    public var showsTyping = true

    /// A state directory whose known people a node with a temporary identity reads. The node writes nothing there.
    package var stateToRead: String?

    /// The interval at which the node counts and writes the time together with people who are there.
    package var countingInterval = KnownPeersLimits.countingInterval
    /// The shortest time between two writes of known people that peers cause; tests change it.
    package var saveInterval = KnownPeersLimits.saveInterval

    /// Looks up the addresses of a peer named by hand, and may block; tests change it.
    package var lookUp: @Sendable (String) throws(NodeError) -> [Address] = Resolution.peer
    /// The time between two look-ups of a host without a link (D-24); tests change it.
    package var lookUpInterval = Limits.hostLookUp

    /// The clocks by which the node counts its age; tests change them.
    package var clocks: @Sendable () -> AgeCounter.Reading = { .current() }

    /// The time for which a reader may take no events. After it, the node no longer holds messages for that reader.
    package var readerPatience = NodeLimits.readerPatience

    /// A configuration with a name, and defaults that suit most programs.
    ///
    /// - Parameters:
    ///   - name: The display name; see ``name``.
    ///   - stateDirectory: The directory of the state; see ``stateDirectory``.
    public init(name: String, stateDirectory: String? = nil) {
        self.name = name
        self.stateDirectory = stateDirectory
    }

    /// The state directory if the configuration names none: `inkling` in `$XDG_STATE_HOME`, else in `.local/state` of
    /// the home directory. The home directory comes from `$HOME`, else from the system's list of users. Paths in the
    /// environment that are not absolute don't count. Nil for a user without a home.
    public static var defaultStateDirectory: String? { KeyStore.defaultDirectory }

    var interfaceSelection: InterfaceSelection {
        if !interfaces.isEmpty { return .named(interfaces) }
        return excludedInterfaces.isEmpty ? .automatic : .except(excludedInterfaces)
    }
}
