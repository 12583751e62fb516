import InklingModel

// The codes of the JSON interface for programs. The raw values of reasons, presences and kinds of counters are codes
// too.

extension NodeError {
    /// The code of the error in a line.
    package var code: String {
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
        case .bindAddress, .bindAddressWithoutInterface: "bad-bind-address"
        case .socket: "socket"
        case .stateDirectory: "state-directory"
        case .peerAddress: "bad-peer-address"
        case .interface: "bad-interface"
        case .unknownPeer: "unknown-peer"
        case .identityText: "bad-identity"
        case .identityExists: "identity-exists"
        case .stateDirectoryInUse: "state-directory-in-use"
        case .stopped: "stopped"
        case .other(let code, _): code
        }
    }
}

extension Notice {
    /// The code of the notice in a line.
    package var code: String {
        switch self {
        case .discoveryDown: "discovery-down"
        case .discoveryUp: "discovery-up"
        case .reachableFromAnywhere: "reachable-from-anywhere"
        case .reachableOnLink: "reachable-on-link"
        case .identityTemporary: "identity-temporary"
        case .lastWillOff: "last-will-off"
        case .peerIsOneself: "peer-is-oneself"
        case .keyChanged: "key-changed"
        case .knownPeersDamaged: "known-peers-damaged"
        case .knownPeersNewer: "known-peers-newer"
        case .knownPeersUnkept: "known-peers-unkept"
        case .other(let code, _): code
        }
    }
}
