import InklingWire

extension KnownPeers {
    /// Records that people met in a chat were met in the chat that follows it, at the same time and addresses.
    ///
    /// - Parameters:
    ///   - chat: The stored name of the former chat.
    ///   - next: The stored name of the new chat.
    package mutating func carry(_ people: [PublicKey], from chat: String, to next: String) {
        for key in people {
            guard var entry = entries[key], let time = entry.chats[chat] else { continue }
            entry.chats[next] = time
            entry.ages[next] = entry.ages[chat]
            entry.addresses[next] = entry.addresses[chat]
            entry.limitChats()
            put(entry)
        }
    }
}
