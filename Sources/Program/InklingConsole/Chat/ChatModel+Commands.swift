import InklingModel
import InklingText

/// The execution of commands, and their answers.
extension ChatModel {
    /// Executes a command. A message is not a command.
    mutating func perform(_ command: PromptCommand) {
        switch command {
        case .message, .action: break
        case .quit: beginEnd()
        case .help(let word): answer(help(word))
        case .misused, .unknown: answer(ChatLines.error(command.complaint ?? ""))
        case .away, .back: setAway(command == .away)
        case .chats: if display.keeps { ask(.chats, for: .chats) } else { answer(list()) }
        case .join(let text): join(text)
        case .leave(let name): leave(name)
        case .open(.number(let number)): answer(open(number: number))
        case .open(.name(let name)): open(name)
        case .mute(nil): answer(listMuted())
        case .unmute(let name): answer(unmute(name))
        case .nick(let name, let isOnce): changeName(name, isOnce: isOnce)
        case .notify(let isOn): notify(isOn)
        case .autostart(let isOn): if display.form != .pipe { emit(.keep(.autostart(isOn))) }
        case .invite(let argument?): invite(argument)
        case .talk(let name): talk(name)
        case .accept(let number, let name): accept(number, name: name)
        case .decline(let number): decline(number)
        case .admit(let name): admit(name)
        case .clear: clear()
        case .waiting(nil): listWaiting()
        case .forget(let number): forget(number)
        case .who, .whois, .verify, .block, .unblock, .mute, .show, .find, .resend, .invite, .history, .waiting,
            .remove, .owner, .own:
            guard let index = openIndex else {
                return answer(ChatLines.error("You are not in a chat. Join one: /join NAME"))
            }
            perform(command, in: index)
        }
    }

    private mutating func perform(_ command: PromptCommand, in index: Int) {
        let chat = states[index].chat
        switch command {
        case .who: ask(.peers(chat: chat.name), for: .who)
        case .invite: answer(invite(chat))
        case .unblock(let name): unblock(name, in: states[index])
        case .resend: resend(in: index)
        case .find(let text): find(text, in: index)
        case .waiting(let isOn?): hold(isOn, in: chat)
        case .history(let isOn, let isSure): history(isOn, isSure: isSure, in: states[index].chat)
        case .show(let name): answer(showFolded(name, in: index))
        case .block(let name): block(name, in: states[index])
        case .remove(let name): remove(name, in: index)
        case .owner(let name): handOver(name, in: index)
        case .own(let argument): own(argument, in: index)
        case .whois(let name), .verify(let name, _), .mute(let name?):
            let state = state(knowing: name) ?? states[index]
            switch find(name, in: state, for: command.word, rest: command.isConfirmation ? " ok" : "") {
            case .failure(let complaint): answer(complaint.line)
            case .success(let peer): perform(command, on: peer, state.label(of: peer.user))
            }
        default: break
        }
    }

