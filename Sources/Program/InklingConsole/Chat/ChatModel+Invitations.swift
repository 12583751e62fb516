import InklingModel
import InklingText

/// Invitations to chats, from this user and from others, and talks of two people.
extension ChatModel {
    // MARK: From this user

    /// Sends an invite to a person, or makes a private chat and shows its invite.
    ///
    /// - Parameter argument: A person and a chat of this front end, or the name of a new chat.
    mutating func invite(_ argument: String) {
        guard let (name, index) = inviteeAndChat(argument) else {
            if let label = anybody(named: argument) {
                let chat = open.flatMap { $0.chat.invite == nil ? nil : SafeText.line($0.chat.name) }
                return answer(
                    ChatLines.error(
                        chat.map { "To invite \(label) to this chat: /invite \(label) \($0)" }
                            ?? "To invite \(label), name one of your private chats: /invite \(label) CHAT"))
            }
            guard let (label, chat) = personAndWords(argument) else { return make(argument) }
            return answer(
                ChatLines.error(
                    "You have no private chat called \(chat). To invite \(label) there, make it first: /invite \(chat)")
            )
        }
        let chat = states[index].chat.name
        let shown = SafeText.line(chat)
        switch findAnywhere(name, for: "/invite", rest: " " + shown) {
        case .failure(let complaint): answer(complaint.line)
        case .success((let peer, let label)):
            let user = peer.user.description
            guard peer.isVerified || name == user else {
                return answer(
                    ChatLines.error(
                        "\(label.marked) is not verified, and whoever gets the invite can join for good. Compare first: "
                            + "/verify \(label.text). Or say whom you mean: /invite \(user) \(shown)"))
            }
            ask(.invite(chat: chat, key: peer.key), for: .invite(label, chat: chat))
        }
    }

    /// Returns a person's name and the index of a chat, if the argument ends with the name of a chat.
    private func inviteeAndChat(_ argument: String) -> (name: String, chat: Int)? {
        for blank in argument.indices where argument[blank].isWhitespace {
            let name = argument[..<blank].trimmed
            let chat = argument[blank...].trimmed
            if !name.isEmpty, let index = index(named: chat) { return (name, index) }
        }
        return nil
    }

    /// Returns a person and the words after their name, if the argument begins with the name of a person.
    private func personAndWords(_ argument: String) -> (label: String, words: String)? {
        for blank in argument.indices where argument[blank].isWhitespace {
            let words = argument[blank...].trimmed
            if !words.isEmpty, let label = anybody(named: argument[..<blank].trimmed) {
                return (label, SafeText.line(words))
            }
        }
        return nil
    }

    /// Makes a private chat, joins it, and shows its invite.
    private mutating func make(_ name: String) {
        if let index = index(of: NormalForm.canonical(name)) { return answer(invite(states[index].chat)) }
        do throws(NodeError) {
            // Without a lasting key, nobody could ever use the ownership.
            let owner = identity.isTemporary ? nil : identity.key
            let chat = try Chat(NormalForm.canonical(name), secret: texts.newSecret(), owner: owner)
            ask(.join(chat), for: .make)
        } catch {
            answer(ChatLines.error(texts.error(error)))
        }
    }

    mutating func invited(_ label: Labels.Label, to chat: String, message: MessageID) {
        sentInvites[message] = (label, chat)
        answer(ChatLines.notice("\(label.marked) is invited to \(SafeText.line(chat)), and may accept or decline"))
    }

    /// Returns the lines about the outcome of an invite; nil for the outcome of a message.
    mutating func outcome(ofInvite message: MessageID, isFailure: Bool) -> [Line]? {
        guard let (label, chat) = sentInvites.removeValue(forKey: message) else { return nil }
        let shown = SafeText.line(chat)
        return isFailure
            ? [
                ChatLines.error(
                    "The invitation to \(shown) may not have reached \(label.text). To send it again: "
                        + "/invite \(label.user) \(shown)")
            ] : []
    }

    /// Goes to the talk with a person, which this user joins if necessary.
    mutating func talk(_ name: String) {
        switch findAnywhere(name, for: "/talk") {
        case .failure(let complaint): answer(complaint.line)
        case .success((let peer, _)):
            let name = states.first { $0.chat.partner == peer.key }?.chat.name
            ask(.enter(.talk(peer.key), name: name, isKept: display.keeps), for: .enter(invitation: nil))
        }
    }

