import InklingModel

// Invitations and talks in lines.

extension Invitation {
    /// The members that describe the invitation.
    var members: [(String, JSONValue)] {
        [("invitation", .integer(number))] + JSONValue.members(of: sender) + [
            ("key", .string(key.description)), ("verified", .boolean(isVerified)), ("chat", .string(chat)),
        ] + (name.map { [("to", .string($0))] } ?? []) + (owner.map { [("owner", .string($0.description))] } ?? [])
    }
}

extension JSONMembers {
    /// The invitation in a notice or list; nil if a needed member is missing.
    var invitation: Invitation? {
        guard let number = self["invitation"]?.integer, let sender = person, let key = self["key"]?.key,
            let chat = self["chat"]?.string
        else { return nil }
        return Invitation(
            number: number, chat: chat, sender: sender, key: key, isVerified: self["verified"]?.boolean ?? false,
            name: self["to"]?.string, owner: self["owner"]?.key)
    }

    /// The private chat in the answer to a request that joins one; nil without an invite or the secret of a talk.
    var joinedChat: Chat? {
        if let invite = self["invite"]?.string { return try? Chat(invite: invite) }
        guard let name = self["chat"]?.string, let partner = self["with"]?.key,
            let secret = self["secret"]?.string.flatMap({ try? Secret($0) })
        else { return nil }
        return try? Chat(name, talkWith: partner, secret: secret)
    }
}
