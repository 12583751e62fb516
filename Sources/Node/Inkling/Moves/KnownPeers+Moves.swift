import InklingWire

extension KnownPeers {
    /// Records that people met in a chat were met in the chat that follows it, at the same time and addresses.
    ///
    /// - Parameters:
    ///   - chat: The stored name of the former chat.
    ///   - next: The stored name of the new chat.
    ///   - now: Seconds since 1970.
    package mutating func carry(_ people: [PublicKey], from chat: String, to next: String, at now: Double) {
        for key in people {
            guard var entry = entries[key], let time = entry.chats[chat] else { continue }
            entry.chats[next] = time
            entry.addresses[next] = entry.addresses[chat]
            entry.limitChats(at: now)
            put(entry)
        }
    }
}
