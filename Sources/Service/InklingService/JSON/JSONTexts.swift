import InklingModel

// The requests about texts that wait for people who are offline.

extension RequestCodec {
    static let hold = RequestCodec(
        word: "hold",
        encode: {
            guard case .hold(let isOn, let chat) = $0 else { return nil }
            return [("on", .boolean(isOn)), ("chat", .string(chat))]
        },
        decode: { fields throws(NodeError) in
            .hold(try fields.need(fields.boolean("on"), "on"), chat: try fields.chat())
        })

    static let waiting = RequestCodec(
        word: "waiting",
        encode: {
            guard case .waitingTexts(let chat) = $0 else { return nil }
            return [("chat", chat.map(JSONValue.string))]
        },
        decode: { fields in .waitingTexts(chat: fields.chat.map(NormalForm.canonical)) })

    static let forget = RequestCodec(
        word: "forget",
        encode: {
            guard case .forget(let chat, let entry) = $0 else { return nil }
            return [("chat", chat.map(JSONValue.string)), ("entry", entry.map(JSONValue.unsigned))]
        },
        decode: { fields throws(NodeError) in
            let entry = try fields.number("entry", upTo: (1 << 53) - 1)
            return .forget(chat: fields.chat.map(NormalForm.canonical), entry: entry)
        })
}

extension WaitingEntry {
    var value: JSONValue {
        .object([
            ("entry", .unsigned(entry)), ("chat", .string(chat)), ("user", .string(user.description)),
            ("name", .string(name)), ("key", .string(key.description)), ("at", .seconds(at)), ("text", .string(text)),
        ])
    }
}

extension JSONMembers {
    /// A waiting text; nil if a member is missing or has another type.
    var waitingEntry: WaitingEntry? {
        guard let entry = self["entry"]?.unsigned, let chat = self["chat"]?.string, let user = self["user"]?.user,
            let name = self["name"]?.string, let key = self["key"]?.key, let at = self["at"]?.time,
            let text = self["text"]?.string
        else { return nil }
        return WaitingEntry(entry: entry, chat: chat, user: user, name: name, key: key, at: at, text: text)
    }
}
