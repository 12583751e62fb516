import InklingModel
import InklingText

/// The prompt as a model: events, keys, lines and the time are inputs, and effects are outputs. The model itself has no
/// clock, no random numbers and no I/O.
///
/// Each input is one method, which returns its effects in order. A drawing shows the state after them. Answers to
/// ``ChatEffect/ask(_:)`` come as ``ServiceOutput/answer(_:to:)``, in the order of the requests, at once or later.
/// Input after a command waits for the answer.
package struct ChatModel: Sendable {
    /// The longest time that the end waits for answers to the last messages. In this time a node repeats lost datagrams
    /// several times.
    package static let patience: Int64 = 2_000
    /// The time in which several signals count as one, because both the shell and the system report a lost terminal.
    private static let echo: Int64 = 300
    /// The time that people have to come back after a stop of the program.
    private static let returnWait: Int64 = 5_000
    /// The time for which the user is alone before the prompt gives advice.
    static let aloneTime: Int64 = 4_000
    static let minute: Int64 = 60_000
    /// The shortest time between two rings of the terminal.
    private static let bellInterval: Int64 = 2_000

    package internal(set) var display: ChatDisplay
    let texts: ChatTexts
    /// The chat for which the program was started.
    var firstChat: Chat
    package private(set) var identity: NodeIdentity
    private(set) var moment: Moment

    var states: [ChatState] = []
    var openIndex: Int?
    /// The daemon's other chats, which this front end is not in.
    var others: [OtherChat] = []
    var isAway = false
    var pending = PendingAnswers()
    /// The last lines about this user's messages in chats that the user is leaving.
    var leaving: [String: [Line]] = [:]
    /// The muted people of all chats, until the program ends.
    var muted = MutedPeople()
    /// The keys whose fingerprints were shown.
    var shownFingerprints: Set<PublicKey> = []
    var warnings: KeyWarnings
    /// The open invitations, by number.
    var invitations: [Int: Invitation] = [:]
    /// The moves that wait for the user's confirmation, by the name of the chat.
    var shownMoves: [String: ShownMove] = [:]
    /// The people who look for a chat that has moved without them.
    var newcomers: [Newcomer] = []
    /// The invites without an outcome: to whom, and to which chat.
    var sentInvites: [MessageID: (label: Labels.Label, chat: String)] = [:]
    /// The entries of the waiting messages that the last list has shown, in its order.
    var listedTexts: [UInt64] = []

    var keyboard = Keyboard()
    /// Whether the last key was Ctrl-C on an empty line.
    var wasInterrupted = false
    var phase = Phase.running
    var showing = Showing.openChat
    private var timeline = Timeline()
    var dots = TypingDots()
    private(set) var columns: Int
    /// The last reported indicator, for a session of lines.
    var reportedIndicator = ""
    private var effects: [ChatEffect] = []

    /// Whether the node has joined the first chat.
    var hasBegun = false
    /// Whether the model has a node.
    var attachment = Attachment.attached
    /// The time to report the waiting messages as read.
    var readAt: Int64?
    /// Whether a line on the screen divides new messages of the open chat from earlier ones.
    var hasShownWaited = false
    var aloneAt: Int64?
    /// Whether discovery does not work. Others then can't find this node by discovery, nor this node them.
    var isDiscoveryDown = false
    var minuteAt: Int64?
    var returnedAt: Int64?
    private var silentUntil: Int64?

    enum Phase {
        case running
        /// The session is ending, and accepts no more input.
        case ending(since: Int64)
        case over(isAnswered: Bool)
    }

    /// The chats whose lines are shown at once.
    enum Showing {
        /// Only the open chat. Lines of others wait until the user opens those chats.
        case openChat
        /// All chats, because lines can't wait at the end. `last` is the chat of the last shown lines.
        case allChats(last: Int?)
    }

    /// Makes a model before the session begins.
    ///
    /// - Parameters:
    ///   - chat: the first chat.
    ///   - columns: the width of the terminal.
    package init(
        _ chat: Chat, identity: NodeIdentity, display: ChatDisplay, texts: ChatTexts, columns: Int, at moment: Moment
    ) {
        firstChat = chat
        self.identity = identity
        self.display = display
        self.texts = texts
        self.columns = columns
        self.moment = moment
        warnings = KeyWarnings(startedAt: moment.wall)
    }

    // MARK: Inputs

    /// Begins the session: joins the first chat, even if the node is in it already.
    package mutating func begin(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.ask($0.request(toJoin: $0.firstChat), for: .begin($0.firstChat)) }
    }

    func request(toJoin chat: Chat) -> ServiceRequest {
        .join(chat, isConfirmed: display.confirmsName && chat == firstChat)
    }

    /// Adds lines of earlier runs to the history.
    package mutating func recall(_ lines: [String]) { keyboard.editor.recall(lines) }

    /// Records the ID of a request. The program calls this before it performs ``ChatEffect/ask(_:)``, with the node's
    /// next ID.
    package mutating func assign(_ id: RequestID) { pending.assign(id) }

    /// Receives an output of the node.
    package mutating func receive(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            switch output {
            case .event(let timed): model.receive(timed)
            case .unread(let timed): model.receive(unread: timed)
            case .own(let message): model.receive(message)
            case .user(let user): model.apply(user)
            case .answer(let answer, let id): model.receive(answer, to: id)
            case .ended(let why): model.ended(why)
            }
        }
    }

    /// Receives bytes from the keyboard, for a screen.
    package mutating func receive(bytes: some Sequence<UInt8>, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            let keys = model.keyboard.decode(bytes, at: moment.steady)
            guard model.isRunning else { return model.pressAtEnd(keys) }
            guard !model.isEnd(keys) else { return model.beginEnd() }
            model.keyboard.add(keys)
            model.proceed()
        }
    }

    /// Receives an entered line, if the terminal edits its lines itself.
    package mutating func receive(line: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            guard model.isRunning, line.contains(where: { !$0.isWhitespace }) else { return }
            model.keyboard.enter(line)
            model.proceed()
        }
    }

    /// Sends a message for a pipe, even if the node may not have found all peers yet.
    mutating func send(_ text: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.ask(.send(text, chat: $0.firstChat.name), for: .send(isShown: false)) }
    }

    /// Forgets a message that could not be sent, whose outcome the caller handles.
    mutating func forget(_ id: RequestID) { _ = pending.remove(id, at: moment.steady) }

    /// Empties the input field, for a pipe.
    mutating func emptyField(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.ask(.compose("", chat: $0.firstChat.name)) }
    }

    /// Shows a notice of the program itself, such as a line of its log.
    package mutating func report(notice: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.show([ChatLines.notice(notice)]) }
    }

    /// Reports a line of the input that can't be sent.
    ///
    /// - Parameter reason: the reason, such as "line 7 is not UTF-8".
    package mutating func report(badLine reason: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.show([ChatLines.error(reason)]) }
    }

    /// Applies the passing of time. The program calls this at `nextTick`.
    package mutating func tick(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            switch model.phase {
            case .running: model.tickRunning()
            case .ending(let since): if since + Self.patience <= moment.steady { model.conclude() }
            case .over: break
            }
        }
    }

    /// Sets another width of the terminal.
    package mutating func resize(columns: Int, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.columns = columns }
    }

    /// Prepares for a stop of the program.
    package mutating func willSuspend(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            for index in model.states.indices { model.states[index].willSuspend() }
            model.returnedAt = nil
            if model.display.isAttached { model.detachQuietly() }
        }
    }

    /// Resumes the program after a stop.
    package mutating func resumed(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            if !model.isDetached { model.awaitReturns() }
            model.keyboard.isStopped = false
            model.proceed()
        }
    }

    /// Ends the session at the end of input or by a signal. The model sends waiting messages and awaits their outcomes,
    /// until the user or a signal requests the end once more.
    package mutating func finish(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            switch model.phase {
            case .running: model.beginEnd()
            case .ending(let since): if moment.steady - since > Self.echo { model.conclude() }
            case .over: break
            }
        }
    }

    // MARK: Queries

    /// The time of the next `tick(at:)`, in milliseconds of the steady clock; `nil` for none.
    package var nextTick: Int64? {
        switch phase {
        case .running:
            let due = states.indices.compactMap { states[$0].nextDeadline(isSeen: $0 == openIndex) }
            let answers = display.isAttached ? pending.nextDeadline : nil
            let times = [aloneAt, minuteAt, returnedAt, readAt, answers, keyboard.nextDeadline]
            return (due + (times + [nextDots]).compactMap { $0 }).min()
        case .ending(let since): return since + Self.patience
        case .over: return nil
        }
    }

    /// Whether the session still accepts input.
    package var isRunning: Bool {
        if case .running = phase { true } else { false }
    }

    /// Whether the outcomes of all sent messages are known. Meaningful after the end of the session.
    package var isAnswered: Bool {
        if case .over(let isAnswered) = phase { isAnswered } else { false }
    }

    package var hasUnanswered: Bool { pending.hasMessages || states.contains(where: \.hasUnanswered) }
    package var anybodyOnline: Bool { states.contains(where: \.anybodyOnline) }
    /// Whether any other person has been online since the start.
    package var metAnybody: Bool { states.contains(where: \.metAnybody) }
    /// The number of deliveries and failures reported so far.
    package var answers: Int { states.reduce(0) { $0 + $1.answers } }
    /// The number of messages that reached nobody.
    package var lostMessages: Int { states.reduce(0) { $0 + $1.lostMessages } }

    /// The input field. Each chat has its own draft.
    package var editor: LineEditor { keyboard.editor }

    /// The indicator with its dots, or nil when nobody is typing.
    package var indicator: String? {
        let text = typists
        return text.isEmpty ? nil : text + IndicatorText.dots(step: dots.step, reducedMotion: display.reducedMotion)
    }

    /// The emphasis of the indicator.
    package var emphasis: Line.Emphasis {
        IndicatorText.emphasis(
            age: dots.age(at: moment.steady), decorated: display.decorated, reducedMotion: display.reducedMotion)
    }

    /// The text before the input.
    package var prompt: String {
        if let search = editor.search {
            return Prompt.text(ofSearch: search.query, isFound: search.isFound, columns: columns)
        }
        guard let open else { return "no chat> " }
        let unread =
            states.map { Prompt.Unread(chat: $0.chat.name, isOpen: $0.chat.isOpen, count: $0.unread) }
            + others.map { Prompt.Unread(chat: $0.name, isOpen: $0.isOpen, count: $0.unread) }
        return Prompt(
            chat: open.chat.name, isOpen: open.chat.isOpen, other: open.other(now: moment.wall), unread: unread,
            isAway: isAway
        ).text(columns: columns)
    }

    /// The indicator of the open chat, without dots; empty when nobody is typing.
    var typists: String {
        open?.indicator(display.indicator, columns: display.form == .screen ? columns : .max) ?? ""
    }

    private var nextDots: Int64? {
        display.form == .screen ? dots.nextDeadline(reducedMotion: display.reducedMotion) : nil
    }

    var open: ChatState? { openIndex.map { states[$0] } }
    var page: Page? { display.folds ? Page(columns: columns, showsTimes: display.showsTimes) : nil }
    var localTime: LocalTime { texts.localTime(moment.wall) }
    func index(of chat: String) -> Int? { states.firstIndex { $0.chat.name == chat } }

    // MARK: Effects

    /// Applies an input, and returns its effects.
    mutating func reacting(at moment: Moment, _ body: (inout ChatModel) -> Void) -> [ChatEffect] {
        if case .over = phase { return [] }
        self.moment = moment
        body(&self)
        if case .ending = phase, !hasUnanswered { conclude() }
        dots.follow(isShown: !typists.isEmpty, at: moment.steady)
        defer { effects = [] }
        // The model draws nothing before the first chat is joined, nor after the end.
        if case .over = phase { return effects }
        if pending.isStarting { return effects }
        return display.form == .screen && !isDrawn ? effects + [.draw] : effects
    }

    /// Whether the effects so far already draw the current screen.
    private var isDrawn: Bool {
        for effect in effects.reversed() {
            switch effect {
            case .show, .draw: return true
            case .clearScreen: return false
            case .ask, .bell, .suspend, .complain, .cannotStart, .keep, .reattach, .beginEnd, .end: continue
            }
        }
        return false
    }

    mutating func emit(_ effect: ChatEffect) { effects.append(effect) }

    /// Makes a request whose answer does not matter.
    mutating func ask(_ request: ServiceRequest) {
        guard !isDetached else { return }
        if !request.isEdit { pending.add(request, at: moment.steady) }
        emit(.ask(request))
    }

    mutating func ask(_ request: ServiceRequest, for purpose: PendingAnswers.Purpose) {
        guard !isDetached else { return refuse(request) }
        pending.add(request, for: purpose, at: moment.steady)
        emit(.ask(request))
    }

    /// Shows lines.
    ///
    /// - Parameter isAnswer: whether the lines answer a command. Such lines have no time before them.
    mutating func show(_ lines: [Line], isAnswer: Bool = false) {
        guard !lines.isEmpty else { return }
        emit(.show(isAnswer || !display.showsTimes ? lines : timeline.stamped(lines, at: localTime)))
    }

    /// Shows lines with another time than the current one.
    mutating func show(_ lines: [Line], at time: LocalTime) {
        guard !lines.isEmpty else { return }
        emit(.show(display.showsTimes ? timeline.stamped(lines, at: time) : lines))
    }

    /// Shows lines with a time each.
    mutating func show(_ timed: [(line: Line, time: LocalTime)]) {
        guard !timed.isEmpty else { return }
        emit(.show(display.showsTimes ? timed.flatMap { timeline.stamped([$0], at: $1) } : timed.map(\.line)))
    }

    mutating func answer(_ lines: [Line]) { show(lines, isAnswer: true) }
    mutating func answer(_ line: Line) { show([line], isAnswer: true) }

    /// Makes the terminal ring, but not too often.
    mutating func ring() {
        guard silentUntil.map({ $0 <= moment.steady }) ?? true else { return }
        silentUntil = moment.steady + Self.bellInterval
        emit(.bell)
    }

    /// Keeps lines of a chat that is not open until the user opens it. At the end, such lines are shown with the chat's
    /// name.
    ///
    /// - Parameter isMessage: whether the lines include a message or a folded one, which counts as unread.
    /// - Returns: The lines to show now.
    mutating func shown(_ lines: [Line], in index: Int, isMessage: Bool = false) -> [Line] {
        guard !lines.isEmpty || isMessage else { return [] }
        if case .allChats(let last) = showing {
            guard !lines.isEmpty else { return [] }
            showing = .allChats(last: index)
            return index == last ? lines : [heading(of: index)] + lines
        }
        guard index != openIndex else { return lines }
        var timeline = Timeline()
        states[index].keep(display.showsTimes ? timeline.stamped(lines, at: localTime) : lines, isMessage: isMessage)
        return []
    }

    func heading(of index: Int) -> Line {
        let chat = states[index].chat
        return ChatLines.notice("In \(ChatLines.chat(chat.name, isOpen: chat.isOpen)):")
    }

    // MARK: The name

    /// Gives people who were online before a stop some time to come back.
    mutating func awaitReturns() { returnedAt = moment.steady + Self.returnWait }

    /// Applies the identity of the node after the model attached again.
    mutating func apply(_ identity: NodeIdentity) {
        self.identity = identity
        rename(identity.name)
    }

    /// Changes the name under which others know this user.
    mutating func rename(_ name: String) {
        identity.name = name
        for index in states.indices { states[index].rename(name) }
    }
}

