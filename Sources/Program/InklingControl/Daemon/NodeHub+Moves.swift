import InklingModel

/// The moves of chats to new secrets.
extension NodeHub {
    /// Puts the new chat in the place of one that has moved. Front ends stay in the chat, and so do their drafts and all
    /// messages. The history continues, because the node knows the first chat.
    func moved(_ chat: Chat) {
        guard joined[chat.name] != nil else { return }
        joined[chat.name] = chat
        guard let index = kept.firstIndex(where: { $0.name == chat.name }) else { return }
        kept[index] = chat
        // After a failure, the node still finds the new chat by the old one.
        storeKept { [weak self] _ in self?.deadlineChanged() }
    }
}
