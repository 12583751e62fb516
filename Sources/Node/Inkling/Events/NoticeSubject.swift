import InklingModel

/// The subject of a notice. Of several notices on one subject, only the latest matters.
enum NoticeSubject: Hashable {
    case discoveryDown, discoveryUp, identity, lastWill, oneself, reach
    case person(UserID)
    case invitation(Int)
    case moved(chat: String)
    case movedApart(chat: String)
    case newcomer(chat: String, PublicKey)
    case other(code: String)

    init(_ notice: Notice) {
        switch notice {
        case .discoveryDown: self = .discoveryDown
        case .discoveryUp: self = .discoveryUp
        case .identityTemporary: self = .identity
        case .lastWillOff: self = .lastWill
        case .peerIsOneself: self = .oneself
        case .keyChanged(let person, _, _): self = .person(person.user)
        case .reachableFromAnywhere, .reachableOnLink: self = .reach
        case .invited(let invitation): self = .invitation(invitation.number)
        case .invitationOver(let number, _): self = .invitation(number)
        case .moved(let chat): self = .moved(chat: chat.name)
        case .newcomer(let newcomer): self = .newcomer(chat: newcomer.chat, newcomer.key)
        case .movedApart(let chat): self = .movedApart(chat: chat)
        case .other(let code, _): self = .other(code: code)
        }
    }

    /// Whether the notice is about a person, so that many can wait.
    var isPerson: Bool {
        switch self {
        case .person, .newcomer: true
        default: false
        }
    }
}
