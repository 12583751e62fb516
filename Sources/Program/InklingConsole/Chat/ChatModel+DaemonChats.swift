import InklingModel
import InklingText

/// A chat of the daemon that this front end is not in.
struct OtherChat: Sendable {
    let name: String
    let isOpen: Bool
    var unread: Int
    var typing: [Person] = []
}

/// The chats of a daemon, of which this front end may show only some.
extension ChatModel {
    /// Begins to follow the daemon's other chats, also later ones. The prompt counts their unread messages.
    mutating func followOthers() {
        guard display.outlivesNode, display.form != .pipe else { return }
        ask(.subscribe(Subscription(chats: .all)))
        countOthers()
    }

    mutating func countOthers() { ask(.chats, for: .others) }

    mutating func follow(_ chats: [ChatStatus]) {
        others = chats.filter { index(of: $0.name) == nil }.map { chat in
            let typing = others.first { $0.name == chat.name }?.typing ?? []
            return OtherChat(name: chat.name, isOpen: !chat.hasSecret, unread: chat.waiting, typing: typing)
        }
    }

    /// Counts a message in another chat of the daemon.
    mutating func count(_ message: ReceivedMessage) {
        guard display.outlivesNode, display.form != .pipe else { return }
        if display.rings, ChatState.mention(of: identity.name).occurs(in: message.text, longest: Line.highlighted) {
            ring()
        }
        guard let other = others.firstIndex(where: { $0.name == message.chat }) else { return countOthers() }
        others[other].unread += 1
    }

    /// Returns the answer to /chats: first the chats of this front end with their numbers, then the daemon's other
    /// chats.
    func list(with chats: [ChatStatus]) -> [Line] {
        let others = chats.filter { index(of: $0.name) == nil }
        guard !others.isEmpty else { return list() }
        return (states.isEmpty ? [] : list())
            + others.map { chat in
                ChatLines.chat(
                    name: chat.name, isOpen: !chat.hasSecret, unread: chat.waiting, isKept: chat.isKept)
            }
    }

    /// Opens a chat of this front end by its name, or joins one that the daemon is in.
    mutating func open(_ name: String) {
        if let index = index(named: name) { return answer(open(number: index + 1)) }
        guard display.outlivesNode else { return answer(noChat(name)) }
        ask(.chats, for: .open(name: name))
    }

    mutating func open(_ name: String, among chats: [ChatStatus]) {
        let name = NormalForm.canonical(name)
        guard let status = chats.first(where: { $0.name == name }), let chat = try? Chat(status.name) else {
            return answer(noChat(name, among: chats.map(\.name)))
        }
        // A join by the name alone means the chat that the daemon is in.
        ask(.join(chat), for: .join(chat))
    }

    /// Handles the answer to /leave for a chat that this front end is not in.
    mutating func leftElsewhere(_ name: String, _ answer: ServiceAnswer) {
        switch answer {
        case .done: self.answer(ChatLines.notice("The daemon no longer keeps \(SafeText.line(name))"))
        case .failed(.unknownChat): self.answer(noChat(name))
        case .failed(let error): self.answer(ChatLines.error(texts.error(error)))
        default: break
        }
    }
}
