import InklingModel
import InklingText

/// The commands about people: to identify, verify, block and mute them.
extension ChatModel {
    mutating func perform(_ command: PromptCommand, on peer: Peer, _ label: Labels.Label) {
        switch command {
        case .whois: answer(whois(peer, label))
        case .verify(_, let isRight): verify(peer, label, isRight: isRight)
        case .mute: answer(mute(peer.user, label))
        default: break
        }
    }

    struct Complaint: Error {
        let line: Line
        init(_ text: String) { line = ChatLines.error(text) }
        init(_ line: Line) { self.line = line }
    }

    /// Finds a person by name.
    ///
    /// - Parameters:
    ///   - command: the command that names the person, such as "/whois".
    ///   - rest: the part of the command after the name.
    func find(
        _ name: String, in chat: ChatState, for command: String, rest: String = ""
    ) -> Result<Peer, Complaint> {
        switch user(named: name, in: chat, for: command, rest: rest) {
        case .failure(let complaint): return .failure(complaint)
        case .success(let user):
            guard let peer = chat.peer(user) else {
                return .failure(Complaint("\(SafeText.line(name)) is no longer known in this chat"))
            }
            return .success(peer)
        }
    }

    func user(
        named name: String, in chat: ChatState, for command: String, rest: String = ""
    ) -> Result<UserID, Complaint> {
        let shown = SafeText.line(name)
        if shown.lowercased() == SafeText.line(identity.name).lowercased(), chat.labels.find(shown) == .nobody {
            return .failure(Complaint("That is you. To see your identity: inkling identity show"))
        }
        switch chat.labels.find(NormalForm.canonical(name)) {
        case .one(let text):
            guard let user = UserID(text) else {
                return .failure(Complaint("\(shown) is no longer known in this chat"))
            }
            return .success(user)
        case .nobody:
            let nearest = NearestWord.find(NormalForm.canonical(name), among: chat.labels.all.map(\.text))
            let advice = nearest.map { ". Did you mean \($0)?" } ?? "; /who lists everybody"
            return .failure(Complaint("Nobody here is called \(shown)\(advice)"))
        case .several(let labels):
            return .failure(Complaint(ChatLines.whichOne(labels, of: command, rest: rest)))
        }
    }

    private func whois(_ peer: Peer, _ label: Labels.Label) -> [Line] {
        let presence = PresenceText.text(peer.presence, lastSeen: peer.lastSeen, now: moment.wall)
        var lines = ["\(label.marked): \(presence)", "identity \(peer.user)", "key \(peer.key)"]
        if let first = peer.firstSeen {
            let time = texts.localTime(first)
            lines.append("first met on \(time.day.text), \(time.text)")
        }
        let others = peer.names.map { ChatLines.shown($0) }.filter { $0 != label.name }
        if !others.isEmpty { lines.append("was also called \(others.joined(separator: ", "))") }
        for namesake in peer.namesakes { lines.append("not the \(label.name) known as \(namesake)") }
        lines.append(peer.isVerified ? "verified" : "not verified: /verify \(label.text)")
        if peer.isBlocked { lines.append("blocked: /unblock \(label.text)") }
        if muted.contains(label.user) { lines.append("muted: /unmute \(label.text)") }
        return lines.map { ChatLines.notice($0) }
    }

    // MARK: Keys

    /// Verifies a person, but only if the prompt has shown the fingerprint. A name alone could be an impostor's.
    private mutating func verify(_ peer: Peer, _ label: Labels.Label, isRight: Bool) {
        guard isRight else { return ask(.fingerprint(key: peer.key), for: .fingerprint(label)) }
        guard shownFingerprints.contains(peer.key) else {
            return answer(
                ChatLines.error("You have not seen the fingerprint yet. Compare it first: /verify \(label.text)"))
        }
        guard !peer.isVerified else {
            return answer(ChatLines.notice("\(label.marked) is verified already"))
        }
        ask(.setVerified(true, key: peer.key), for: .verify(label))
    }

    mutating func fingerprint(_ groups: [String], of label: Labels.Label, key: PublicKey) -> [Line] {
        shownFingerprints.insert(key)
        let rows = stride(from: 0, to: groups.count, by: 4).map { groups[$0..<min($0 + 4, groups.count)] }
        return ChatLines.fingerprint(label, rows: rows.map { $0.joined(separator: " ") })
    }

    // MARK: Blocking

    /// Blocks a person. For a verified person the command needs a confirmation, because the user may mean an impostor
    /// of that name.
    mutating func block(_ name: String, in open: ChatState) {
        var chat = state(knowing: name) ?? open
        var found = find(name, in: chat, for: "/block")
        var isConfirmed = false
        if case .failure = found, let person = PromptCommand.confirmed(name) {
            chat = state(knowing: person) ?? open
            found = find(person, in: chat, for: "/block", rest: " ok")
            isConfirmed = true
        }
        switch found {
        case .failure(let complaint): answer(complaint.line)
        case .success(let peer):
            let label = chat.label(of: peer.user)
            guard isConfirmed || !peer.isVerified else {
                return answer(
                    ChatLines.error(
                        "\(label.marked) is verified. To block them all the same: /block \(label.text) ok"))
            }
            ask(.setBlocked(true, .key(peer.key)), for: .block(label))
        }
    }

