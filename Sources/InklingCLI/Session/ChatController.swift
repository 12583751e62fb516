import Foundation
import Inkling
import InklingConsole
import InklingModel
import InklingText

/// What the sessions that show text have in common: the chats, which of them is open, and what commands do.
///
/// Events and commands go in, lines come out; who draws them, and how, is up to the session.
@MainActor
final class ChatController {
    let node: Node
    let settings: ChatSettings
    /// Whether own messages are shown as lines: a terminal that edits its own lines has shown them.
    private let showsOwn: Bool
    /// Whether lines that wait until their chat is open carry the time when they came.
    private let showsTimes: Bool
    /// The width of the terminal on which a person reads, and can ask for what is folded; `nil` where everything is
    /// shown.
    private let columns: (() -> Int)?
    private var states: [ChatState] = []
    private var openIndex: Int?
    private var showing = Showing.openChat
    private var isAway = false
    private(set) var isQuitting = false
    private let startedAt = Date().timeIntervalSince1970
    /// Who is muted, in all chats, until the program ends.
    var muted = MutedPeople()
    /// The people whose different key was reported, with their names.
    private var warned: Set<Warned> = []

    private struct Warned: Hashable {
        let user: UserID
        let name: String
    }

    /// Whose lines are shown at once.
    private enum Showing {
        /// Those of other chats wait until theirs is open.
        case openChat
        /// It is the end, and nothing can wait. With the chat whose lines were the last.
        case allChats(last: Int?)
    }

    /// The input field; each chat has a draft of its own.
    var editor = LineEditor()

    init(_ context: SessionContext, showsOwn: Bool, showsTimes: Bool, columns: (() -> Int)?) {
        node = context.node
        settings = context.settings
        self.showsOwn = showsOwn
        self.showsTimes = showsTimes
        self.columns = columns
    }

    // MARK: State

    var open: ChatState? { openIndex.map { states[$0] } }
    var hasUnanswered: Bool { states.contains(where: \.hasUnanswered) }
    var anybodyOnline: Bool { states.contains(where: \.anybodyOnline) }
    var metAnybody: Bool { states.contains(where: \.metAnybody) }
    var answers: Int { states.reduce(0) { $0 + $1.answers } }
    var lostMessages: Int { states.reduce(0) { $0 + $1.lostMessages } }
    var indicator: String { open?.indicator(settings.indicator) ?? "" }
    var nextDeadline: Int64? {
        states.indices.compactMap { states[$0].nextDeadline(isSeen: $0 == openIndex) }.min()
    }

    /// What Tab can complete to.
    var candidates: Completion.Candidates {
        Completion.Candidates(
            people: open?.labels.all.map(\.text) ?? [], chats: states.map(\.chat.name),
            muted: mutedPeople.map(\.label.text), folded: open?.foldedLabels.map(\.text) ?? [])
    }

    func prompt(columns: Int) -> String {
        guard let open else { return "no chat> " }
        let unread = states.map {
            Prompt.Unread(chat: $0.chat.name, isOpen: $0.chat.isOpen, count: $0.unread)
        }
        let prompt = Prompt(
            chat: open.chat.name, isOpen: open.chat.isOpen, other: open.other(now: Date().timeIntervalSince1970),
            unread: unread)
        let text = prompt.text(columns: columns)
        return isAway ? String(text.dropLast(2)) + " (away)> " : text
    }

    /// Milliseconds of a clock that never goes back.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    // MARK: What happens

    /// Begins with the chat that the program was started for, which the node is in already.
    func begin() async -> [Line] {
        await add(settings.chat)
        openIndex = 0
        return open?.greeting ?? []
    }

