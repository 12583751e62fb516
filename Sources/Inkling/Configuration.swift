import InklingModel
import InklingWire

/// How a node is set up.
public struct Configuration: Sendable {
    /// The display name, 1 to 64 bytes of UTF-8 in NFC, without control characters.
    public var name: String
    /// Where identity and known peers are kept; nil for ``defaultStateDirectory``.
    public var stateDirectory: String?
    /// Whether the identity is new and never saved. The state directory is not touched then.
    public var isEphemeral = false
    /// Whether to use the kept identity even if another node of this user may be using it: then both are one person
    /// to others, and don't see each other. Otherwise a second node gets a temporary identity.
    public var sharesIdentity = false
    /// The UDP port; 0 for a free one.
    public var port: UInt16 = 0
    /// The only address of this host to use; nil for all.
    public var bindAddress: String?
    /// The names of the interfaces to use; empty for all but those of containers and tunnels.
    public var interfaces: [String] = []
    /// The names of interfaces to leave out; only where ``interfaces`` is empty.
    public var excludedInterfaces: [String] = []
    /// Whether peers are looked for and the node is advertised.
    public var discovery = true
    /// Peers named by hand, as `HOST:PORT` or `[IPV6]:PORT`.
    public var peers: [String] = []
    /// Whether anybody may ask for this node and open to it from beyond the networks that this host is attached to (D-16).
    /// Otherwise those named by hand may, and those with whom it has a link.
    public var acceptsRouted = false
    /// Whether a helper process says goodbye if this one dies: then others see it at once, instead of after 3 s.
    public var lastWill = true
    /// The helper's program; nil for `inkling-lastwill` next to the running program.
    public var lastWillHelper: String?
    /// Whether others see that this user is typing.
    public var sendsTyping = true
    /// Whether this user sees that others are typing.
    public var showsTyping = true

    /// How often the time together with those who are there is counted and written.
    package var countingInterval = KnownPeersLimits.countingInterval

    /// For how long a reader of events may take nothing of what waits for it.
    package var readerPatience = NodeLimits.readerPatience

    /// A configuration with a name, and defaults that suit most programs.
    public init(name: String, stateDirectory: String? = nil) {
        self.name = name
        self.stateDirectory = stateDirectory
    }

    /// Where state is kept if no directory is named: `inkling` in `$XDG_STATE_HOME`, else in `.local/state` of the home
    /// directory, by `$HOME` or else by the system's list of users. Paths in the environment that are not absolute
    /// don't count. Nil for a user without a home.
    public static var defaultStateDirectory: String? { KeyStore.defaultDirectory }

    var interfaceSelection: InterfaceSelection {
        if !interfaces.isEmpty { return .named(interfaces) }
        return excludedInterfaces.isEmpty ? .automatic : .except(excludedInterfaces)
    }

    /// A display name in NFC.
    ///
    /// - Throws: ``NodeError/name(_:)``.
    static func checked(name: String) throws(NodeError) -> String {
        let normal = Blanks.trimmed(NormalForm.canonical(name))
        if let fault = NameFault(of: normal, maximumSize: Limits.maximumNameSize) { throw .name(fault) }
        return normal
    }
}