    func blocked(_ label: Labels.Label) -> Line {
        ChatLines.notice(
            "\(label.marked) is blocked: you see nothing from them, and they see you as gone. To undo it: "
                + "/unblock \(label.text)")
    }

    /// Unblocks a person, whom the user may have met in another run or another chat.
    mutating func unblock(_ name: String, in chat: ChatState) {
        var key: PublicKey?
        if case .success(let peer) = find(name, in: state(knowing: name) ?? chat, for: "/unblock") { key = peer.key }
        ask(.knownPeers(areBlocked: true), for: .findBlocked(name: name, key: key))
    }

    mutating func unblock(_ name: String, key: PublicKey?, among people: [KnownPeer]) {
        let blocked = people.filter(\.isBlocked)
        let wanted = NormalForm.canonical(name).lowercased()
        var key = key
        if key == nil || !blocked.contains(where: { $0.key == key }) {
            let found = blocked.filter { peer in
                let names = peer.names.map { ChatLines.shown($0).lowercased() }
                return peer.user.description == wanted || names.contains(wanted)
            }
            guard found.count <= 1 else {
                let users = found.map(\.user.description).joined(separator: ", ")
                return answer(
                    ChatLines.error("Several blocked people have that name; give the identity: \(users)"))
            }
            key = found.first?.key
        }
        guard let key else { return answer(ChatLines.error("Nobody called \(SafeText.line(name)) is blocked")) }
        ask(.setBlocked(false, .key(key)), for: .unblock(name: name))
    }

    // MARK: Muting

    // Muting sends and stores nothing, so others don't notice it.

    /// The muted people, with their current labels.
    var mutedPeople: [MutedPeople.Person] { renamedMuted().all }

    /// Applies the list of muted people to all chats.
    mutating func applyMuted() {
        let users = Set(muted.all.compactMap { UserID($0.label.user) })
        for index in states.indices { states[index].muted = users }
    }

    private mutating func mute(_ user: UserID, _ label: Labels.Label) -> [Line] {
        guard muted.mute(label) else { return [ChatLines.muted(label, isNew: false)] }
        // Messages that were folded before stay available.
        let folded = openIndex.map { states[$0].reportFolded(of: user) } ?? []
        applyMuted()
        return folded + [ChatLines.muted(label, isNew: true)]
    }

    mutating func unmute(_ name: String) -> [Line] {
        muted = renamedMuted()
        switch muted.find(name) {
        case .nobody:
            // The user may have given an earlier label.
            guard let open, case .success(let user) = user(named: name, in: open, for: "/unmute"),
                muted.contains(user.description)
            else { return [ChatLines.error("Nobody called \(SafeText.line(name)) is muted; /mute lists who is")] }
            return unmute(user)
        case .several(let labels): return [ChatLines.whichOne(labels, of: "/unmute")]
        case .one(let text): return UserID(text).map { unmute($0) } ?? []
        }
    }

    private mutating func unmute(_ user: UserID) -> [Line] {
        guard let person = muted.unmute(user.description) else { return [] }
        applyMuted()
        let presence = open?.presence(of: user, now: moment.wall)
        return [ChatLines.unmuted(person.label, presence: presence, messages: person.messages)]
            + keyAlarms(about: user)
    }

    func listMuted() -> [Line] {
        let people = mutedPeople
        guard !people.isEmpty else {
            return [ChatLines.notice("Nobody is muted. To mute somebody until you quit: /mute NAME")]
        }
        return people.map { ChatLines.muted($0) }
    }

    private func renamedMuted() -> MutedPeople {
        var renamed = muted
        for person in muted.all {
            if let user = UserID(person.label.user), let label = knownLabel(of: user) { renamed.rename(label) }
        }
        return renamed
    }

    /// Returns the label of a person in the open chat, or else in another chat.
    private func knownLabel(of user: UserID) -> Labels.Label? {
        open?.knownLabel(of: user) ?? states.lazy.compactMap { $0.knownLabel(of: user) }.first
    }
}

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
        let isRemoval = command == "/remove"
        guard !chat.isOpen else {
            let fact =
                isRemoval
                ? "Anybody can join an open chat, so nobody can be removed from it."
                : "An open chat has no owner, so nobody can get it."
            return fact + " Make a private chat: /invite NAME"
        }
        guard chat.partner == nil else {
            return isRemoval
                ? "A talk is for two. To be left alone by somebody: /block NAME"
                : "A talk has no owner, so nobody can get it. Make a private chat: /invite NAME"
        }
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

    /// Returns the line about a chat that has moved. The node no longer lists those who did not move.
    mutating func receive(moved chat: Chat) -> [Line] {
        guard let index = index(of: chat.name) else { return [] }
        states[index].chat = chat
        ask(.peers(chat: chat.name), for: .refresh)
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
            ask(.invite(chat: chat.name, key: peer.key), for: .invite(state.label(of: peer.user), chat: chat.name))
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