    func take(_ event: Event) async -> [Line] {
        let now = ChatController.now
        switch event {
        case .peer(let chat, let person, let presence, let why):
            guard let index = index(of: chat) else { return [] }
            let peer = await node.peer(person.user, in: chat)
            let isHeard = presence != .offline && !muted.contains(person.user.description)
            let alarm = isHeard ? await keyAlarm(about: peer) : nil
            return shown(
                states[index].take(person, presence, why: why, peer: peer, alarm: alarm, page: page, at: now),
                in: index)
        case .typing(let chat, let people):
            if let index = index(of: chat) { states[index].take(typing: people) }
            return []
        case .message(let chat, let person, _, let text):
            guard let index = index(of: chat) else { return [] }
            let isMuted = muted.take(messageFrom: person.user.description)
            let time = LocalTime(Date().timeIntervalSince1970)
            return shown(
                states[index].take(message: text, from: person, page: page, at: now, time: time), in: index,
                isMessage: !isMuted)
        case .delivered(let chat, let message, let user):
            guard let index = index(of: chat) else { return [] }
            return shown(states[index].take(answerFor: message, by: user, failure: nil), in: index)
        case .failed(let chat, let message, let user, let why):
            guard let index = index(of: chat) else { return [] }
            return shown(states[index].take(answerFor: message, by: user, failure: why), in: index)
        case .notice(.keyChanged):
            // The presence that follows reports it, with the label.
            return []
        case .notice(let notice):
            return [ChatLines.notice(notice.text)]
        case .missed(let chat, let messages, _):
            guard messages > 0, let index = index(of: chat) else { return [] }
            let what = messages == 1 ? "1 message was" : "\(messages) messages were"
            return shown([ChatLines.notice("\(what) left out: they came faster than they could be shown")], in: index)
        }
    }

    /// What has to be reported by now.
    func due() async -> [Line] {
        let now = ChatController.now
        var lines: [Line] = []
        for index in states.indices {
            if !states[index].isSettling(at: now) { lines += shown(await sendWaiting(in: index), in: index) }
            lines += shown(states[index].due(at: now, isSeen: index == openIndex), in: index)
        }
        return lines
    }

    /// Sends what waits, because it is the end; what is in the input field is typed no more.
    func finish() async -> [Line] {
        await compose("")
        showing = .allChats(last: openIndex)
        var lines: [Line] = []
        for index in states.indices { lines += shown(await sendWaiting(in: index), in: index) }
        return lines + (await due())
    }

    /// Nobody waits for answers any more. Returns what there is to say of own messages yet.
    func abandon() -> [Line] {
        states.indices.flatMap { shown(states[$0].abandon(isSeen: $0 == openIndex), in: $0) }
    }

    /// What there is to say of somebody's key, once; nothing of a verified one, or of the one who had the name first.
    private func keyAlarm(about peer: Peer?) async -> KeyAlarm? {
        guard let peer, !peer.namesakes.isEmpty, !peer.isVerified,
            warned.insert(Warned(user: peer.user, name: peer.name)).inserted
        else { return nil }
        let own = await node.knownPeer(key: peer.key)
        guard let namesake = await node.namesake(of: peer) else { return nil }
        return KeyAlarm(
            newcomer: peer.name, formerNames: own?.names.dropFirst() ?? [], knownNames: namesake.names,
            isVerified: namesake.isVerified, isRepeated: own.map { $0.namedSince < startedAt } ?? false)
    }

    func willSuspend() {
        for index in states.indices { states[index].willSuspend() }
    }

    func returned() -> [Line] {
        states.indices.flatMap { shown(states[$0].returned(), in: $0) }
    }

    /// Lines of a chat that is not open wait until it is; at the end they are shown with its name.
    ///
    /// - Parameter isMessage: whether a message is among them, or was folded: one more is unread.
    private func shown(_ lines: [Line], in index: Int, isMessage: Bool = false) -> [Line] {
        guard !lines.isEmpty || isMessage else { return [] }
        if case .allChats(let last) = showing {
            guard !lines.isEmpty else { return [] }
            showing = .allChats(last: index)
            return index == last ? lines : [heading(of: index)] + lines
        }
        guard index != openIndex else { return lines }
        var timeline = Timeline()
        let time = LocalTime(Date().timeIntervalSince1970)
        states[index].keep(showsTimes ? timeline.stamped(lines, at: time) : lines, isMessage: isMessage)
        return []
    }

    private var page: Page? { columns.map { Page(columns: $0(), showsTimes: showsTimes) } }

    private func heading(of index: Int) -> Line {
        let chat = states[index].chat
        return ChatLines.notice("In \(ChatLines.chat(chat.name, isOpen: chat.isOpen)):")
    }

    private func index(of chat: String) -> Int? { states.firstIndex { $0.chat.name == chat } }

    private func add(_ chat: Chat) async {
        let met = await node.peers(in: chat.name)
        states.append(ChatState(chat, ownName: node.name, met: met, at: ChatController.now))
        tellMuted()
    }

    // MARK: Who is muted

    /// Lets all chats know who is muted.
    func tellMuted() {
        let users = Set(muted.all.compactMap { UserID($0.label.user) })
        for index in states.indices { states[index].muted = users }
    }