    /// Receives an answer of the node.
    mutating func receive(_ answer: ServiceAnswer, to id: RequestID) {
        guard let (request, purpose) = pending.remove(id, at: moment.steady) else { return }
        defer { proceed() }
        switch (purpose, request, answer) {
        case (.begin, _, .failed(let error)): cannotStart(error)
        case (.begin, _, .joined(let chat, let peers)): begun(chat, peers)
        case (.rejoin, _, .joined(let chat, let peers)): rejoined(chat, peers)
        case (.send(let wasShown), .send(let text, let chat), _):
            receive(answer, toSending: text, in: chat, wasShown: wasShown)
        case (.leave, .leave(let chat), _): left(chat, answer)
        case (.refresh, .peers(let chat?), .peers(let peers)): refresh(peers, in: chat)
        case (.refresh, _, _): break
        case (.history(let step), _, _): receive(answer, to: request, step)
        case (.texts, _, _): receive(answer, aboutTexts: request)
        case (.keep(let chat), _, .failed(let error)):
            self.answer(
                ChatLines.error(
                    "\(keeper) can't keep \(SafeText.line(chat)), so it ends with this prompt: \(texts.error(error))"))
        case (_, _, .failed(let error)): self.answer(ChatLines.error(commandText(error, for: purpose)))
        case (.join, _, .joined(let chat, let peers)): joined(chat, peers)
        case (.make, _, .joined(let chat, let peers)):
            joined(chat, peers)
            self.answer(invite(chat))
        case (.enter, _, .joined(let chat, let peers)): entered(chat, peers)
        case (.invite(let label, let chat), _, .invited(let message, _)): invited(label, to: chat, message: message)
        case (.decline(let number), _, .done):
            invitations[number] = nil
            self.answer(ChatLines.notice("You have declined invitation \(number)"))
        case (.chats, _, .chats(let chats)):
            self.answer(list(with: chats))
            follow(chats)
        case (.others, _, .chats(let chats)): follow(chats)
        case (.others, _, _): break
        case (.open(let name), _, .chats(let chats)): open(name, among: chats)
        case (.showMove(let move), .peers(let chat?), .peers(let peers)): show(move, to: peers, in: chat)
        case (.move(let move), _, .moved(let chat)): moved(chat, by: move)
        case (.own(let former), _, .joined(let chat, let peers)): owned(chat, peers, from: former)
        case (.admit(let newcomer), _, .done): admitted(newcomer)
        case (.who, .peers(let chat?), .peers(let peers)): self.answer(who(peers, in: chat))
        case (.fingerprint(let label), .fingerprint(let key), .fingerprint(let groups)):
            self.answer(fingerprint(groups, of: label, key: key))
        case (.verify(let label), _, .done):
            self.answer(ChatLines.notice("\(label.text) is now verified"))
            refresh()
        case (.block(let label), _, .done):
            self.answer(blocked(label))
            refresh()
        case (.findBlocked(let name, let key), _, .knownPeers(let people)): unblock(name, key: key, among: people)
        case (.unblock(let name), _, .done):
            self.answer(ChatLines.notice("\(SafeText.line(name)) is no longer blocked"))
            refresh()
        case (.rename(let isOnce), .rename(let name), .done):
            renamed(name)
            if !isOnce { emit(.keep(.name(name))) }
        default: break
        }
    }

    private func commandText(_ error: NodeError, for purpose: PendingAnswers.Purpose) -> String {
        // The advice of this error is about the program's option, so the prompt gives other advice.
        if case .rename = purpose, case .name = error { return error.fact + " Choose another: /nick NAME" }
        let fact = "That name could mean another chat of yours."
        switch (purpose, error) {
        case (.enter(let number?), .chatExists), (.enter(let number?), .other("open-name", _)),
            (.enter(let number?), .other("similar-name", _)):
            return "\(fact) Choose another name for this chat: /accept \(number) NAME"
        case (.join, .other("open-name", _)), (.join, .other("similar-name", _)):
            return "\(fact) Choose another name for this chat: /join INVITE NAME"
        case (.invite(let label, let chat), .removed), (.invite(let label, let chat), .other("removed", _)):
            return "\(label.marked) was removed from \(SafeText.line(chat)), which lets them in no more. Invite them "
                + "to another private chat. To make one: /invite NAME"
        case (.make, .other("open-name", _)), (.make, .other("similar-name", _)):
            return "\(fact) Choose another one: /invite NAME"
        case (.own, .other("open-name", _)), (.own, .other("similar-name", _)):
            return "\(fact) Choose another one: /own NAME ok"
        default: return texts.error(error)
        }
    }

    private func help(_ word: String?) -> [Line] {
        guard let word else {
            let keys = display.form == .screen ? PromptCommand.keyDescriptions : []
            return (PromptCommand.descriptions + keys).map { ChatLines.notice($0) }
        }
        guard let lines = PromptCommand.help(on: word) else {
            let advice = PromptCommand.meant(by: word).map { ". Did you mean /help \($0)?" } ?? "; /help lists them"
            return [ChatLines.error("There is no command \(SafeText.line(word))\(advice)")]
        }
        return lines.map { ChatLines.notice($0) }
    }

