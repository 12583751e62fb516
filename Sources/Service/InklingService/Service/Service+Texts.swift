import Inkling
import InklingModel

/// The received texts with an ID that a node keeps on disk until they are read, as a service uses them.
package struct UnreadTexts {
    /// Returns the unread texts of an earlier run in a chat that the node has just joined.
    let restored: (String) -> [TimedEvent]
    /// Records that these messages of a chat are no longer unread.
    let read: ([MessageID], String) -> Void
    /// Forgets the switch of waiting texts of a chat that the node leaves.
    let forgetSwitch: (String) -> Void
    /// Returns the notice that texts are not kept; nil if the last write succeeded.
    let fault: () -> Notice?

    package init(
        restored: @escaping (String) -> [TimedEvent] = { _ in [] },
        read: @escaping ([MessageID], String) -> Void = { _, _ in },
        forgetSwitch: @escaping (String) -> Void = { _ in }, fault: @escaping () -> Notice? = { nil }
    ) {
        (self.restored, self.read, self.forgetSwitch, self.fault) = (restored, read, forgetSwitch, fault)
    }
}

/// The texts that wait for people who are offline, and those that wait for this user.
extension Service {
    /// Holds an unread message. A text with an ID that goes for lack of room is on disk no longer.
    func hold(_ timed: TimedEvent, rank: SenderRank) {
        for evicted in unread.add(timed, rank: rank) { surroundings.texts.read([evicted.id], evicted.chat) }
    }

    /// Holds the unread texts of an earlier run.
    func restoreTexts(in chat: String) {
        var messages: [RecentMessage] = []
        for timed in surroundings.texts.restored(chat) {
            guard case .message(let message) = timed.event else { continue }
            hold(timed, rank: rank(of: message))
            messages.append(RecentMessage(at: timed.at, .received(message, isDelayed: timed.isDelayed)))
        }
        if let chat = joined[chat] { surroundings.history.addMissing(messages, of: identity, in: chat) }
    }

    /// Records that a front end that shows the chat has got a message.
    func showed(_ message: ReceivedMessage) {
        guard message.written != nil else { return }
        surroundings.texts.read([message.id], message.chat)
    }

    func markRead(by place: Int, in chat: String) {
        let texts = unread.read(by: place, in: chat).map(\.id)
        if !texts.isEmpty { surroundings.texts.read(texts, chat) }
    }

    /// Reports that a message waits for somebody, to its sender and to all who get the messages of the chat.
    func forward(waiting timed: TimedEvent, of receipt: WaitingReceipt) {
        let sender = senders[receipt.message]?.frontEnd
        for frontEnd in frontEnds where frontEnd.number == sender || frontEnd.wantsMessages(in: receipt.chat) {
            frontEnd.add(timed)
        }
    }

    /// Reports an outcome of a text of an earlier run.
    func forward(lateOutcome timed: TimedEvent, in chat: String) {
        for frontEnd in frontEnds where frontEnd.wantsMessages(in: chat) { frontEnd.add(timed) }
    }

    /// Switches waiting texts in a chat. The switch of a kept chat is on disk before it has an effect. A failure changes
    /// nothing.
    func switchHold(_ isOn: Bool, in name: String, for frontEnd: FrontEnd) {
        guard let chat = joined[name] else { return frontEnd.answer(.failed(.unknownChat(name))) }
        let before = holds[name]
        holds[name] = isOn == !chat.isOpen ? nil : isOn
        let after = holds[name]
        let apply = { [self] in
            ask(.hold(isOn, chat: name)) { [self] answer in
                defer { frontEnd.answer(answer) }
                guard case .failed = answer, after != before, holds[name] == after else { return }
                holds[name] = before
                if kept.contains(where: { $0.name == name }) { storeKept { _ in } }
            }
        }
        guard kept.contains(where: { $0.name == name }), holds[name] != before else { return apply() }
        storeKept { [weak self] reason in
            guard let self else { return }
            if let reason {
                holds[name] = before
                frontEnd.answer(.failed(.other(code: "not-kept", text: reason)))
            } else {
                apply()
            }
            deadlineChanged()
        }
    }

    /// Writes the kept chats with their switches.
    ///
    /// - Parameter left: The chat that the user leaves, if there is one.
    func storeKept(leaving left: Chat? = nil, _ completion: @escaping (String?) -> Void) {
        guard kept.count <= KeptChats.limit else {
            return completion("There is room for \(KeptChats.limit) chats. Leave one that you need no longer.")
        }
        let switches = holds.filter { name, _ in kept.contains { $0.name == name } }
        surroundings.keep(KeptChats(kept, holds: switches), left, completion)
    }
}
