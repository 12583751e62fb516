import InklingModel

// The words by which the JSON interface names errors and notices for programs. The raw values of reasons, presences and
// kinds of counters are such words too.

extension NodeError {
    /// The word for the error in a line.
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
    /// The word for the notice in a line.
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
