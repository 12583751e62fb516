import InklingModel

/// The moves of chats to new secrets.
extension Service {
    /// Puts the new chat in the place of one that has moved. Front ends stay in the chat, and so do their drafts and all
    /// messages. The history continues, because the node knows the first chat.
    ///
    /// The former chat stays if its successor is there under another name, or if the user has left the newest one. The
    /// former chat then has no people, and its own history.
    func moved(_ chat: Chat) {
        guard joined[chat.name] != nil, surroundings.present(chat) == chat,
            !joined.contains(where: { $0.key != chat.name && $0.value.isSame(as: chat) })
        else { return }
        joined[chat.name] = chat
        restoreTexts(in: chat.name)
        guard let index = kept.firstIndex(where: { $0.name == chat.name }) else { return }
        kept[index] = chat
        // After a failure, the node still finds the new chat by the old one.
        storeKept { [weak self] _ in self?.deadlineChanged() }
    }
}

extension Chat {
    /// Whether a private chat is another one, perhaps with another name.
    fileprivate func isSame(as other: Chat) -> Bool { secret == other.secret && owner == other.owner }
}
