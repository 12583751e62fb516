import InklingModel
import InklingText

/// A move of a private chat that the prompt has shown and the user has not confirmed yet.
struct ShownMove: Sendable {
    enum Purpose: Sendable {
        case remove(Labels.Label)
        case handOver(Labels.Label)
    }

    let purpose: Purpose
    /// The person whom the command names.
    let key: PublicKey
    /// The keys that move besides the user's own.
    var keys: [PublicKey] = []
}

/// The members of a private chat as its owner sees them: removing, handing over, letting follow.
extension ChatModel {
    // MARK: Moving the chat

    /// Removes a person from the open chat: first shows who moves, then moves them.
    mutating func remove(_ name: String, in index: Int) {
        move(name, in: index, "/remove", { .remove($0) })
    }

    /// Hands the open chat over to a person: first shows who moves, then moves them.
    mutating func handOver(_ name: String, in index: Int) {
        move(name, in: index, "/owner", { .handOver($0) })
    }

    private mutating func move(
        _ name: String, in index: Int, _ command: String, _ purpose: (Labels.Label) -> ShownMove.Purpose
    ) {
        let state = states[index]
        if let obstacle = obstacle(to: command, in: state) { return answer(ChatLines.error(obstacle)) }
        var found = find(name, in: state, for: command)
        var (given, isConfirmed) = (name, false)
        if case .failure = found, let person = PromptCommand.confirmed(name) {
            found = find(person, in: state, for: command, rest: " ok")
            (given, isConfirmed) = (person, true)
        }
        switch found {
        case .failure(let complaint): answer(complaint.line)
        case .success(let peer):
            let label = state.label(of: peer.user)
            let purpose = purpose(label)
            if case .handOver = purpose, !peer.isVerified, given != peer.user.description {
                return answer(
                    ChatLines.error(
                        "\(label.marked) is not verified, and an owner can remove everybody. Compare first: "
                            + "/verify \(label.text). Or say whom you mean: /owner \(peer.user)"))
            }
            guard isConfirmed, let shown = shownMoves[state.chat.name], shown.key == peer.key,
                shown.purpose.isSame(as: purpose)
            else {
                let move = ShownMove(purpose: purpose, key: peer.key)
                return ask(.peers(chat: state.chat.name), for: .showMove(move))
            }
            shownMoves[state.chat.name] = nil
            let request: ServiceRequest =
                switch purpose {
                case .remove: .move(chat: state.chat.name, keys: shown.keys, removed: [peer.key])
                case .handOver: .move(chat: state.chat.name, keys: shown.keys, owner: peer.key)
                }
            ask(request, for: .move(shown))
        }
    }

    /// Returns why the user can't move a chat; nil if the user owns it.
    private func obstacle(to command: String, in state: ChatState) -> String? {
        let chat = state.chat
        guard !chat.isOpen else {
            return "Anybody can join an open chat, so nobody can be removed from it. Make a private chat: "
                + "/invite NAME"
        }
        guard chat.partner == nil else { return "A talk is for two. To be left alone by somebody: /block NAME" }
        guard let owner = chat.owner else {
            return "Nobody owns this chat, so \(command) does not work in it. To make one of your own, and invite who "
                + "is here: /own"
        }
        guard owner != identity.key else { return nil }
        let name = name(ofOwner: owner, in: state)
        return "This chat belongs to \(name). Only its owner removes members and hands it over"
    }

    private func name(ofOwner key: PublicKey, in state: ChatState) -> String {
        state.people.values.first { $0.key == key }.map { state.label(of: $0.user).text } ?? key.userID.description
    }

