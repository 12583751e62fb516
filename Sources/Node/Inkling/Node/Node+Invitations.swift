import InklingCore
import InklingModel
import InklingWire

/// Invitations to chats, and talks of two people.
extension Node {
    /// The open invitations, the oldest first. ``Notice/invited(_:)`` reports each, and ``Notice/invitationOver(_:_:)``
    /// its end. They end with the node.
    public var invitations: [Invitation] { openInvitations.all }

    /// Sends the invite of a chat to a person who is in another chat of this node. The person's node shows the
    /// invitation, and joins nothing before its user accepts. The invite lets its reader join for good, so make sure
    /// whose key it is.
    ///
    /// - Parameters:
    ///   - key: The static key of the person.
    ///   - chat: The name of a private chat that the node is in.
    /// - Returns: The number in ``Event/delivered(_:)`` and ``Event/failed(_:)``, and the name of the chat in which the
    ///   person is.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/chatMoved(_:)``, ``NodeError/noInvite(_:_:)``,
    ///   ``NodeError/alreadyThere(_:chat:)``, ``NodeError/removed(_:chat:)`` if the chat refuses the key,
    ///   ``NodeError/unknownPeer(_:)`` if the person is in no chat of this node, ``NodeError/queueFull(_:)``,
    ///   ``NodeError/stopped``.
    @discardableResult
    public func invite(_ key: PublicKey, to chat: String) throws(NodeError) -> (message: MessageID, via: String) {
        try requireMember(chat)
        guard let entry = joinedChat(chat) else { throw .unknownChat(chat) }
        guard !entry.hasEnded else { throw .chatMoved(chat) }
        guard !entry.chat.isOpen else { throw .noInvite(chat, .open) }
        guard let invite = entry.chat.wireInvite else { throw .noInvite(chat, .talk) }
        guard invite.owner.map({ $0 == ownKey }) ?? true else { throw .noInvite(chat, .owner) }
        guard entry.present[key] == nil else { throw .alreadyThere(key.userID, chat: chat) }
        let removed = moving.moves.place(of: entry.chat)?.removed ?? []
        guard !removed.contains(key) else { throw .removed(key.userID, chat: chat) }
        return try send(invite, to: key, except: entry.id)
    }

    /// Joins the talk with a person: the private chat of their key and the user's own, which nobody else can join
    /// (W-41). If the person is in another chat of this node, their node shows that the user wants to talk.
    ///
    /// - Parameters:
    ///   - key: The static key of a person, whom this user's nodes need not have met.
    ///   - name: The name of the chat at this node; by default the person's, after an `@`.
    /// - Throws: ``NodeError/unknownPeer(_:)`` for the key of this node, ``NodeError/chatName(_:)``, and the errors of
    ///   ``join(_:)-(Chat)``.
    @discardableResult
    public func talk(with key: PublicKey, name: String? = nil) throws(NodeError) -> ChatHandle {
        let handle = try join(chats(of: .talk(key), named: name)[0])
        knock(key)
        return handle
    }

    /// Joins the chat of an invitation.
    ///
    /// - Parameters:
    ///   - invitation: The number of an open invitation.
    ///   - name: The name of the chat at this node; by default that in the invitation.
    /// - Throws: ``NodeError/unknownInvitation(_:)``, ``NodeError/chatName(_:)``, and the errors of
    ///   ``join(_:)-(Chat)``. The invitation then stays open.
    @discardableResult
    public func accept(_ invitation: Int, name: String? = nil) throws(NodeError) -> ChatHandle {
        try join(chats(of: .invitation(invitation), named: name)[0])
    }

    /// Ends an invitation without joining its chat. The sender does not notice.
    ///
    /// - Throws: ``NodeError/unknownInvitation(_:)``.
    public func decline(_ invitation: Int) throws(NodeError) {
        guard openInvitations.remove(invitation) else { throw .unknownInvitation(invitation) }
        tell(.notice(.invitationOver(invitation, .declined)))
        deliver()
    }

