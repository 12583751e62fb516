/// Information about the node itself for its user, or the end of an earlier notice's state.
///
/// ``fact`` says what happened, and ``advice`` what to do about it. A program that has its own option for the problem
/// can name that instead of the advice. The texts may contain names as their owners sent them: make them safe before
/// you print them.
public enum Notice: Hashable, Sendable {
    /// Discovery has become unavailable, for this reason. Existing links stay, and the node still finds peers named by
    /// hand.
    case discoveryDown(DiscoveryOutage)
    /// Automatic discovery is available again.
    case discoveryUp
    /// The identity ends with this node, for this reason. Other people will not recognise the user afterwards.
    case identityTemporary(TemporaryIdentity)
    /// The helper that says goodbye does not run, for this reason. If this process is killed, others notice only after
    /// 3 s.
    case lastWillOff(LastWillOutage)
    /// A peer named by hand is this node itself, or another device with the same identity.
    case peerIsOneself
    /// Somebody uses a name that is known with a different key; sent just before their ``Event/peer(_:)``.
    /// Of those known under the name, `known` was there last; `isVerified` if any of them is verified.
    case keyChanged(Person, known: UserID, isVerified: Bool)
    /// Anybody who reaches this UDP port may open a link to this node, even from beyond its networks.
    case reachableFromAnywhere(port: UInt16)
    /// The user chose this UDP port, which others can name by hand. The node does not answer hosts beyond its networks
    /// unless its user named them by hand.
    case reachableOnLink(port: UInt16)
    /// Somebody invites the user to another chat, or to a talk (M-47).
    case invited(Invitation)
    /// The invitation with this number is no longer open.
    case invitationOver(Int, Invitation.End)
    /// The owner has moved the chat of this name to a new secret, and perhaps to a new owner. The node has joined the new
    /// chat and left the old one (A-44).
    case moved(Chat)
    /// Somebody shows in a chat that this user moved, and the user neither chose nor removed them (A-46).
    case newcomer(Newcomer)
    /// Another device of this user has moved the chat of this name to another secret than this device. Each has a part of
    /// the members.
    case movedApart(chat: String)
    /// A notice of another version of this library, or of another program. `code` is for programs; `text` says what
    /// happened and what to do.
    case other(code: String, text: String)
}

extension Notice {
    /// The name of the chat that the notice is about; nil for none.
    package var chat: String? {
        switch self {
        case .invited(let invitation): invitation.chat
        case .moved(let chat): chat.name
        case .newcomer(let newcomer): newcomer.chat
        case .movedApart(let chat): chat
        case .discoveryDown, .discoveryUp, .identityTemporary, .lastWillOff, .peerIsOneself, .keyChanged,
            .reachableFromAnywhere, .reachableOnLink, .invitationOver, .other:
            nil
        }
    }
}

/// The reason why discovery does not work.
public enum DiscoveryOutage: Hashable, Sendable, CaseIterable {
    /// No discovery daemon answered.
    case absent
    /// The discovery daemon ended.
    case gone
    /// The discovery daemon answers, but refuses another operation.
    case refused
    /// The system provided no thread or descriptors.
    case noThread
}

/// The reason why a node's identity ends with the node.
public enum TemporaryIdentity: Hashable, Sendable {
    /// Another running node uses the state directory.
    case inUse(directory: String)
    /// The node can't store anything in the state directory; `reason` is the system's.
    case unwritable(directory: String, reason: String)
    /// No directory was given, and the environment names none.
    case noHome
}

/// The reason why the helper that says goodbye for a killed node does not run.
public enum LastWillOutage: Hashable, Sendable {
    /// The path has no program.
    case missing(path: String)
    /// The helper did not start; `reason` is the system's.
    case failed(reason: String)
    /// The helper ended.
    case ended
}

extension Notice: CustomStringConvertible {
    /// A text about the event, in one line.
    public var fact: String {
        switch self {
        case .discoveryDown(let outage): outage.fact
        case .discoveryUp: "Discovery works again."
        case .identityTemporary(let reason): reason.fact
        case .lastWillOff(let outage):
            "If this program is killed, others notice only after 3 s: the helper can't run "
                + "(\(outage.reason))."
        case .peerIsOneself:
            "A peer named by hand is this node itself, or another device with the same identity: such nodes don't link "
                + "with each other."
        case .keyChanged(let person, let known, let isVerified):
            "\"\(person.name)\" has a different key from the \(isVerified ? "verified " : "")one known under that "
                + "name: \(person.user), not \(known). It may be another person, or the same person on another device."
        case .reachableFromAnywhere(let port):
            "Anybody who reaches UDP port \(port) may open to this node, also from beyond the networks of this machine."
        case .reachableOnLink(let port):
            "UDP port \(port) answers only peers on the networks of this machine, and hosts named by hand."
        case .invited(let invitation): invitation.fact
        case .invitationOver(let number, let end): "Invitation \(number) is over: \(end.reason)."
        case .moved(let chat): "\"\(chat.name)\" has moved to a new secret."
        case .newcomer(let newcomer): newcomer.fact
        case .movedApart(let chat):
            "Another device of yours has moved \"\(chat)\" to another secret. Some members may have followed there."
        case .other(_, let text): text
        }
    }