    /// What somebody is called: in the open chat, or else in another one.
    func knownLabel(of user: UserID) -> Labels.Label? {
        open?.knownLabel(of: user) ?? states.lazy.compactMap { $0.knownLabel(of: user) }.first
    }

    /// Reports what was folded of somebody in the open chat so far.
    func reportFolded(of user: UserID) -> [Line] { openIndex.map { states[$0].reportFolded(of: user) } ?? [] }

    /// What there is to say of the key of somebody who was not to be heard.
    func keyAlarms(about user: UserID) async -> [Line] {
        var lines: [Line] = []
        for index in states.indices {
            guard let peer = await node.peer(user, in: states[index].chat.name), peer.presence != .offline,
                let alarm = await keyAlarm(about: peer)
            else { continue }
            let now = ChatController.now
            lines += shown(states[index].take(alarm, about: user, page: page, at: now), in: index)
        }
        return lines
    }

    // MARK: The open chat

    /// The input field holds another text now.
    func compose(_ text: String) async {
        if let open { await node.compose(text, in: open.chat.name) }
    }

    /// - Returns: What there is to show, and whether the message could be sent or queued.
    func send(_ text: String) async -> (lines: [Line], error: NodeError?) {
        guard let index = openIndex else {
            return ([ChatLines.error("You are not in a chat. Join one: /join NAME")], nil)
        }
        if states[index].isSettling(at: ChatController.now) {
            await node.compose("", in: states[index].chat.name)
            states[index].wait(text)
            return ([], nil)
        }
        return await send(text, in: index)
    }

    private func sendWaiting(in index: Int) async -> [Line] {
        var lines: [Line] = []
        for text in states[index].takeWaiting() { lines += await send(text, in: index).lines }
        return lines
    }

    private func send(_ text: String, in index: Int) async -> (lines: [Line], error: NodeError?) {
        let chat = states[index].chat.name
        do {
            let (number, recipients) = try await node.send(text, to: chat)
            let lines = states[index].take(
                sent: text, number: number, recipients: recipients, isShown: showsOwn, at: ChatController.now)
            return (lines, nil)
        } catch {
            await node.compose("", in: chat)
            return ([ChatLines.error(error.text)], error)
        }
    }

    /// Opens a chat by its number, from 1; what was being typed there comes back.
    func open(number: Int) async -> [Line] {
        guard states.indices.contains(number - 1) else {
            return [ChatLines.error("There is no chat number \(number); /chats lists yours")]
        }
        guard number - 1 != openIndex else { return [] }
        if let old = openIndex {
            // Typing ends where one goes away from; coming back to a draft is not typing.
            await node.compose("", in: states[old].chat.name)
            states[old].draft = editor.exchange(states[number - 1].draft)
        } else {
            _ = editor.exchange(states[number - 1].draft)
        }
        openIndex = number - 1
        let chat = states[number - 1].chat
        return [ChatLines.notice("You are already in \(ChatLines.chat(chat.name, isOpen: chat.isOpen))")]
            + states[number - 1].catchUp()
    }

    // MARK: Commands

    /// Does what a command asks for. Messages are not for this.
    func perform(_ command: PromptCommand) async -> [Line] {
        switch command {
        case .message: return []
        case .quit:
            isQuitting = true
            return []
        case .help(nil): return PromptCommand.descriptions.map { ChatLines.notice($0) }
        case .help(let word?):
            guard let lines = PromptCommand.help(on: word) else {
                return [ChatLines.error("There is no command \(SafeText.line(word)); /help lists them")]
            }
            return lines.map { ChatLines.notice($0) }
        case .misused, .unknown: return [ChatLines.error(command.complaint ?? "")]
        case .away, .back: return await setAway(command == .away)
        case .chats: return list()
        case .join(let text): return await join(text)
        case .leave(let name): return await leave(name)
        case .open(.number(let number)): return await open(number: number)
        case .open(.name(let name)):
            guard let index = index(named: name) else { return [noChat(name)] }
            return await open(number: index + 1)
        case .mute(nil): return listMuted()
        case .unmute(let name): return await unmute(name)
        case .who, .whois, .verify, .block, .unblock, .mute, .show, .invite:
            guard let open else { return [ChatLines.error("You are not in a chat. Join one: /join NAME")] }
            return await perform(command, in: open)
        }
    }

