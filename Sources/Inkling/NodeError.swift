import Foundation
import InklingCore
import InklingWire

/// Why something could not be done. Nothing was changed then; the description is one line that says what to do.
public enum NodeError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The display name is empty, too long or holds a control character: the reason.
    case name(String)
    /// The name of a chat is empty, too long, holds a control character or is an invite: the reason.
    case chatName(String)
    /// A text is no chat secret: the reason.
    case secret(String)
    /// A text is no invite: the reason.
    case invite(String)
    /// The node is not in the chat of that name.
    case unknownChat(String)
    /// The node is in a chat of that name already, or in one with the same secret.
    case chatExists(String)
    /// The node is in 32 chats.
    case tooManyChats
    /// A message without text.
    case messageEmpty
    /// A message of more than 65,536 bytes: how many it has.
    case messageTooLong(bytes: Int)
    /// More than 4 MiB would wait for that peer (M-14).
    case queueFull(UserID)
    /// Another program, or node, has the UDP port.
    case portTaken(UInt16)
    /// The UDP port is for the administrator alone.
    case portNotAllowed(UInt16)
    /// An address to bind to is none of this host, or a link-local one without its interface.
    case bindAddress(String)
    /// The system makes no UDP socket: its reason.
    case socket(String)
    /// The state directory would put the identity at risk: what to do.
    case stateDirectory(String)
    /// A peer to be reached by hand is not named as HOST:PORT, or not found.
    case peerAddress(String, reason: String)
    /// A network interface that was named is not there: what to choose among.
    case interface(String)
    /// Nobody is known by that key or user ID.
    case unknownPeer(String)
    /// A text is no exported identity.
    case identityText
    /// An identity is at that path already.
    case identityExists(String)
    /// A running node uses that state directory.
    case stateDirectoryInUse(String)
    /// The node was stopped.
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

    /// The same line as `description`, for `localizedDescription`.
    public var errorDescription: String? { description }

    /// One line for people.
    public var description: String {
        switch self {
        case .name(let reason): "This display name can't be used: \(reason). Choose another with --name."
        case .chatName(let reason): "This chat name can't be used: \(reason). Choose another."
        case .secret(let reason):
            "This is no chat secret: \(reason). A secret is made by \"inkling invite NAME\"; a passphrase can't be one."
        case .invite(let reason):
            "This is no invite: \(reason). An invite reads inkling:NAME#SECRET; \"inkling invite NAME\" makes one."
        case .unknownChat(let name): "This node is not in the chat \"\(name)\". Join it first."
        case .chatExists(let name):
            "This node is in the chat \"\(name)\", or in one with its secret, already: use that one."
        case .tooManyChats:
            "This node is in \(Limits.chatsPerNode) chats, which is the most. Leave one first."
        case .messageEmpty: "There is nothing to send: the message is empty. Write some text."
        case .messageTooLong(let bytes):
            "The message has \(bytes) bytes, and \(Limits.maximumMessageSize) are the most. Send it in parts."
        case .queueFull(let user):
            "Too much waits for \(user) already: nothing was sent. Try again when some of it was delivered."
        case .portTaken(let port):
            "UDP port \(port) is in use by another program. Choose another with --port, or none for a free one."
        case .portNotAllowed(let port):
            "UDP port \(port) may not be used by this user. Choose one above 1023 with --port."
        case .bindAddress(let address) where Resolution.own(address)?.needsScope == true:
            "\(address) is a link-local address, which needs its interface behind it. Write it as fe80::1%eth0."
        case .bindAddress(let address):
            "\(address) is no address of this host. Choose one of its own with --bind, or leave it out."
        case .socket(let reason): "No UDP socket can be made: \(reason). \"inkling doctor\" looks for the cause."
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
        case .stopped: "The node was stopped. Start another."
        }
    }
}

extension Address {
    /// Whether it tells nothing without the interface, which is missing.
    fileprivate var needsScope: Bool { isIPv6LinkLocal && scope == 0 }
}
