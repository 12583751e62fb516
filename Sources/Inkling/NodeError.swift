import InklingWire

/// Why something could not be done. Nothing was changed then; the description is one line that says what to do.
public enum NodeError: Error, Hashable, Sendable, CustomStringConvertible {
    case name(String)
    case chatName(String)
    case secret(String)
    case invite(String)
    case unknownChat(String)
    case chatExists(String)
    case tooManyChats
    case messageEmpty
    case messageTooLong(bytes: Int)
    case queueFull(UserID)
    case portTaken(UInt16)
    case portNotAllowed(UInt16)
    case bindAddress(String)
    case socket(String)
    case stateDirectory(String)
    case peerAddress(String, reason: String)
    case interface(String)
    case unknownPeer(String)
    case identityText
    case identityExists(String)
    case stateDirectoryInUse(String)
    case stopped

    /// A word for programs.
    public var code: String {
        switch self {
        case .name: "bad-name"
        case .chatName: "bad-chat-name"
        case .secret: "bad-secret"
        case .invite: "bad-invite"
        case .unknownChat: "unknown-chat"
        case .chatExists: "chat-exists"
        case .tooManyChats: "too-many-chats"
        case .messageEmpty: "message-empty"
        case .messageTooLong: "message-too-long"
        case .queueFull: "queue-full"
        case .portTaken: "port-taken"
        case .portNotAllowed: "port-not-allowed"
        case .bindAddress: "bad-bind-address"
        case .socket: "socket"
        case .stateDirectory: "state-directory"
        case .peerAddress: "bad-peer-address"
        case .interface: "bad-interface"
        case .unknownPeer: "unknown-peer"
        case .identityText: "bad-identity"
        case .identityExists: "identity-exists"
        case .stateDirectoryInUse: "state-directory-in-use"
        case .stopped: "stopped"
        }
    }

    /// One line for people.
    public var description: String {
        switch self {
        case .name(let reason): "This display name can't be used: \(reason). Choose another with --name."
        case .chatName(let reason): "This chat name can't be used: \(reason)."
        case .secret(let reason):
            "This is no chat secret: \(reason). A secret is made by \"inkling invite NAME\"; a passphrase can't be one."
        case .invite(let reason):
            "This is no invite: \(reason). An invite reads inkling:NAME#SECRET; \"inkling invite NAME\" makes one."
        case .unknownChat(let name): "This node is not in the chat \"\(name)\". Join it first."
        case .chatExists(let name): "This node is in the chat \"\(name)\" already."
        case .tooManyChats:
            "This node is in \(Limits.chatsPerNode) chats, which is the most. Leave one first."
        case .messageEmpty: "There is nothing to send: the message is empty."
        case .messageTooLong(let bytes):
            "The message has \(bytes) bytes, and \(Limits.maximumMessageSize) are the most. Send it in parts."
        case .queueFull(let user):
            "Too much waits for \(user) already: nothing was sent. Try again when some of it was delivered."
        case .portTaken(let port):
            "UDP port \(port) is in use by another program. Choose another with --port, or none for a free one."
        case .portNotAllowed(let port):
            "UDP port \(port) may not be used by this user. Choose one above 1023 with --port."
        case .bindAddress(let address):
            "\(address) is no address of this host. Choose one of its own with --bind, or leave it out."
        case .socket(let reason): "No UDP socket can be made: \(reason)."
        case .stateDirectory(let text), .interface(let text): text
        case .peerAddress(let address, let reason):
            "The peer \"\(address)\" can't be used: \(reason). Write it as HOST:PORT or [IPV6]:PORT."
        case .unknownPeer(let peer):
            "Nobody is known by the key or user ID \"\(peer)\". Only who was met in a chat can be named."
        case .identityText:
            "This is no exported identity, or it is damaged. \"inkling identity export FILE\" makes one."
        case .identityExists(let path):
            "\(printable(path)) holds an identity already. Keep a copy of it with \"inkling identity export FILE\", "
                + "then replace it with --force."
        case .stateDirectoryInUse(let path):
            "A running node uses \(printable(path)). End it first."
        case .stopped: "The node was stopped."
        }
    }
}