/// The beginning, the timers and the end of a session.
extension ChatModel {
    // MARK: The beginning

    /// Handles the join of the first chat.
    ///
    /// - Parameter chat: the chat as the node has it. If the node was in the chat before, it has the secret.
    mutating func begun(_ chat: Chat, _ peers: [Peer]) {
        let hasMoved = !firstChat.isOpen && !chat.isOpen && chat != firstChat
        (firstChat, hasBegun) = (chat, true)
        add(chat, peers)
        openIndex = 0
        lookAtOpenChat()
        followOthers()
        guard display.form != .pipe else {
            if firstChat.isOpen { show([ChatLines.openWarning(chat: firstChat.name, takesCommands: false)]) }
            return show(apply(present: peers, in: 0))
        }
        let greeting = open?.greeting(isFound: Self.isFound(peers), keepsTexts: display.keeps) ?? []
        let move = hasMoved ? [ChatLines.notice("\(SafeText.line(chat.name)) has moved to a new secret")] : []
        show(explanation + move + greeting + nameWarning)
        show(apply(present: peers, in: 0))
        aloneAt = moment.steady + Self.aloneTime
        if display.form == .screen { minuteAt = moment.steady + Self.minute }
    }

    /// Returns whether a node that was in a chat before has found anybody there.
    static func isFound(_ peers: [Peer]) -> Bool { peers.contains { $0.presence != .offline } }