    /// Shows the folded messages of the open chat.
    private mutating func showFolded(_ name: String?, in index: Int) -> [Line] {
        guard let name else { return states[index].show(nil, showsTimes: display.showsTimes) }
        switch user(named: name, in: states[index], for: "/show") {
        case .failure(let complaint): return [complaint.line]
        case .success(let user): return states[index].show(user, showsTimes: display.showsTimes)
        }
    }

    private mutating func clear() {
        guard display.form == .screen else { return answer(ChatLines.error("There is no screen to clear here")) }
        emit(.clearScreen)
    }

    // MARK: Chats

    func list() -> [Line] {
        guard !states.isEmpty else { return [ChatLines.notice("You are not in a chat. Join one: /join NAME")] }
        return states.enumerated().map { index, state in
            ChatLines.chat(
                number: index + 1, name: state.chat.name, isOpen: state.chat.isOpen, unread: state.unread,
                isCurrent: index == openIndex)
        }
    }

    private mutating func join(_ text: String) {
        guard !Chat.endsAsInviteFile(text) else { return answer(Self.fileHint(text)) }
        let chat: Chat
        var isConfirmed = false
        do {
            // An invite has no blank. The user's own name for its chat may follow.
            let invite = text.prefix { !$0.isWhitespace }
            if Chat.isInvite(text), case let name = text[invite.endIndex...].trimmed, !name.isEmpty {
                chat = try Chat(invite: String(invite)).named(name)
                isConfirmed = true
            } else {
                chat = Chat.isInvite(text) ? try Chat(invite: text) : try Chat(NormalForm.canonical(text))
            }
        } catch {
            return answer(ChatLines.error(texts.error(error)))
        }
        guard let index = index(of: chat.name) else {
            return ask(.join(chat, isConfirmed: isConfirmed), for: .join(chat))
        }
        // A name alone means the chat that has it (A-20).
        guard states[index].chat == chat || chat.isOpen else {
            let command = "/leave \(SafeText.line(chat.name))"
            return answer(ChatLines.error("You are in another chat with that name: leave it first with \(command)"))
        }
        answer(
            [ChatLines.notice("You are already in \(ChatLines.chat(chat.name, isOpen: states[index].chat.isOpen))")]
                + go(to: index))
    }

    private static func fileHint(_ text: String) -> Line {
        ChatLines.error(
            "\(SafeText.line(text)) looks like a file with an invite. Join with the invite itself: /join inkling:NAME#SECRET. "
                + "Or start with the file: inkling chat --invite-file\(ShellQuoting.argument(text))")
    }

    mutating func joined(_ chat: Chat, _ peers: [Peer]) {
        add(chat, peers)
        let index = states.count - 1
        // Lines about people who are already there follow the greeting.
        let greeting = states[index].greeting(isFound: Self.isFound(peers), keepsTexts: display.keeps)
        let begin = [nowIn(chat)] + go(to: index) + greeting
        show(begin)
        show(apply(present: peers, in: index))
    }

    /// Opens a chat by its number, from 1, and restores its draft.
    mutating func open(number: Int) -> [Line] {
        guard states.indices.contains(number - 1) else {
            return [ChatLines.error("There is no chat number \(number); /chats lists yours")]
        }
        guard number - 1 != openIndex else { return [] }
        return [nowIn(states[number - 1].chat)] + go(to: number - 1)
    }

    private mutating func go(to index: Int) -> [Line] {
        guard index != openIndex else { return [] }
        if readAt != nil { reportRead() }
        let draft = keyboard.editor.exchange(states[index].draft)
        if let old = openIndex {
            states[old].draft = draft
        }
        openIndex = index
        // Typing ends in the chat that the user leaves. Coming back to a draft is not typing.
        lookAtOpenChat()
        if states[index].unread > 0 { readAt = moment.steady + Self.readWait }
        return states[index].catchUp()
    }

    private func nowIn(_ chat: Chat) -> Line {
        ChatLines.notice("You are now in \(ChatLines.chat(chat.name, isOpen: chat.isOpen))")
    }

