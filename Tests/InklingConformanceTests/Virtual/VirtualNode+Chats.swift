import InklingConformance
import InklingCore
import InklingWire

/// The invitations, talks and moves of a node, as far as the core has a part in them.
extension VirtualNode {
    func performOfChats(_ word: String, _ request: JSONValue) throws {
        switch word {
        case "invite": try invite(request)
        case "talk": try talk(request)
        case "accept":
            guard let chat = invitations[request["invitation"]?.integer ?? 0] else {
                throw Refusal(code: "unknown-invitation")
            }
            try join(chat, answering: request)
        case "decline": answer(request)
        case "move": try move(request)
        default: throw Refusal(code: "unsupported")
        }
    }

    // MARK: Invitations and talks

    private func invite(_ request: JSONValue) throws {
        let (chat, key) = (try chat(of: request), try key(request["key"]))
        guard let invite = chat.invite else { throw Refusal(code: "no-invite") }
        guard let via = present(key, besides: chat.id) else { throw Refusal(code: "unknown-peer") }
        report(try endpoint.invite(key, to: invite, in: via.id, now: now), in: via, to: 1, answering: request)
    }

    private func talk(_ request: JSONValue) throws {
        let key = try key(request["key"])
        guard let secret = endpoint.talkSecret(with: key) else { throw Refusal(code: "unknown-peer") }
        let name = try ChatName(request["chat"]?.string ?? "@\(key.userID)").text
        let talk = Chat(name: name, keys: ChatKeys(secret: secret), secret: secret, partner: key)
        try join(talk, answering: request)
        if let via = present(key, besides: talk.id) { _ = try endpoint.invite(key, to: nil, in: via.id, now: now) }
    }

    func receive(_ invite: Invite?, from person: Person, in id: ChatID) {
        if let invite { invitations[invitations.count + 1] = Self.chat(of: invite) }
        var members = json(person, .online).members
        (members["invitation"], members["chat"]) = (.number(Double(invitations.count)), name(of: id))
        members["to"] = invite.map { .string($0.name.text) }
        members["owner"] = invite?.owner.map { .string($0.base64url) }
        notice("invited", members)
    }

    /// Returns the first chat in which a person is, besides one.
    private func present(_ key: PublicKey, besides other: ChatID) -> Chat? {
        chats.first { $0.id != other && endpoint.present(in: $0.id).contains { $0.person.key == key } }
    }

    // MARK: Moves

    private func move(_ request: JSONValue) throws {
        let chat = try chat(of: request)
        let owner = try request["owner"].map(key) ?? key
        let chosen = Set(try (request["keys"]?.array ?? []).map(key) + [key, owner])
        guard chat.owner == key else { throw Refusal(code: "not-owner") }
        guard endpoint.mayMove(chat.id, now: now) else { throw Refusal(code: "moved-too-often") }
        let removed = (state.refused[chat.id] ?? []) + (try (request["removed"]?.array ?? []).map(key))
        let successor = Successor(
            seed: SuccessorSeed(using: &random), owner: owner, removed: removed.filter { !chosen.contains($0) })
        let next = keep(successor, of: chat)
        answer(request, "ok", json(next).members)
        // An earlier departure holds for the keys that each later move chooses (M-93).
        for place in state.departures.indices where state.departures[place].chat.name == chat.name {
            state.departures[place].chosen.formIntersection(chosen)
        }
        state.departures.append((chat, successor, chosen))
        try enter(next)
        try endpoint.move(chat.id, by: successor, chosen: chosen, now: now)
        giveSuccessors()
        replace(chat, by: next)
    }

    func restoreDepartures() {
        for departure in state.departures { try? enter(departure.chat) }
        giveSuccessors()
    }

    private func giveSuccessors() {
        for (chat, successor, chosen) in state.departures {
            try? endpoint.depart(from: chat.id, by: successor, chosen: chosen, now: now)
        }
    }

    /// Follows the owner of a chat (M-91).
    func follow(_ successor: Successor, from former: ChatID) {
        guard let chat = chats.first(where: { $0.id == former }) else { return }
        let next = keep(successor, of: chat)
        var newest = next
        while let later = state.successors[newest.id] { newest = later }
        try? endpoint.leave(chat.id, now: now)
        if chats.contains(where: { $0.id == newest.id }) {
            endpoint.refuse(Set(successor.removed), in: next.id, now: now)
            drain()
            chats.removeAll { $0.id == chat.id }
            notice("moved", json(next).members)
        } else {
            try? enter(newest)
            replace(chat, by: newest)
        }
    }

    /// Keeps the successor of a chat, and returns the chat to which it leads.
    private func keep(_ successor: Successor, of chat: Chat) -> Chat {
        let next = Chat(
            name: chat.name, keys: successor.keys(in: chat.keys), secret: successor.secret(in: chat.keys),
            owner: successor.owner)
        state.successors[chat.id] = next
        state.refused[next.id] = successor.removed
        return next
    }

    private func replace(_ chat: Chat, by next: Chat) {
        drain()
        if let place = chats.firstIndex(where: { $0.id == chat.id }) { chats[place] = next }
        notice("moved", json(next).members)
    }

    // MARK: Names and lines

    static func chat(_ name: String, secret: String?) throws -> Chat {
        let name = try ChatName(name)
        guard let secret else { return Chat(name: name.text, keys: ChatKeys(openName: name)) }
        return chat(of: Invite(name: name, secret: try ChatSecret(base32: secret)))
    }

    static func chat(of invite: Invite) -> Chat {
        let keys = ChatKeys(secret: invite.secret, owner: invite.owner)
        return Chat(name: invite.name.text, keys: keys, secret: invite.secret, owner: invite.owner)
    }

    /// Returns the members of a chat in `chats`, and of the answer to a `join`.
    func json(_ chat: Chat) -> JSONValue {
        var members: [String: JSONValue] = ["chat": .string(chat.name), "secret": .boolean(chat.secret != nil)]
        members["owner"] = chat.owner.map { .string($0.base64url) }
        members["with"] = chat.partner.map { .string($0.base64url) }
        members["invite"] = chat.invite.map { .string($0.text) }
        return .object(members)
    }
}

extension VirtualNode.Chat {
    /// The invite to the chat; nil for an open chat and for a talk.
    fileprivate var invite: Invite? {
        guard let secret, partner == nil, let name = try? ChatName(name) else { return nil }
        return Invite(name: name, secret: secret, owner: owner)
    }
}

extension JSONValue {
    var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }
}

extension CommandError {
    /// The code of the `error`.
    var code: String {
        switch self {
        case .unknownChat: "unknown-chat"
        case .chatExists: "chat-exists"
        case .tooManyChats: "too-many-chats"
        case .messageEmpty: "message-empty"
        case .messageTooLong: "message-too-long"
        case .queueFull: "queue-full"
        case .unknownPerson: "unknown-peer"
        }
    }
}
