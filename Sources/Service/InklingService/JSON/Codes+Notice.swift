import InklingModel

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
        case .invited: "invited"
        case .invitationOver: "invitation-over"
        case .moved: "moved"
        case .newcomer: "newcomer"
        case .movesUnusable: "moves-unusable"
        case .movedApart: "moved-apart"
        case .other(let code, _): code
        }
    }
}
