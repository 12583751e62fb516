import InklingWire

extension Peer {
    /// Fails if the program has ended the peer's link.
    package func needLink() throws {
        try expect(sending != nil, "the link of \(name) lasts", actual: "the program has ended it")
    }

    /// Sends the body of a successor once, as the next record (M-89).
    package func sendSuccessor(_ body: [UInt8]) throws {
        try needLink()
        let number = state.nextOwnRecord
        state.nextOwnRecord += 1
        send([.typing(status), .record(Record(number: number, type: .successor, body: body))])
    }

    /// The different successor records received so far, by session state and number.
    package var successors: [NextChat] {
        var seen: [(state: PeerState, number: UInt32)] = []
        var successors: [NextChat] = []
        for datagram in received {
            guard let record = datagram.record, record.type == .successor else { continue }
            let state = datagram.session.state
            guard !seen.contains(where: { $0.state === state && $0.number == record.number }) else { continue }
            seen.append((state, record.number))
            if let successor = try? Successor(record.body) { successors.append(NextChat(successor, in: chat)) }
        }
        return successors
    }

    /// Waits until `count` successor records have arrived, and returns the last.
    @discardableResult
    package func awaitSuccessor(_ count: Int = 1, within limit: Duration = .seconds(5)) throws -> NextChat {
        try trial.wait(
            limit, for: "\(count) successors to \(name)", actual: { "\(self.successors.count) came" },
            until: { successors.count >= count ? successors.last : nil })
    }

    /// Waits for a bye of the program because of a move or a leave.
    package func awaitLeaving(since start: Duration, _ reason: ByeReason = .left) throws {
        let bye = try self.await("a bye to \(name)", since: start) { $0.bye != nil }
        try expect(
            bye.bye == reason, "reason \(reason.rawValue)", actual: "\(bye.bye.map { "\($0.rawValue)" } ?? "none")")
    }

    /// Begins a handshake, and fails if the program answers.
    package func expectNoAnswer(from program: Program, _ why: String) throws {
        let count = responses.count
        try begin(to: program)
        try trial.never(for: .milliseconds(400), "no answer to \(why)") { responses.count > count }
    }

    /// Opens a link in a departed chat, which shows nobody.
    @discardableResult
    package func openUnseen(to program: Program) throws -> PeerSession {
        let session = try openSession(to: program)
        try trial.wait(
            .seconds(5), for: "an awaited pong, and a successor or the program's name",
            when: { session.state.isUp && session.state.hasName })
        return session
    }
}

extension Program {
    /// The notices with a code since an instant.
    package func notices(_ code: String, since start: Duration = .zero) -> [JSONValue] {
        events("notice", since: start).map(\.value).filter { $0["code"]?.string == code }
    }

    /// Moves a chat, and returns the answer.
    @discardableResult
    package func move(
        _ chat: String = Trial.team, choosing chosen: [Peer], removing removed: [Peer] = [], owner: Peer? = nil
    ) throws -> JSONValue {
        var members: [String: JSONValue] = [
            "do": "move", "chat": .string(chat), "keys": .array(chosen.map(\.keyText)),
        ]
        if !removed.isEmpty { members["removed"] = .array(removed.map(\.keyText)) }
        if let owner { members["owner"] = owner.keyText }
        return try ask(members, expecting: "ok")
    }

    /// Waits for the notice that a chat has moved to a successor.
    @discardableResult
    package func awaitMoved(
        _ chat: String = Trial.team, to successor: NextChat, within limit: Duration = .seconds(5),
        since start: Duration = .zero
    ) throws -> (at: Duration, value: JSONValue) {
        let invite = Trial.invite(to: successor, named: chat)
        return try self.await(
            "notice", within: limit, since: start, "`moved` to \(invite.text)",
            where: {
                $0["code"]?.string == "moved" && $0["chat"]?.string == chat
                    && $0["invite"]?.string == invite.text
                    && $0["owner"]?.string == successor.owner.base64url && $0["text"]?.string != nil
            })
    }