    /// The explanation of the prompt, for a user who has not used it before.
    private var explanation: [Line] {
        display.explains
            ? [ChatLines.notice("Type and press Enter. /help shows more, /quit leaves.")] : []
    }

    /// The advice for a user whose name can't be shown.
    private var nameWarning: [Line] {
        guard Labels.shown(identity.name) == nil else { return [] }
        return [
            ChatLines.notice(
                "Others see you as Someone, because your name has no letter or digit. To change it: /nick NAME")
        ]
    }

    mutating func cannotStart(_ error: NodeError) {
        phase = .over(isAnswered: true)
        emit(.cannotStart(error))
    }

    // MARK: Time

    mutating func tickRunning() {
        let now = moment.steady
        keyboard.tick(at: now)
        proceed()
        // This key may have ended the session.
        guard isRunning else { return }
        dots.tick(at: now)
        if let time = returnedAt, time <= now {
            returnedAt = nil
            show(states.indices.flatMap { shown(states[$0].returned(at: now), in: $0) })
        }
        if let time = readAt, time <= now { reportRead() }
        if display.isAttached, pending.isOverdue(at: now) { show([silence]) }
        if let time = aloneAt, time <= now {
            aloneAt = nil
            show(alone())
        }
        // Lines show in minutes how long ago a person was here.
        if let time = minuteAt, time <= now {
            minuteAt = now + Self.minute
            // Another front end may have shown their messages.
            if others.contains(where: { $0.unread > 0 }) { countOthers() }
        }
        show(due())
    }

