import InklingModel

// The words of the JSON interface for what programs act upon. Of the reasons of events, of presences and of
// what statistics count the raw values are these words.

extension NodeError {
    /// The word for it in a line on an error.
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
    /// The word for it in a line on a notice.
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