    /// Sends a text of a peer after its records before, and waits until it shows. Fails if the chat has moved since.
    package func expectNoMove(after what: String, of peer: Peer, since start: Duration) throws {
        let text = "after \(what)"
        try peer.needLink()
        peer.sendMessage(text)
        try self.await("message", since: start, "the text after \(what)", where: { $0["text"]?.string == text })
        try expect(
            notices("moved", since: start).isEmpty, "no `moved` for \(what)",
            actual: notices("moved", since: start).first.map(describe) ?? "there is one")
    }

    /// Returns the entry of `team` in `chats`.
    package func team() throws -> JSONValue? {
        try ask(["do": "chats"], expecting: "chats")["chats"]?.array?.first { $0["chat"]?.string == Trial.team }
    }
}

extension Trial {
    /// The name of the chat that moves.
    package static let team = "team"

    /// Returns the invite to a successor of a chat.
    package static func invite(to successor: NextChat, named name: String = team) -> Invite {
        guard let name = try? ChatName(name) else { preconditionFailure("the name is valid") }
        return Invite(name: name, secret: successor.secret, owner: successor.owner)
    }

    /// Returns the invite in an answer or notice.
    package static func invite(in value: JSONValue) throws -> Invite {
        guard let text = value["invite"]?.string, let invite = try? Invite(text) else {
            throw Finding(expected: "an invite", actual: value["invite"]?.string ?? "none")
        }
        return invite
    }

    /// Starts a program in `team`, of which a peer is the owner and there.
    package func startFollowing(
        peers: [Peer] = [], needs features: Feature...
    ) throws -> (program: Program, owner: Peer, invite: Invite) {
        let program = try startMoving(peers, features)
        let identity = KeyPair(using: &generator)
        let invite = try program.join(Trial.team, newSecret(), owner: identity.publicKey)
        let owner = try peer(named: "Olga", in: invite.keys, identity: identity)
        try owner.open(to: program, in: Trial.team)
        return (program, owner, invite)
    }

    /// Starts a program that owns `team`.
    package func startOwning(
        peers: [Peer] = [], needs features: Feature...
    ) throws -> (program: Program, invite: Invite) {
        let program = try startMoving(peers, features)
        return (program, try program.join(Trial.team, newSecret(), owner: program.key))
    }

    private func startMoving(_ peers: [Peer], _ features: [Feature]) throws -> Program {
        try startAnswering(
            ProgramArguments(chat: chatName, peers: peers.map(\.address), state: "moves"),
            needs: [.moves, .chats, .secret] + features)
    }

    /// Kills a program, and starts another with its state directory.
    package func restart(_ program: Program) throws -> Program {
        program.signal(.kill)
        _ = try program.awaitExit()
        return try startAnswering(program.arguments, needs: [])
    }

    /// Makes a peer with a link in `team`.
    package func member(
        _ name: String, of invite: Invite, at program: Program, identity: KeyPair? = nil
    ) throws -> Peer {
        let peer = try peer(named: name, in: invite.keys, identity: identity)
        try peer.open(to: program, in: Trial.team)
        try peer.needLink()
        return peer
    }

    /// Makes a successor with a new seed.
    ///
    /// - Parameter chat: The chat that moves; nil for the chat in which the new owner is.
    package func newSuccessor(owner: Peer, in chat: ChatKeys? = nil, removed: [PublicKey] = []) -> NextChat {
        let successor = Successor(
            seed: SuccessorSeed(using: &generator), owner: owner.identity.publicKey, removed: removed)
        return NextChat(successor, in: chat ?? owner.chat)
    }
}

/// The chat to which a successor leads from another chat (W-42).
package struct NextChat: Equatable {
    package let successor: Successor
    package let secret: ChatSecret

    package init(_ successor: Successor, in former: ChatKeys) {
        self.successor = successor
        secret = successor.secret(in: former)
    }

    package var owner: PublicKey { successor.owner }
    package var removed: [PublicKey] { successor.removed }
    package var body: [UInt8] { successor.body }
    package var keys: ChatKeys { ChatKeys(secret: secret, owner: owner) }
}

extension Invite {
    /// The keys of the chat.
    package var keys: ChatKeys { ChatKeys(secret: secret, owner: owner) }
}

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
