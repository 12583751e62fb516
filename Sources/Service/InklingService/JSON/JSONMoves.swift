import InklingModel

// Moves of chats in lines.

extension RequestCodec {
    /// The codec of a request to move a chat.
    static let move = RequestCodec(
        word: "move",
        encode: {
            guard case .move(let chat, let keys, let removed, let owner) = $0 else { return nil }
            return [
                ("chat", .string(chat)), ("keys", .strings(keys.map(\.description))),
                ("removed", removed.isEmpty ? nil : .strings(removed.map(\.description))),
                ("owner", owner.map { .string($0.description) }),
            ]
        },
        decode: { fields throws(NodeError) in
            let keys = try fields.need(try fields.keys("keys", upTo: JSONFields.chosenKeys), "keys")
            let removed = try fields.keys("removed", upTo: JSONFields.removedKeys) ?? []
            let owner = fields.has("owner") ? try fields.key("owner") : nil
            if let owner, !keys.contains(owner) { throw .badCommand("\"owner\" is not one of \"keys\"") }
            return .move(chat: try fields.chat(), keys: keys, removed: removed, owner: owner)
        })

    /// The codec of a request to let a further key follow a chat.
    static let admit = RequestCodec(
        word: "admit",
        encode: {
            guard case .admit(let chat, let key) = $0 else { return nil }
            return [("chat", .string(chat)), ("key", .string(key.description))]
        },
        decode: { fields throws(NodeError) in .admit(chat: try fields.chat(), key: try fields.key()) })
}

extension ServiceAnswer {
    /// Whether the answer is an `ok` whose request needs none.
    var isOK: Bool {
        switch self {
        case .done, .moved: true
        default: false
        }
    }
}

extension Chat {
    /// The members of a line about a chat that has moved.
    var movedMembers: [(String, JSONValue?)] {
        [
            ("chat", .string(name)), ("owner", owner.map { .string($0.description) }),
            ("invite", invite.map(JSONValue.string)),
        ]
    }
}