    /// Returns the lines that are due.
    mutating func due() -> [Line] {
        var lines: [Line] = []
        for index in states.indices {
            if !states[index].isSettling(at: moment.steady) { sendWaiting(in: index) }
            lines += shown(states[index].due(at: moment.steady, isSeen: index == openIndex), in: index)
        }
        return lines
    }

    // MARK: The end

    /// Ends the session, and sends the waiting messages. The text in the input field no longer counts as typing.
    mutating func beginEnd() {
        guard isRunning else { return }
        phase = .ending(since: moment.steady)
        emit(.beginEnd)
        if readAt != nil { reportRead() }
        compose("")
        showing = .allChats(last: openIndex)
        for index in states.indices { sendWaiting(in: index) }
        show(due())
    }

    /// Stops waiting for answers.
    mutating func conclude() {
        if isRunning { beginEnd() }
        guard case .ending = phase else { return }
        let isAnswered = !hasUnanswered
        show(states.indices.flatMap { shown(states[$0].abandon(isSeen: $0 == openIndex), in: $0) })
        phase = .over(isAnswered: isAnswered)
        emit(.end)
    }

    /// Handles keys during the end: Ctrl-C and Ctrl-D end the wait for answers.
    mutating func pressAtEnd(_ keys: [Key]) {
        if keys.contains(where: { $0 == .control("c") || $0 == .control("d") }) { conclude() }
    }
}