    /// The advice to the user, in one line; empty without advice.
    public var advice: String {
        switch self {
        case .discoveryDown(let outage): outage.advice
        case .discoveryUp, .peerIsOneself, .reachableFromAnywhere, .invitationOver, .moved, .other: ""
        case .newcomer: "Admit them if they belong to the chat."
        case .movedApart: "Decide on one of the two chats, and send its invite to the others."
        case .invited: "Accept or decline the invitation."
        case .identityTemporary(let reason): reason.advice
        case .lastWillOff: "Install inkling-lastwill beside this program."
        case .keyChanged: "Ask them through another channel before you trust the name."
        case .reachableOnLink: "To let others in, name them by hand, or accept routed peers."
        }
    }

    /// The fact and the advice, with a blank between them.
    public var description: String { joined(fact, advice) }
}

extension DiscoveryOutage: CustomStringConvertible {
    /// A text about the outage, in one line.
    public var fact: String {
        switch self {
        case .absent: "Automatic discovery is unavailable: no discovery daemon answers."
        case .gone: "Automatic discovery is unavailable: the discovery daemon has stopped."
        case .refused: "Others can't find all of your chats: the discovery daemon refuses more registrations."
        case .noThread: "Automatic discovery is unavailable: the system allows no more threads or files."
        }
    }

    /// The advice to the user, in one line.
    public var advice: String {
        switch self {
        case .absent: "Start dbus-daemon and avahi-daemon, or name peers by hand."
        case .gone: "Start avahi-daemon again (it needs dbus-daemon), or name peers by hand."
        case .refused: "Close other nodes of this user, or leave chats."
        case .noThread: "Raise its limits, or name peers by hand."
        }
    }

    /// The fact and the advice, with a blank between them.
    public var description: String { joined(fact, advice) }
}

extension TemporaryIdentity: CustomStringConvertible {
    /// A text about the temporary identity, in one line.
    public var fact: String {
        switch self {
        case .inUse(let directory):
            "Your identity in \(printable(directory)) is in use by another program of yours: others see you here as "
                + "somebody new until that program ends."
        case .unwritable(let directory, let reason):
            "Nothing can be kept in \(printable(directory)) (\(reason)): this node uses a temporary identity."
        case .noHome: "HOME is not set, so nothing can be kept: this node uses a temporary identity."
        }
    }

    /// The advice to the user, in one line.
    public var advice: String {
        switch self {
        case .inUse:
            "To join another chat, join it in the other program; for a separate identity, use another "
                + "state directory."
        case .unwritable: "Make it writable, or choose another state directory."
        case .noHome: "Set HOME, or choose a state directory."
        }
    }

    /// The fact and the advice, with a blank between them.
    public var description: String { joined(fact, advice) }
}

extension Invitation {
    /// A text about the invitation, in one line.
    fileprivate var fact: String {
        let sender = "\"\(sender.name)\" (\(isVerified ? "verified" : "\(sender.user), not verified"))"
        guard let name else { return "\(sender) asks to talk with you alone." }
        return "\(sender) invites you to \"\(name)\", a private chat\(owner == nil ? "" : " of their own")."
    }
}

extension Invitation.End {
    /// The reason, as a sentence without its period.
    fileprivate var reason: String {
        switch self {
        case .accepted: "you are in the chat"
        case .declined: "you declined"
        case .blocked: "you blocked the sender"
        case .replaced: "somebody whom you know invited you"
        }
    }
}

extension LastWillOutage {
    /// The reason, as a part of a sentence.
    var reason: String {
        switch self {
        case .missing(let path): "there is no \(printable(path))"
        case .failed(let reason): reason
        case .ended: "it ended"
        }
    }
}

/// Joins two sentences, of which the second may be empty.
func joined(_ fact: String, _ advice: String) -> String { advice.isEmpty ? fact : fact + " " + advice }

/// Returns a path without characters that could control a terminal.
package func printable(_ path: String) -> String {
    String(String.UnicodeScalarView(path.unicodeScalars.map { $0.properties.isWhitespace || $0.isSafe ? $0 : "?" }))
}

extension Unicode.Scalar {
    fileprivate var isSafe: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