    private mutating func leave(_ name: String?) {
        guard let index = name.map({ self.index(named: $0) }) ?? openIndex else {
            guard let name else { return answer(ChatLines.error("You are not in a chat")) }
            guard display.keeps else { return answer(noChat(name)) }
            return ask(.leave(chat: NormalForm.canonical(name)), for: .leave)
        }
        let chat = states[index].chat.name
        leaving[chat] = []
        sendWaiting(in: index)
        ask(.leave(chat: chat), for: .leave)
    }

    private mutating func left(_ name: String, _ answer: ServiceAnswer) {
        var last = leaving.removeValue(forKey: name) ?? []
        guard let index = index(of: name) else { return leftElsewhere(name, answer) }
        if case .failed(let error) = answer {
            return self.answer(last + [ChatLines.error(texts.error(error))])
        }
        let chat = states[index].chat
        last += states[index].abandon(isSeen: index == openIndex)
        if index != openIndex, !last.isEmpty { last.insert(heading(of: index), at: 0) }
        let keeping =
            display.keeps
            ? "; if \(display.place == .daemon ? "the daemon" : "Inkling") kept it, it no longer does" : ""
        last.append(ChatLines.notice("You have left \(ChatLines.chat(chat.name, isOpen: chat.isOpen))\(keeping)"))
        states.remove(at: index)
        guard index == openIndex else {
            if let open = openIndex, open > index { openIndex = open - 1 }
            return self.answer(last)
        }
        openIndex = nil
        guard !states.isEmpty else {
            _ = keyboard.editor.exchange(LineEditor.Draft())
            last.append(ChatLines.notice("You are not in a chat now. Join one with /join NAME, or end with /quit"))
            return self.answer(last)
        }
        self.answer(last + open(number: min(index, states.count - 1) + 1))
    }

    /// - Parameter others: The names of chats of the daemon that this front end may not be in.
    func noChat(_ name: String, among others: [String] = []) -> Line {
        let nearest = NearestWord.find(NormalForm.canonical(name), among: states.map(\.chat.name) + others)
        let advice = nearest.map { ". Did you mean \(SafeText.line($0))?" } ?? "; /chats lists yours"
        return ChatLines.error("You are not in a chat called \(SafeText.line(name))\(advice)")
    }

    func index(named name: String) -> Int? {
        let name = NormalForm.canonical(name)
        return index(of: name) ?? states.firstIndex { $0.chat.name.lowercased() == name.lowercased() }
    }

    // MARK: Nobody there

    /// Returns the advice for a user who is still alone after a while; empty otherwise.
    func alone() -> [Line] {
        guard let open, !metAnybody else { return [] }
        guard open.chat.partner == nil else {
            return [
                ChatLines.notice(
                    "Still alone in \(SafeText.line(open.chat.name)). The other one joins with /accept, or with /talk and "
                        + "your name.")
            ]
        }
        let invitation =
            open.chat.isOpen ? "inkling chat" + ShellQuoting.argument(open.chat.name) : "the invite that /invite shows"
        let reach = isDiscoveryDown ? "Discovery is unavailable, so others can't find this computer." : texts.reach()
        return [
            ChatLines.notice("Still alone in \(SafeText.line(open.chat.name)). \(reach)"),
            ChatLines.notice("Others on the same network join with \(invitation)."),
            ChatLines.notice("If they have joined but don't appear: \(doctor(for: open.chat))"),
        ]
    }

    /// Returns the shell command that finds out why a person does not show.
    private func doctor(for chat: Chat) -> String {
        "inkling doctor" + (chat == firstChat ? texts.arguments : ShellQuoting.arguments(naming: chat))
    }

    /// Asks the node for all people again, because a decision about one person may concern others of the same name.
    private mutating func refresh() {
        for state in states { ask(.peers(chat: state.chat.name), for: .refresh) }
    }

    private mutating func refresh(_ peers: [Peer], in chat: String) {
        if let index = index(of: chat) { states[index].refresh(peers) }
    }