    /// Returns the chat that a front end joins, at least once. A talk whose usual name is not free has another one too.
    ///
    /// - Parameter name: The name that the user gave the chat; nil for its usual names.
    func chats(of source: ChatSource, named name: String?) throws(NodeError) -> [Chat] {
        switch source {
        case .invitation(let number):
            guard let chat = openInvitations.chat(of: number) else { throw .unknownInvitation(number) }
            guard let name else { return [chat] }
            return [try chat.named(name)]
        case .talk(let key):
            guard let secret = endpoint.talkSecret(with: key) else { throw .unknownPeer(key.description) }
            let talk = try Chat(name ?? "@\(key.userID)", talkWith: key, secret: Secret(wire: secret))
            guard name == nil else { return [talk] }
            if let joined = joined.first(where: { $0.chat.partner == key }) { return [joined.chat] }
            let short = try talk.named("@" + talkName(of: key))
            return joinedChat(short.name) == nil ? [short, talk] : [talk]
        }
    }

    /// Sends a knock to the owner of a key, unless they are in the talk already or in no chat of this node (M-46).
    func knock(_ key: PublicKey) {
        guard let talk = joined.first(where: { $0.chat.partner == key }), talk.present[key] == nil else { return }
        _ = try? send(nil, to: key, except: talk.id)
    }

    /// Sends an invite, or a knock, over the first chat in which the owner of the key is.
    private func send(
        _ invite: Invite?, to key: PublicKey, except chat: ChatID
    ) throws(NodeError) -> (message: MessageID, via: String) {
        guard let via = joined.first(where: { $0.id != chat && $0.present[key] != nil }) else {
            throw .unknownPeer(key.description)
        }
        defer { drain() }
        do {
            let number = try endpoint.invite(key, to: invite, in: via.id, now: clock.now)
            return (MessageID(rawValue: number), via.name)
        } catch {
            throw nodeError(error, chat: via.name)
        }
    }

    /// Receives an invite, or a knock, of a person in a chat (M-47).
    func receive(_ invite: Invite?, from person: InklingCore.Person, in entry: JoinedChat) {
        let key = person.key
        guard let chat = try? invite.map({ try Chat($0) }) ?? chats(of: .talk(key), named: nil).first,
            joinedChat(chat.keys.id) == nil, !moving.moves.hasLeft(chat)
        else { return }
        let isVerified = endpoint.standings[key] == .verified
        let isKnown = isVerified || endpoint.standings[key] == .met
        let result = openInvitations.add(to: chat, of: key, isKnown: isKnown) { number in
            Invitation(
                number: number, chat: entry.name, sender: Person(person), key: key, isVerified: isVerified,
                name: invite.map { _ in chat.name }, owner: chat.owner)
        }
        guard let result else { return }
        if let replaced = result.replaced { tell(.notice(.invitationOver(replaced.number, .replaced))) }
        tell(.notice(.invited(result.added)))
    }

    /// Ends the invitations to a chat that the node has joined.
    func endInvitations(to chat: ChatID) {
        for number in openInvitations.remove(to: chat) { tell(.notice(.invitationOver(number, .accepted))) }
    }

    /// Ends the invitations of a person whom the user blocked.
    func endInvitations(of user: UserID) {
        for number in openInvitations.remove(of: user) { tell(.notice(.invitationOver(number, .blocked))) }
    }

    /// Returns the name of a person with the characters that a chat's name can have, in at most 60 bytes.
    private func talkName(of key: PublicKey) -> String {
        let name = knownPeers[key]?.names.first ?? joined.lazy.compactMap { $0.met[key]?.name }.first ?? ""
        var kept = ""
        for character in NormalForm.canonical(name) where NameFault(ofChat: String(character)) == nil {
            guard kept.utf8.count + character.utf8.count <= 60 else { break }
            kept.append(character)
        }
        let trimmed = Blanks.trimmed(kept)
        return trimmed.isEmpty ? key.userID.description : trimmed
    }
}
