import InklingModel

// The requests about the history of a chat.

extension RequestCodec {
    static let history = RequestCodec(
        word: "history",
        encode: {
            guard case .history(let isOn, let chat) = $0 else { return nil }
            return [("on", .boolean(isOn)), ("chat", .string(chat))]
        },
        decode: { fields throws(NodeError) in
            .history(try fields.need(fields.boolean("on"), "on"), chat: try fields.chat())
        })

    static let earlier = RequestCodec(
        word: "earlier",
        encode: {
            guard case .earlier(let chat, let before, let count) = $0 else { return nil }
            return [
                ("chat", .string(chat)), ("before", before.map(JSONValue.unsigned)),
                ("count", count.map(JSONValue.integer)),
            ]
        },
        decode: { fields throws(NodeError) in
            let count = try fields.number("count", upTo: UInt64(JSONFields.historyPage))
            return .earlier(chat: try fields.chat(), before: try before(fields), count: count.map { Int($0) })
        })

    static let search = RequestCodec(
        word: "search",
        encode: {
            guard case .search(let text, let chat, let before) = $0 else { return nil }
            return [
                ("text", .string(text)), ("chat", .string(chat)), ("before", before.map(JSONValue.unsigned)),
            ]
        },
        decode: { fields throws(NodeError) in
            .search(try fields.need(fields.text, "text"), chat: try fields.chat(), before: try before(fields))
        })

    private static func before(_ fields: JSONFields) throws(NodeError) -> UInt64? {
        try fields.number("before", upTo: (1 << 53) - 1)
    }
}

extension ServiceRequest {
    /// The kind of the line with the messages that the request asks for.
    var listing: StaticString {
        switch self {
        case .earlier: "earlier"
        case .search: "search"
        default: "recent"
        }
    }
}
