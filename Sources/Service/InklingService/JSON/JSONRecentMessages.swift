import InklingModel

// The objects of a chat's last messages.

extension RecentMessage {
    /// Returns the object. Own messages have the node's present name.
    func value(of node: NodeIdentity) -> JSONValue {
        let at = ("at", JSONValue.seconds(at))
        switch content {
        case .received(let message, let isDelayed):
            let members = [
                at, ("from", .person(message.sender)), ("message", .unsigned(message.id.rawValue)),
                ("text", .string(message.text)),
            ]
            let written = message.written.map { [("written", JSONValue.seconds($0))] } ?? []
            return .object(members + (isDelayed ? [("delayed", .boolean(true))] : []) + written + kept)
        case .own(let message, let delivered, let failed):
            return .object(
                [
                    at, ("from", .person(Person(user: node.user, name: node.name))), ("own", .boolean(true)),
                    ("sent", .unsigned(message.message.rawValue)), ("to", .integer(message.recipients)),
                    ("text", .string(message.text)), ("delivered", .strings(delivered.map(\.description))),
                    ("failed", .array(failed.map(\.value))),
                ] + (waiting.isEmpty ? [] : [("waiting", .strings(waiting.map(\.description)))]) + kept)
        }
    }

    /// The members that only a message of a history has.
    private var kept: [(String, JSONValue)] {
        (entry.map { [("entry", .unsigned($0))] } ?? []) + (isUnread ? [("unread", .boolean(true))] : [])
    }
}

extension RecentMessage.Failure {
    fileprivate var value: JSONValue {
        .object([("user", .string(user.description)), ("why", .string(why.rawValue))])
    }
}

extension JSONMembers {
    /// Returns the message of a chat; nil if a member is missing or has another type.
    func recentMessage(in chat: String) -> RecentMessage? {
        var message = heldMessage(in: chat)
        message?.entry = self["entry"]?.unsigned
        message?.isUnread = self["unread"]?.boolean ?? false
        message?.waiting = self["waiting"]?.strings?.compactMap { UserID($0) } ?? []
        return message
    }

    private func heldMessage(in chat: String) -> RecentMessage? {
        guard let at = self["at"]?.time, let text = self["text"]?.string else { return nil }
        guard self["own"]?.boolean == true else {
            guard let sender = self["from"]?.object?.person, let number = self["message"]?.message else { return nil }
            let message = ReceivedMessage(
                chat: chat, from: sender, id: number, text: text, written: self["written"]?.time)
            return RecentMessage(at: at, .received(message, isDelayed: self["delayed"]?.boolean ?? false))
        }
        guard let number = self["sent"]?.message, let recipients = self["to"]?.integer,
            let delivered = self["delivered"]?.strings?.compactMap({ UserID($0) }),
            let failed = list("failed", \.failure)
        else { return nil }
        let message = OwnMessage(at: at, chat: chat, message: number, recipients: recipients, text: text)
        return RecentMessage(at: at, .own(message, delivered: delivered, failed: failed))
    }

    private var failure: RecentMessage.Failure? {
        guard let user = self["user"]?.user,
            let why = self["why"]?.string.flatMap({ FailureReason(rawValue: $0) })
        else { return nil }
        return RecentMessage.Failure(user: user, why: why)
    }
}