    private mutating func who(_ peers: [Peer], in chat: String) -> [Line] {
        guard let index = index(of: chat) else { return [] }
        let localTime = texts.localTime
        return states[index].who(
            peers, doctor: doctor(for: states[index].chat), columns: display.form == .screen ? columns : nil,
            now: moment.wall, localTime: { localTime($0) })
    }
}

/// The commands about the user: name, presence, undelivered messages, and invites.
extension ChatModel {
    mutating func setAway(_ isAway: Bool) {
        guard self.isAway != isAway else {
            return answer(
                ChatLines.notice(isAway ? "You are already away. To return: /back" : "You are not away"))
        }
        self.isAway = isAway
        ask(.setAway(isAway))
        answer(
            ChatLines.notice(
                isAway ? "Others see that you are away; messages still reach you. To return: /back" : "You are back"))
    }

    mutating func changeName(_ text: String, isOnce: Bool) {
        let name = NormalForm.canonical(text)
        guard name != identity.name else {
            if !isOnce { emit(.keep(.name(name))) }
            return answer(ChatLines.notice("That is your name already: others see you as \(ChatLines.shown(name))"))
        }
        if let fault = NameFault(ofOwnName: name) {
            return answer(ChatLines.error(SafeText.line(NodeError.name(fault).fact) + " Choose another: /nick NAME"))
        }
        ask(.rename(name), for: .rename(isOnce: isOnce))
    }

    mutating func renamed(_ name: String) {
        rename(name)
        answer(ChatLines.notice("Others see you as \(ChatLines.shown(name)) from now on"))
    }

    /// Makes the terminal ring at the user's name, or no longer. With nil, shows the setting.
    mutating func notify(_ isOn: Bool?) {
        guard display.form != .pipe else { return }
        if let isOn {
            display.ringsForMentions = isOn
            emit(.keep(.bell(isOn)))
        }
        let rings = display.ringsForMentions
        answer(
            ChatLines.notice(
                rings
                    ? "The terminal rings when somebody says your name. To change that: /notify off"
                    : "The terminal does not ring. To have it ring at your name: /notify on"))
    }

    /// Sends the messages of a chat that failed or reached nobody again.
    mutating func resend(in index: Int) {
        guard !isDetached else { return refuse(.knownPeers()) }
        guard states[index].hasUnsent else {
            return answer(ChatLines.notice("There is nothing to send again: no message of this chat has failed"))
        }
        guard states[index].anybodyOnline else {
            return answer(ChatLines.error("Nobody is here. Your messages are kept for another /resend"))
        }
        let chat = states[index].chat.name
        for text in states[index].drainUnsent() { ask(.send(text, chat: chat), for: .send(isShown: false)) }
    }

    // MARK: Invites

    func invite(_ chat: Chat) -> [Line] {
        guard chat.partner == nil else {
            return [ChatLines.error("A talk is for two. For more people make a private chat: /invite NAME")]
        }
        guard let invite = chat.invite else {
            let command = "inkling chat" + ShellQuoting.argument(chat.name)
            return [
                ChatLines.notice(
                    "\(chat.name) is open: anybody on this network can join with \(command). For a private chat: "
                        + "/invite NAME")
            ]
        }
        var line = Line(invite)
        line.isUnbroken = true
        return [
            ChatLines.notice("Anyone with this invite can join and read; pass it on through a channel you trust:"),
            line,
        ]
    }
}

/// The user's input.
extension ChatModel {
    /// Processes waiting input, up to a command whose answer the prompt must await.
    mutating func proceed() {
        while isRunning, pending.isEmpty, let input = keyboard.next() {
            switch input {
            case .key(let key, let isLast): press(key, isLast: isLast)
            case .line(let line): enter(line, isEchoed: true)
            }
        }
    }

    /// Returns whether keys end the session while it awaits an answer. A node that does not answer must not prevent the
    /// end.
    func isEnd(_ keys: [Key]) -> Bool {
        let interrupts = keys.count { $0 == .control("c") }
        guard interrupts > 0, !pending.isEmpty else { return false }
        return pending.isStarting || interrupts > 1 || keyboard.holdsInterrupt
    }