    /// Shows who moves, and asks for the confirmation.
    mutating func show(_ move: ShownMove, to peers: [Peer], in chat: String) {
        guard let index = index(of: chat) else { return }
        var move = move
        let state = states[index]
        let isRemoval = if case .remove = move.purpose { true } else { false }
        let others = peers.filter { !$0.isBlocked && !(isRemoval && $0.key == move.key) }
        move.keys = others.map(\.key)
        shownMoves[chat] = move
        let names = others.map { peer in
            let label = state.label(of: peer.user).marked
            return peer.isVerified ? label : "\(label) (not verified, \(peer.user))"
        }
        let all = names.isEmpty ? "nobody, because you have met nobody else here" : names.joined(separator: ", ")
        var lines: [String]
        switch move.purpose {
        case .remove(let label):
            lines = [
                "This removes \(label.marked): \(SafeText.line(chat)) moves to a new secret, which they do not get.",
                "These move with you, as soon as they are here: \(all)",
            ]
        case .handOver(let label):
            lines = [
                "This makes \(label.marked) the owner: then only they invite, remove, and hand the chat over.",
                "\(SafeText.line(chat)) moves to a new secret with these, as soon as they are here: \(all)",
            ]
        }
        lines.append("Nobody else moves. To do so: \(move.purpose.command) ok")
        answer(lines.map { ChatLines.notice($0) })
    }

    mutating func moved(_ chat: Chat, by move: ShownMove) {
        let shown = SafeText.line(chat.name)
        switch move.purpose {
        case .remove(let label):
            answer(
                ChatLines.notice(
                    "\(label.text) is removed from \(shown). The others show when their nodes have moved"))
        case .handOver(let label):
            answer(ChatLines.notice("\(label.text) owns \(shown) now. The others show when their nodes have moved"))
        }
    }

    /// Returns the line about a chat that has moved.
    mutating func receive(moved chat: Chat) -> [Line] {
        guard let index = index(of: chat.name) else { return [] }
        states[index].chat = chat
        shownMoves[chat.name] = nil
        let owner =
            chat.owner == identity.key ? "you" : chat.owner.map { name(ofOwner: $0, in: states[index]) } ?? "nobody"
        let line = ChatLines.notice("\(SafeText.line(chat.name)) has moved to a new secret. Its owner is \(owner)")
        return shown([line], in: index)
    }

    // MARK: A chat of one's own

    /// Makes a private chat that the user owns, and invites who is in the open chat: first shows whom, then does it.
    mutating func own(_ argument: String?, in index: Int) {
        let state = states[index]
        guard !state.chat.isOpen, state.chat.partner == nil else {
            return answer(ChatLines.error("/own is for a private chat without an owner. Make a new one: /invite NAME"))
        }
        guard state.chat.owner == nil else {
            let isOwn = state.chat.owner == identity.key
            return answer(
                ChatLines.error(
                    isOwn
                        ? "This chat is yours already: /remove NAME removes somebody" : "This chat has another owner"))
        }
        var name = argument ?? ""
        let isConfirmed = name.lowercased() == "ok" || PromptCommand.confirmed(name) != nil
        if isConfirmed { name = PromptCommand.confirmed(name) ?? "" }
        let people = state.present
        let chat: Chat
        do {
            chat = try Chat(
                NormalForm.canonical(name.isEmpty ? freeName(after: state.chat.name) : name), secret: texts.newSecret(),
                owner: identity.key)
        } catch {
            return answer(ChatLines.error(texts.error(error)))
        }
        let shown = SafeText.line(chat.name)
        guard isConfirmed else {
            let names = people.map { peer in
                let label = state.label(of: peer.user).marked
                return peer.isVerified ? label : "\(label) (not verified, \(peer.user))"
            }
            let invited =
                names.isEmpty ? "Nobody else is here to be invited" : "Invited: \(names.joined(separator: ", "))"
            return answer([
                ChatLines.notice("This makes the private chat \(shown), which you own. \(invited)"),
                ChatLines.notice(
                    "\(SafeText.line(state.chat.name)) stays as it is. To do so: "
                        + "/own \(name.isEmpty ? "" : shown + " ")ok"),
            ])
        }
        ask(request(toJoin: chat), for: .own(from: state.chat.name))
    }

