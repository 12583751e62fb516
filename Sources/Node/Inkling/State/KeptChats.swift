import FoundationEssentials
import InklingModel
import InklingWire

/// The chats of a user that last until the user leaves them. A daemon joins them again after a restart. A prompt
/// without a daemon joins one of them by its name.
package struct KeptChats: Equatable, Sendable {
    /// The most kept chats, as many as a node can be in (L-39).
    package static let limit = 32

    /// The chats, in the order in which they were kept.
    package var chats: [Chat]
    /// Whether texts wait in these chats, for those that differ from the usual.
    package var holds: [String: Bool]

    package init(_ chats: [Chat] = [], holds: [String: Bool] = [:]) {
        self.chats = chats
        self.holds = holds
    }

    /// Adds a chat, in place of an earlier one of its name.
    package mutating func put(_ chat: Chat) {
        if let index = chats.firstIndex(where: { $0.name == chat.name }) {
            chats[index] = chat
        } else {
            chats.append(chat)
        }
    }

    package mutating func remove(_ name: String) {
        chats.removeAll { $0.name == name }
        holds[name] = nil
    }

    // MARK: On disk

    /// A chat as JSON. `place` is its number among the chats; files of earlier builds have none.
    private struct Record: Codable {
        var place: Int?
        var chat: String
        var secret, owner, with: String?
        var hold: Bool?

        init(_ chat: Chat, place: Int, hold: Bool?) {
            (self.place, self.chat, self.hold) = (place, chat.name, hold)
            (secret, owner, with) = (chat.secret?.text, chat.owner?.description, chat.partner?.description)
        }

        /// JSON with sorted members. Strings and numbers can always be encoded.
        var bytes: [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return (try? encoder.encode(self)).map { Array($0) } ?? []
        }

        /// Nil if a member is damaged.
        var value: Chat? {
            guard let secret else { return try? Chat(chat) }
            let keys = [owner, with].map { $0.map { PublicKey($0) } }
            guard let secret = try? Secret(secret), !keys.contains(.some(nil)) else { return nil }
            return try? Chat(chat, secret: secret, owner: keys[0] ?? nil, partner: keys[1] ?? nil)
        }
    }

    private struct EarlierFile: Decodable {
        let version: Int
        let chats: [Record]
    }

    /// The content of the chats' records, by the bytes of their names.
    var records: [[UInt8]: [UInt8]] {
        var records: [[UInt8]: [UInt8]] = [:]
        for (place, chat) in chats.enumerated() {
            records[Array(chat.name.utf8)] = Record(chat, place: place, hold: holds[chat.name]).bytes
        }
        return records
    }

    /// Reads a record; nil if it is damaged.
    static func chat(_ content: [UInt8]) -> (place: Int, chat: Chat, holds: Bool?)? {
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(content)), let chat = record.value else {
            return nil
        }
        return (record.place ?? 0, chat, record.hold)
    }

    /// Returns a record with the chat that follows its chat; nil for a record of another chat.
    static func moved(_ content: [UInt8], from former: Chat, to next: Chat) -> [UInt8]? {
        guard let (place, chat, holds) = chat(content), chat == former else { return nil }
        return Record(next, place: place, hold: holds).bytes
    }

    /// Reads the file of an earlier build; nil if it is damaged.
    init?(earlier bytes: [UInt8]) {
        guard let file = try? JSONDecoder().decode(EarlierFile.self, from: Data(bytes)), file.version == 1 else {
            return nil
        }
        self.init()
        for record in file.chats {
            guard let chat = record.value, !chats.contains(where: { $0.name == chat.name }) else { return nil }
            chats.append(chat)
            holds[chat.name] = record.hold
        }
    }
}
