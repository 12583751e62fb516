import InklingModel
import InklingText

/// The prompt as a model: events, keys, lines and the time are inputs, and effects are outputs. The model has no clock,
/// no randomness and no input or output of its own.
///
/// Each input is one method, which returns its effects in order. Drawing shows the state after it. Answers to
/// ``ChatEffect/ask(_:)`` come as ``ServiceOutput/answer(_:to:)``, in the order of the requests, at once or later.
/// Input that follows a command waits for the answer.
package struct ChatModel: Sendable {
    /// For how long the end waits for the answers to what was sent a moment ago: a lost datagram is sent again some
    /// times meanwhile.
    package static let patience: Int64 = 2_000
    /// Several signals may end a session at once: both shell and system report a lost terminal.
    private static let echo: Int64 = 300
    /// How long those who were there may take to come back after a stop.
    private static let returnWait: Int64 = 5_000
    /// How long the user is alone before the prompt gives advice.
    static let aloneTime: Int64 = 4_000
    static let minute: Int64 = 60_000
    /// The least time between two rings of the terminal.
    private static let bellInterval: Int64 = 2_000

    package internal(set) var display: ChatDisplay
    let texts: ChatTexts
    /// The chat that the program was started for.
    var firstChat: Chat
    package private(set) var identity: NodeIdentity
    private(set) var moment: Moment

    var states: [ChatState] = []
    var openIndex: Int?
    var isAway = false
    var pending = PendingAnswers()
    /// The last lines about own messages, of chats that the user is leaving.
    var leaving: [String: [Line]] = [:]
    /// The muted people of all chats, until the program ends.
    var muted = MutedPeople()
    /// The keys whose fingerprints were shown.
    var shownFingerprints: Set<PublicKey> = []
    var warnings: KeyWarnings

    var keyboard = Keyboard()
    /// Whether the key before was Ctrl-C on an empty line.
    var wasInterrupted = false
    var phase = Phase.running
    var showing = Showing.openChat
    private var timeline = Timeline()
    var dots = TypingDots()
    private(set) var columns: Int
    /// The indicator last reported, where lines report it.
    var reportedIndicator = ""
    private var effects: [ChatEffect] = []

    /// Whether the first chat was joined.
    var hasBegun = false
    /// Whether the node is there.
    var attachment = Attachment.attached
    /// When to report the waiting messages as read.
    var readAt: Int64?
    /// Whether a line divides what waited in the open chat from what was there before.
    var hasShownWaited = false
    var aloneAt: Int64?
    /// Whether others can't find this node by discovery, nor it them.
    var isDiscoveryDown = false
    var minuteAt: Int64?
    var returnedAt: Int64?
    private var silentUntil: Int64?

    enum Phase {
        case running
        /// Nothing more is taken from the user.
        case ending(since: Int64)
        case over(isAnswered: Bool)
    }

    /// The chats whose lines are shown at once.
    enum Showing {
        /// The open chat alone; lines of others wait until they are open.
        case openChat
        /// All chats, at the end, when no line can wait. `last` is the chat of the last lines.
        case allChats(last: Int?)
    }

    /// - Parameters:
    ///   - chat: the one to begin with.
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

    /// Begins: joins the first chat, even if the node is in it already.
    package mutating func begin(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.ask($0.request(toJoin: $0.firstChat), for: .begin($0.firstChat)) }
    }

    func request(toJoin chat: Chat) -> ServiceRequest {
        .join(chat, isConfirmed: display.confirmsName && chat == firstChat)
    }

    /// Lines that were entered in earlier runs can be recalled.
    package mutating func recall(_ lines: [String]) { keyboard.editor.recall(lines) }

    /// Applies an output of the node.
    package mutating func take(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            switch output {
            case .event(let timed): model.tell(timed)
            case .waited(let timed): model.take(waited: timed)
            case .own(let message): model.take(message)
            case .user(let user): model.take(user)
            case .answer(let answer, let request): model.take(answer, to: request)
            case .ended(let why): model.ended(why)
            }
        }
    }

    /// Bytes came from the keyboard; for a screen.
    package mutating func take(bytes: some Sequence<UInt8>, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            let keys = model.keyboard.decode(bytes, at: moment.steady)
            guard model.isRunning else { return model.pressAtEnd(keys) }
            guard !model.isEnd(keys) else { return model.end() }
            model.keyboard.add(keys)
            model.proceed()
        }
    }

    /// A line was entered; where the terminal edits its lines itself.
    package mutating func take(line: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            guard model.isRunning, line.contains(where: { !$0.isWhitespace }) else { return }
            model.keyboard.enter(line)
            model.proceed()
        }
    }

    /// Sends a message for a pipe, even while peers may not have been found yet.
    mutating func send(_ text: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.ask(.send(text, chat: $0.firstChat.name), for: .send) }
    }

    /// Forgets a message that could not be sent, whose outcome the caller handles.
    mutating func forget(_ request: ServiceRequest) { _ = pending.take(request, at: moment.steady) }

    /// The program itself has something to say, such as a line of its log.
    package mutating func take(notice: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.show([ChatLines.notice(notice)]) }
    }

    /// A line of the input can't be sent.
    ///
    /// - Parameter reason: such as "line 7 is not UTF-8".
    package mutating func take(badLine reason: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.show([ChatLines.error(reason)]) }
    }

    /// Time has passed: the time of `nextTick` has come.
    package mutating func tick(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            switch model.phase {
            case .running: model.tickRunning()
            case .ending(let since): if since + Self.patience <= moment.steady { model.conclude() }
            case .over: break
            }
        }
    }

    /// The terminal has another width.
    package mutating func resize(columns: Int, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.columns = columns }
    }

    /// The program is about to be stopped.
    package mutating func willSuspend(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            for index in model.states.indices { model.states[index].willSuspend() }
            model.returnedAt = nil
            if model.display.outlivesNode { model.detachQuietly() }
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
            case .running: model.end()
            case .ending(let since): if moment.steady - since > Self.echo { model.conclude() }
            case .over: break
            }
        }
    }

    // MARK: Queries

    /// When to call `tick(at:)`, in milliseconds of the steady clock; `nil` if never.
    package var nextTick: Int64? {
        switch phase {
        case .running:
            let due = states.indices.compactMap { states[$0].nextDeadline(isSeen: $0 == openIndex) }
            let answers = display.outlivesNode ? pending.nextDeadline : nil
            let times = [aloneAt, minuteAt, returnedAt, readAt, answers, keyboard.nextDeadline]
            return (due + (times + [nextDots]).compactMap { $0 }).min()
        case .ending(let since): return since + Self.patience
        case .over: return nil
        }
    }

    /// Whether input is still taken.
    package var isRunning: Bool {
        if case .running = phase { true } else { false }
    }

    /// Whether all that was sent is answered for, once it is over.
    package var isAnswered: Bool {
        if case .over(let isAnswered) = phase { isAnswered } else { false }
    }

    package var hasUnanswered: Bool { pending.hasMessages || states.contains(where: \.hasUnanswered) }
    package var anybodyOnline: Bool { states.contains(where: \.anybodyOnline) }
    /// Whether anybody has been online since the start.
    package var metAnybody: Bool { states.contains(where: \.metAnybody) }
    /// How many deliveries and failures were reported.
    package var answers: Int { states.reduce(0) { $0 + $1.answers } }
    /// How many messages were not delivered to anybody at all.
    package var lostMessages: Int { states.reduce(0) { $0 + $1.lostMessages } }

    /// The input field; each chat has a draft of its own.
    package var editor: LineEditor { keyboard.editor }

    /// The indicator with its dots, or nil when nobody is typing.
    package var indicator: String? {
        let text = typists
        return text.isEmpty ? nil : text + IndicatorText.dots(step: dots.step, reducedMotion: display.reducedMotion)
    }

    /// How the indicator shows.
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
        let unread = states.map {
            Prompt.Unread(chat: $0.chat.name, isOpen: $0.chat.isOpen, count: $0.unread)
        }
        return Prompt(
            chat: open.chat.name, isOpen: open.chat.isOpen, other: open.other(now: moment.wall), unread: unread,
            isAway: isAway
        ).text(columns: columns)
    }

    /// The indicator of the open chat, without dots; empty when nobody is typing.
    var typists: String { open?.indicator(display.indicator) ?? "" }

    private var nextDots: Int64? {
        display.form == .screen ? dots.nextDeadline(reducedMotion: display.reducedMotion) : nil
    }

    var open: ChatState? { openIndex.map { states[$0] } }
    var page: Page? { display.folds ? Page(columns: columns, showsTimes: display.showsTimes) : nil }
    var localTime: LocalTime { texts.localTime(moment.wall) }
    func index(of chat: String) -> Int? { states.firstIndex { $0.chat.name == chat } }

    // MARK: Effects

    /// Applies an input, and returns the effects.
    mutating func reacting(at moment: Moment, _ body: (inout ChatModel) -> Void) -> [ChatEffect] {
        if case .over = phase { return [] }
        self.moment = moment
        body(&self)
        if case .ending = phase, !hasUnanswered { conclude() }
        dots.follow(isShown: !typists.isEmpty, at: moment.steady)
        defer { effects = [] }
        // Nothing is drawn before the first chat, nor after the end.
        if case .over = phase { return effects }
        if pending.isStarting { return effects }
        return display.form == .screen && !isDrawn ? effects + [.draw] : effects
    }

    /// Whether the effects so far draw the screen as it is now.
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

    /// Asks for something whose answer does not matter.
    mutating func ask(_ request: ServiceRequest) {
        if !isDetached { emit(.ask(request)) }
    }

    mutating func ask(_ request: ServiceRequest, for purpose: PendingAnswers.Purpose) {
        guard !isDetached else { return refuse(request) }
        pending.add(request, for: purpose, at: moment.steady)
        emit(.ask(request))
    }

    /// Shows lines.
    ///
    /// - Parameter isAnswer: whether they answer a command: they need no time.
    mutating func show(_ lines: [Line], isAnswer: Bool = false) {
        guard !lines.isEmpty else { return }
        emit(.show(isAnswer || !display.showsTimes ? lines : timeline.stamped(lines, at: localTime)))
    }

    /// Shows lines of another time than now.
    mutating func show(_ lines: [Line], at time: LocalTime) {
        guard !lines.isEmpty else { return }
        emit(.show(display.showsTimes ? timeline.stamped(lines, at: time) : lines))
    }

    mutating func answer(_ lines: [Line]) { show(lines, isAnswer: true) }
    mutating func answer(_ line: Line) { show([line], isAnswer: true) }

    /// The terminal rings, but not all the time.
    mutating func ring() {
        guard silentUntil.map({ $0 <= moment.steady }) ?? true else { return }
        silentUntil = moment.steady + Self.bellInterval
        emit(.bell)
    }

    /// Lines of a chat that is not open wait until it is; at the end they are shown with its name.
    ///
    /// - Parameter isMessage: whether a message is among them, or was folded: one more is unread.
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

    /// Those who were there have a moment to come back.
    mutating func awaitReturns() { returnedAt = moment.steady + Self.returnWait }

    /// Another node is in the place of the one before, or the same once more.
    mutating func take(_ identity: NodeIdentity) {
        self.identity = identity
        rename(identity.name)
    }

    /// Others know this user by another name from now on.
    mutating func rename(_ name: String) {
        identity.name = name
        for index in states.indices { states[index].rename(name) }
    }
}