    // MARK: From others

    /// Returns the line about an invitation; none if its sender is muted, or if the user has seen it.
    mutating func receive(_ invitation: Invitation) -> [Line] {
        let isNew = invitations.updateValue(invitation, forKey: invitation.number) != invitation
        guard isNew, !muted.contains(invitation.sender.user.description) else { return [] }
        if display.rings { ring() }
        return [line(about: invitation)]
    }

    mutating func receive(_ end: Invitation.End, of number: Int) -> [Line] {
        guard invitations.removeValue(forKey: number) != nil, end == .replaced else { return [] }
        return [ChatLines.notice("Invitation \(number) is over, because somebody whom you know invited you")]
    }

    private func line(about invitation: Invitation) -> Line {
        let number = invitation.number
        let label = index(of: invitation.chat).map { states[$0].label(of: invitation.sender.user) }
        let sender = label?.marked ?? Labels.shown(invitation.sender.name) ?? "Someone"
        let who = invitation.isVerified ? sender : "\(sender) (not verified, \(invitation.sender.user))"
        guard let name = invitation.name else {
            return ChatLines.notice("\(who) asks to talk with you alone: /accept \(number) or /decline \(number)")
        }
        let owner = invitation.owner == nil ? "" : " of their own"
        return ChatLines.notice(
            "\(who) invites you to \(Self.quoted(name)), a private chat\(owner): /accept \(number) or "
                + "/decline \(number)")
    }

    /// Returns the name of a chat that a peer chose. A name that could be read as more than a name gets quotes.
    private static func quoted(_ name: String) -> String {
        let shown = NameSigns.shown(chat: name)
        return NameSigns.areIn(name) ? "\"\(shown)\"" : shown
    }

    /// Joins the chat of an invitation.
    ///
    /// - Parameters:
    ///   - number: Nil for the only one.
    ///   - name: The user's own name for the chat.
    mutating func accept(_ number: Int?, name: String?) {
        guard let number = chosen(number) else { return }
        ask(
            .enter(.invitation(number), name: name, isKept: display.keeps), for: .enter(invitation: number))
    }

    mutating func decline(_ number: Int?) {
        guard let number = chosen(number) else { return }
        ask(.decline(invitation: number), for: .decline(number))
    }

    /// Returns the number of the invitation that a command means. If it is not clear, the user gets the answer.
    private mutating func chosen(_ number: Int?) -> Int? {
        let open = invitations.keys.sorted()
        if let number, invitations[number] != nil { return number }
        if number == nil, open.count == 1 { return open[0] }
        if let number {
            answer(ChatLines.error("There is no open invitation \(number)"))
        } else if open.isEmpty {
            answer(ChatLines.error("Nobody has invited you"))
        }
        answer(open.compactMap { invitations[$0].map(line) })
        return nil
    }

    /// Handles a talk or the chat of an invitation that the node has joined.
    mutating func entered(_ chat: Chat, _ peers: [Peer]) {
        guard let index = index(of: chat.name) else { return joined(chat, peers) }
        answer(open(number: index + 1))
    }

    // MARK: People

    /// Finds a person by name, first in the open chat.
    private func findAnywhere(
        _ name: String, for command: String, rest: String = ""
    ) -> Result<(Peer, Labels.Label), Complaint> {
        guard let open else { return .failure(Complaint("You are not in a chat. Join one: /join NAME")) }
        let state = state(knowing: name) ?? open
        return find(name, in: state, for: command, rest: rest).map { ($0, state.label(of: $0.user)) }
    }

    /// Returns the name of a person in any chat; nil if nobody is called so.
    private func anybody(named name: String) -> String? { state(knowing: name).map { _ in SafeText.line(name) } }

    /// Returns the first chat that shows somebody by a name, beginning with the open one; nil if there is none.
    func state(knowing name: String) -> ChatState? {
        inOrder.first { $0.labels.find(NormalForm.canonical(name)) != .nobody }
    }

    /// The chats, the open one first.
    private var inOrder: [ChatState] { (open.map { [$0] } ?? []) + states }
}
