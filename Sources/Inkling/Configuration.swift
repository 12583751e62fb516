import InklingModel
import InklingWire

/// How a node is set up.
public struct Configuration: Sendable {
    /// The display name, 1 to 64 bytes of UTF-8 in NFC, without control characters.
    public var name: String
    /// Where identity and known peers are kept; nil for ``defaultStateDirectory``.
    public var stateDirectory: String?
    /// Whether the identity is a new one that is never saved. The state directory is not touched then.
    public var isEphemeral = false
    /// Whether the kept identity is used although another node of this user may run under it: then both are one person
    /// for the others, and don't see each other. Without it a second node gets a temporary identity.
    public var sharesIdentity = false
    /// The UDP port; 0 for a free one.
    public var port: UInt16 = 0
    /// An own address to use alone; nil for all.
    public var bindAddress: String?
    /// The names of the interfaces to use; empty for all but those of containers and tunnels.
    public var interfaces: [String] = []
    /// The names of interfaces to leave out; only where ``interfaces`` is empty.
    public var excludedInterfaces: [String] = []
    /// Whether peers are looked for and the node is advertised.
    public var discovery = true
    /// Peers by hand, `HOST:PORT` or `[IPV6]:PORT`.
    public var peers: [String] = []
    /// Whether a helper process says goodbye if this one dies: then the others see it at once, and not after 3 s.
    public var lastWill = true
    /// The helper's program; nil for `inkling-lastwill` beside the running program.
    public var lastWillHelper: String?
    /// Whether the others see that this user types.
    public var sendsTyping = true
    /// Whether this user sees that the others type.
    public var showsTyping = true

    /// A node with a name; everything else has a default that suits most.
    public init(name: String, stateDirectory: String? = nil) {
        self.name = name
        self.stateDirectory = stateDirectory
    }

    /// Where state is kept if no directory is named: `inkling` in `$XDG_STATE_HOME`, else in `.local/state` of the home
    /// directory, by `$HOME` or else by the system's list of users. Paths in the environment that are not absolute
    /// don't count. Nil for a user without a home.
    public static var defaultStateDirectory: String? { KeyStore.defaultDirectory }

    /// The name in NFC.
    func checkedName() throws(NodeError) -> String {
        let normal = Blanks.trimmed(NormalForm.canonical(name))
        if let fault = NameFault(of: normal, maximumSize: Limits.maximumNameSize) { throw .name(fault) }
        return normal
    }
}
