import InklingWire

extension Peer {
    /// The peer's key as requests name it.
    package var keyText: JSONValue { .string(identity.publicKey.base64url) }

    /// Sends an invite record once, as the next record. An empty body is a knock (M-46).
    package func sendInvite(_ body: [UInt8]) {
        let number = state.nextOwnRecord
        state.nextOwnRecord += 1
        send([.typing(status), .record(Record(number: number, type: .invite, body: body))])
    }

    /// Sends an invite to a chat.
    package func sendInvite(to name: String, _ secret: ChatSecret, owner: PublicKey? = nil) throws {
        sendInvite(Array(Invite(name: try ChatName(name), secret: secret, owner: owner).text.utf8))
    }

    /// The different invite records received so far, by number.
    package var invites: [Record] {
        var records: [UInt32: Record] = [:]
        for (_, record) in self.records where record.type == .invite { records[record.number] = record }
        return records.keys.sorted().compactMap { records[$0] }
    }

    /// Waits for the first invite record.
    package func awaitInvite() throws -> Record {
        try trial.wait(.seconds(3), for: "an invite to \(name)", until: { invites.first })
    }
}

extension Program {
    /// The notices `invited` since an instant.
    package func invitations(since start: Duration = .zero) -> [JSONValue] {
        events("notice", since: start).map(\.value).filter { $0["code"]?.string == "invited" }
    }

    /// Waits for an invitation of a person to a chat of this name, or to a talk without a name.
    @discardableResult
    package func awaitInvitation(from peer: Peer, to name: String?, since start: Duration = .zero) throws -> JSONValue {
        let what = name.map { "to \($0)" } ?? "to a talk"
        return try trial.wait(
            .seconds(3), for: "`invited` \(what) by \(peer.name)",
            actual: { self.invitations().last.map(self.describe) ?? "there is no `invited`" },
            until: { invitations(since: start).first { $0["key"] == peer.keyText && $0["to"]?.string == name } })
    }

    /// Waits until an invitation is over.
    package func awaitEnd(of invitation: JSONValue, because why: String) throws {
        let number = invitation["invitation"]
        let end = try self.await("notice", "`invitation-over` of \(number?.integer ?? 0)") {
            $0["code"]?.string == "invitation-over" && $0["invitation"] == number
        }
        try expect(end.value["why"]?.string == why, "`why` is \(why)", actual: describe(end.value))
    }

    /// The numbers of the open invitations.
    package func openInvitations() throws -> [Int] {
        let answer = try ask(["do": "invitations"], expecting: "invitations")
        return (answer["invitations"]?.array ?? []).compactMap { $0["invitation"]?.integer }
    }

    /// The names of the chats that the program is in.
    package func chatNames() throws -> [String] {
        (try ask(["do": "chats"], expecting: "chats")["chats"]?.array ?? []).compactMap { $0["chat"]?.string }
    }

    /// Joins a secret chat with a name of its own, and returns its invite.
    package func join(_ name: String, _ secret: ChatSecret, owner: PublicKey? = nil) throws -> Invite {
        let invite = Invite(name: try ChatName(name), secret: secret, owner: owner)
        try ask(["do": "join", "invite": .string(invite.text)], expecting: "ok")
        return invite
    }

    /// Sends a text of a peer after its records before, and waits until it shows. Fails if an invitation came since.
    package func expectNoInvitation(from peer: Peer, since start: Duration, _ what: String) throws {
        let text = "after \(what)"
        peer.sendMessage(text)
        try self.await("message", since: start, "the text after \(what)", where: { $0["text"]?.string == text })
        try expect(
            invitations(since: start).isEmpty, "no `invited` for \(what)",
            actual: invitations(since: start).first.map(describe) ?? "there is one")
    }
}

extension Trial {
    /// Starts a program that takes invitations, with a link of a peer.
    package func startInviting(
        named name: String = "Alice", identity: KeyPair? = nil, needs features: Feature...
    ) throws -> (program: Program, peer: Peer) {
        let program = try startAnswering(
            ProgramArguments(chat: chatName), needs: [.invitations, .chats, .secret, .messages] + features)
        let peer = try peer(named: name, identity: identity)
        try peer.open(to: program)
        return (program, peer)
    }

    /// Makes a peer of the talk of its key with the program (W-41).
    package func peerOfTalk(_ peer: Peer, with program: Program) throws -> Peer {
        try self.peer(named: peer.name, in: talk(of: peer.identity, with: program), identity: peer.identity)
    }

    /// Returns the keys of a talk with the program (W-41).
    package func talk(of identity: KeyPair, with program: Program) throws -> ChatKeys {
        guard let secret = ChatSecret(talkOf: identity, with: program.key) else {
            throw Untried(reason: "the keys have no talk")
        }
        return ChatKeys(secret: secret)
    }

    /// Returns a secret that no other case has.
    package func newSecret() -> ChatSecret { ChatSecret(using: &generator) }
}