    private mutating func press(_ key: Key, isLast: Bool) {
        let answer = keyboard.editor.handle(key)
        let wasInterrupted = self.wasInterrupted
        self.wasInterrupted = answer == .interrupt
        switch answer {
        case .nothing: break
        case .complete: complete()
        case .openChat(let number): self.answer(open(number: number))
        case .edited: edited(isLast: isLast)
        case .submit(let line):
            if !HistoryLine.isSecret(line) { emit(.keep(.line(line))) }
            enter(line)
        case .interrupt where !wasInterrupted: self.answer(ChatLines.notice("Ctrl-D or /quit leaves"))
        case .interrupt, .endOfInput: beginEnd()
        case .suspend:
            keyboard.isStopped = true
            emit(.suspend)
        case .redraw: emit(.clearScreen)
        case .refused: emit(.bell)
        case .full: self.answer(ChatLines.full())
        }
    }

    /// Reports an edit to the node before the screen is drawn, because drawing takes much longer than the report.
    private mutating func edited(isLast: Bool) {
        compose(keyboard.editor.text)
        if isLast { emit(.draw) }
    }

    private mutating func complete() {
        switch keyboard.completion.complete(&keyboard.editor, among: candidates) {
        case .completed: edited(isLast: true)
        case .choices(let texts): answer(ChatLines.choices(texts))
        case .nothing: emit(.bell)
        }
    }

    /// The texts for the completion by Tab.
    private var candidates: Completion.Candidates {
        Completion.Candidates(
            people: open?.labels.all.map(\.text) ?? [], chats: states.map(\.chat.name),
            muted: mutedPeople.map(\.label.text), folded: open?.foldedLabels.map(\.text) ?? [])
    }

    /// Processes an entered line.
    ///
    /// - Parameter isEchoed: whether the terminal edits its lines itself, so that the node has no draft to clear.
    private mutating func enter(_ line: String, isEchoed: Bool = false) {
        let command = PromptCommand(line)
        switch command {
        case .message(let text): return send(text)
        case .action(let deed): return send(ChatLines.message(ofDeed: deed))
        default: break
        }
        if !isEchoed { compose("") }
        perform(command)
    }

    // MARK: Messages

    /// Reports the new text of the input field.
    mutating func compose(_ text: String) {
        guard let open, display.sendsTyping else { return }
        ask(.compose(text, chat: open.chat.name))
    }

    private mutating func send(_ text: String) {
        guard let index = openIndex else {
            return show([ChatLines.error("You are not in a chat. Join one: /join NAME")])
        }
        guard !keepUnsent(text) else { return }
        let chat = states[index].chat.name
        guard !states[index].isSettling(at: moment.steady) else {
            ask(.compose("", chat: chat))
            return show(states[index].wait(text, isShown: display.showsOwn))
        }
        ask(.send(text, chat: chat), for: .send(isShown: false))
    }

    mutating func sendWaiting(in index: Int) {
        for text in states[index].drainWaiting() {
            ask(.send(text, chat: states[index].chat.name), for: .send(isShown: display.showsOwn))
        }
    }

    /// Receives the answer to a sent message.
    ///
    /// - Parameter wasShown: whether a line has shown the message while it waited.
    mutating func receive(_ answer: ServiceAnswer, toSending text: String, in chat: String, wasShown: Bool) {
        guard let index = index(of: chat) else { return }
        let lines: [Line]
        switch answer {
        case .sent(let number, let recipients):
            lines = states[index].record(
                sent: text, number: number, recipients: recipients, isShown: display.showsOwn && !wasShown,
                wasShown: wasShown, at: moment.steady, time: localTime)
        case .failed(let error):
            ask(.compose("", chat: chat))
            states[index].keepUnsent(text)
            lines = [ChatLines.error(texts.error(error))]
        default: return
        }
        if leaving[chat] != nil {
            leaving[chat]? += lines
        } else {
            show(shown(lines, in: index))
        }
    }
}
