import InklingModel

/// The histories of chats.
extension Service {
    func switchHistory(_ isOn: Bool, in name: String, for frontEnd: FrontEnd) {
        guard let chat = joined[name] else { return frontEnd.answer(.failed(.unknownChat(name))) }
        guard !chat.isOpen else {
            let text = "Only a private chat has a history, and \(name) is open to anybody."
            return frontEnd.answer(.failed(.other(code: "not-secret", text: text)))
        }
        surroundings.history.set(isOn, for: chat) { [weak self] reason in
            frontEnd.answer(reason.map { .failed(.other(code: "history-not-kept", text: $0)) } ?? .done)
            self?.deadlineChanged()
        }
    }

    /// Lists messages of a chat: those of its history, or the last ones of this run.
    func list(_ query: HistoryQuery, in name: String, for frontEnd: FrontEnd) {
        guard let chat = joined[name] else { return frontEnd.answer(.failed(.unknownChat(name))) }
        guard surroundings.history.keeps(chat) else {
            return frontEnd.answer(.messages(marked(recent.messages(query, in: name), in: name)))
        }
        surroundings.history.list(query, in: chat) { [weak self] page in
            guard let self else { return }
            frontEnd.answer(.messages(marked(recent.completed(page, of: query, in: name), in: name)))
            deadlineChanged()
        }
    }

    /// Returns messages of a chat with marks on the unread ones.
    private func marked(_ messages: [RecentMessage], in chat: String) -> [RecentMessage] {
        // A message of an earlier run has another number in the history. The file has microseconds.
        let unread = unread.messages(in: chat)
        return messages.map { message in
            guard case .received(let received, _) = message.content else { return message }
            var message = message
            message.isUnread = unread.contains {
                abs($0.event.at.seconds(since: message.at)) < 0.001 && $0.content.sender.user == received.sender.user
                    && $0.content.text == received.text
            }
            return message
        }
    }

    /// Keeps the last message of a chat.
    func keepLast(in name: String) {
        guard let chat = joined[name], let message = recent.last(in: name) else { return }
        surroundings.history.add(message, isOutcome: false, of: identity, in: chat) { [weak self] entry in
            self?.recent.record(entry, of: message, in: name)
        }
    }

    /// Keeps the outcomes of an own message.
    func keepOutcomes(of number: MessageID, in name: String) {
        guard let chat = joined[name], let message = recent.close(number, in: name) else { return }
        surroundings.history.add(message, isOutcome: true, of: identity, in: chat) { _ in }
    }

    /// Removes the history of a chat that the user left.
    func endHistory(of chat: Chat, _ completion: @escaping () -> Void) {
        guard surroundings.history.keeps(chat) else { return completion() }
        surroundings.history.set(false, for: chat) { [weak self] reason in
            if let reason { self?.report(.other(code: "history-not-kept", text: reason)) }
            completion()
        }
    }

    /// Reports a notice of the daemon itself.
    func report(_ notice: Notice) {
        let timed = TimedEvent(at: surroundings.wall(), event: .notice(notice))
        for frontEnd in frontEnds where frontEnd.wants(timed.event) { frontEnd.add(timed) }
        deadlineChanged()
    }
}