    private func perform(_ command: PromptCommand, in open: ChatState) async -> [Line] {
        switch command {
        case .who: return open.who(await node.peers(in: open.chat.name), doctor: doctor(for: open.chat))
        case .invite: return invite(open.chat)
        case .unblock(let name): return await unblock(name, in: open)
        case .show(let name): return show(name, in: open)
        case .whois(let name), .verify(let name, _), .block(let name), .mute(let name?):
            switch await find(name, in: open) {
            case .failure(let complaint): return [complaint.line]
            case .success(let peer): return await perform(command, on: peer, open.label(of: peer.user))
            }
        default: return []
        }
    }

    /// Shows what was folded in the open chat.
    private func show(_ name: String?, in open: ChatState) -> [Line] {
        guard let index = openIndex else { return [] }
        guard let name else { return states[index].show(nil, showsTimes: showsTimes) }
        switch user(named: name, in: open) {
        case .failure(let complaint): return [complaint.line]
        case .success(let user): return states[index].show(user, showsTimes: showsTimes)
        }
    }

    private func setAway(_ isAway: Bool) async -> [Line] {
        guard self.isAway != isAway else {
            return [ChatLines.notice(isAway ? "You are already away. To return: /back" : "You are not away")]
        }
        self.isAway = isAway
        await node.setAway(isAway)
        return [
            ChatLines.notice(
                isAway ? "Others see that you are away; messages still reach you. To return: /back" : "You are back")
        ]
    }

    private func list() -> [Line] {
        guard !states.isEmpty else { return [ChatLines.notice("You are not in a chat. Join one: /join NAME")] }
        return states.enumerated().map { index, state in
            ChatLines.chat(
                number: index + 1, name: state.chat.name, isOpen: state.chat.isOpen,
                unread: state.unread, isCurrent: index == openIndex)
        }
    }

    private func join(_ text: String) async -> [Line] {
        do {
            let name = NormalForm.canonical(text)
            let chat = Chat.isInvite(text) ? try Chat(invite: text) : try Chat(name)
            if let index = index(of: chat.name) {
                guard states[index].chat == chat else {
                    let command = "/leave \(SafeText.line(chat.name))"
                    return [ChatLines.error("You are in another chat with that name: leave it first with \(command)")]
                }
                return await open(number: index + 1)
            }
            try await node.join(chat)
            await add(chat)
            let opened = await open(number: states.count)
            return opened + (open?.greeting ?? [])
        } catch {
            return [ChatLines.error(error.text)]
        }
    }

    private func leave(_ name: String?) async -> [Line] {
        guard let index = name.map({ self.index(named: $0) }) ?? openIndex else {
            return [name.map(noChat) ?? ChatLines.error("You are not in a chat")]
        }
        let chat = states[index].chat
        var last = await sendWaiting(in: index)
        do {
            try await node.leave(chat.name)
        } catch {
            return last + [ChatLines.error(error.text)]
        }
        last += states[index].abandon(isSeen: index == openIndex)
        if index != openIndex, !last.isEmpty { last.insert(heading(of: index), at: 0) }
        let left = last + [ChatLines.notice("You have left \(ChatLines.chat(chat.name, isOpen: chat.isOpen))")]
        guard index == openIndex else {
            states.remove(at: index)
            if let open = openIndex, open > index { openIndex = open - 1 }
            return left
        }
        openIndex = nil
        states.remove(at: index)
        guard !states.isEmpty else {
            _ = editor.exchange(LineEditor.Draft())
            return left + [ChatLines.notice("You are not in a chat now. Join one with /join NAME, or end with /quit")]
        }
        return left + (await open(number: min(index, states.count - 1) + 1))
    }

    private func noChat(_ name: String) -> Line {
        ChatLines.error("You are not in a chat called \(SafeText.line(name)); /chats lists yours")
    }

    private func index(named name: String) -> Int? {
        let name = NormalForm.canonical(name)
        return index(of: name) ?? states.firstIndex { $0.chat.name.lowercased() == name.lowercased() }
    }

    private func invite(_ chat: Chat) -> [Line] {
        guard let invite = chat.invite else {
            let command = "inkling chat" + ShellQuoting.argument(chat.name)
            return [ChatLines.notice("\(chat.name) is open: anybody on this network can join with \(command)")]
        }
        return [
            ChatLines.notice("Anyone with this invite can join and read; pass it on through a channel you trust:"),
            Line(invite),
        ]
    }
}