    /// Invites who is in the former chat to the chat that the user now owns.
    mutating func owned(_ chat: Chat, _ peers: [Peer], from former: String) {
        let state = index(of: former).map { states[$0] }
        joined(chat, peers)
        guard let state else { return }
        for peer in state.present {
            ask(.sendInvite(chat: chat.name, key: peer.key), for: .invite(state.label(of: peer.user), chat: chat.name))
        }
    }

    private func freeName(after name: String) -> String {
        for number in 2... where index(of: "\(name) \(number)") == nil { return "\(name) \(number)" }
        return name
    }

    // MARK: Newcomers

    /// Returns the line about somebody who looks for a chat that has moved without them.
    mutating func receive(_ newcomer: Newcomer) -> [Line] {
        let (user, chat) = (newcomer.key.userID, SafeText.line(newcomer.chat))
        newcomers.removeAll { $0.key == newcomer.key && $0.chat == newcomer.chat }
        newcomers.append(newcomer)
        let who = label(of: newcomer).map { newcomer.isVerified ? $0.marked : "\($0.marked) (not verified, \(user))" }
        return [
            ChatLines.notice(
                "\(who ?? user.description) looks for \(chat), which has moved without them."
                    + (Self.warning(about: newcomer).map { " " + $0 } ?? "") + " To let them follow: /admit \(user)")
        ]
    }

    /// Returns the label of a newcomer, with a suffix beside namesakes; nil without a readable name.
    private func label(of newcomer: Newcomer) -> Labels.Label? {
        guard let name = newcomer.name, Labels.shown(name) != nil else { return nil }
        let user = newcomer.key.userID.description
        var labels = Labels(ownName: identity.name)
        labels.update(
            Labels.Person(
                user: user, name: name, acquaintance: newcomer.namesakes.isEmpty ? .known : .changedKey,
                isVerified: newcomer.isVerified))
        return labels.label(of: user)
    }

    private static func warning(about newcomer: Newcomer) -> String? {
        guard !newcomer.isVerified, !newcomer.namesakes.isEmpty else { return nil }
        let known = newcomer.namesake?.names.first.flatMap { Labels.shown($0) } ?? "person"
        return "They are not the \(known) you \(newcomer.namesake?.isVerified == true ? "verified" : "know")."
    }

    /// Lets somebody follow a chat that has moved.
    mutating func admit(_ name: String) {
        let wanted = NormalForm.canonical(name).lowercased()
        let found = newcomers.filter {
            $0.key.userID.description == wanted || label(of: $0)?.name.lowercased() == wanted
                || label(of: $0)?.text.lowercased() == wanted
        }
        guard let newcomer = found.first else {
            return answer(ChatLines.error("Nobody called \(SafeText.line(name)) looks for a chat that you have moved"))
        }
        guard found.count == 1 else {
            let users = found.map(\.key.userID.description).joined(separator: ", ")
            return answer(ChatLines.error("Several people have that name; give the identity: \(users)"))
        }
        ask(.admit(chat: newcomer.chat, key: newcomer.key), for: .admit(newcomer))
    }

    mutating func admitted(_ newcomer: Newcomer) {
        newcomers.removeAll { $0.key == newcomer.key && $0.chat == newcomer.chat }
        let who = label(of: newcomer)?.marked ?? newcomer.key.userID.description
        answer(ChatLines.notice("\(who) may follow to \(SafeText.line(newcomer.chat))"))
    }
}

extension ShownMove.Purpose {
    var label: Labels.Label {
        switch self {
        case .remove(let label), .handOver(let label): label
        }
    }

    /// The command without its confirmation.
    var command: String {
        switch self {
        case .remove(let label): "/remove \(label.text)"
        case .handOver(let label): "/owner \(label.isVerified ? label.text : label.user)"
        }
    }

    func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.remove, .remove), (.handOver, .handOver): true
        default: false
        }
    }
}
