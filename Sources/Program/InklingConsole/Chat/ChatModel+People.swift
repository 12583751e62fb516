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
            ask(.setBlocked(true, key: peer.key), for: .block(label))
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
        ask(.blockedPeople, for: .findBlocked(name: name, key: key))
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
        ask(.setBlocked(false, key: key), for: .unblock(name: name))
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
