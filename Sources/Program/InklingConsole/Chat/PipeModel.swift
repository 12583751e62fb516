import InklingModel
import InklingText

/// A chat whose input is a pipe or a file. Each line is a message. The model waits until the node may have found all
/// peers, sends the lines, and ends when all messages have outcomes.
package struct PipeModel: LineInputModel, Sendable {
    /// The time in which a node finds the peers who are present.
    private static let settling = ChatState.settling
    /// The longest wait for the first person.
    private static let longestWaitForPeer: Int64 = 5_000
    /// The longest wait for the next outcome after the end of the input.
    private static let longestWaitForDelivery: Int64 = 10_000
    /// The time after which the model retries a message for which the queue was full.
    private static let retryWait: Int64 = 50

    private var chat: ChatModel
    private var phase: Phase
    /// Lines that the model has not sent yet.
    private var waiting: ArraySlice<String> = []
    private var inputEnded = false
    private var hasFailed = false
    private var effects: [ChatEffect] = []

    private enum Phase {
        /// The node may still find further peers.
        case settling(since: Int64)
        /// The next line can be sent.
        case sending
        /// The first line is being sent, with an unknown outcome.
        case asking
        /// Earlier messages have to leave the queue first.
        case retrying(at: Int64)
        /// All lines are sent. `answers` is the number of outcomes when the wait began.
        case awaitingAnswers(until: Int64, answers: Int)
        /// The session is ending.
        case ending
    }

    /// Makes a model before the session begins.
    ///
    /// - Parameters:
    ///   - chat: the chat to send to.
    ///   - columns: the width of the output if it is a terminal.
    package init(
        _ chat: Chat, identity: NodeIdentity, display: ChatDisplay, texts: ChatTexts, columns: Int, at moment: Moment
    ) {
        self.chat = ChatModel(
            chat, identity: identity, display: display, texts: texts, columns: columns, at: moment)
        phase = .settling(since: moment.steady)
    }

    // MARK: Inputs

    /// Begins the session: joins the chat, even if the node is in it already.
    package mutating func begin(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.effects += $0.chat.begin(at: moment) }
    }

    /// Records the node's next ID, before the program performs ``ChatEffect/ask(_:)``.
    package mutating func assign(_ id: RequestID) { chat.assign(id) }

    /// Receives an output of the node.
    package mutating func receive(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            if case .answer(let answer, let id) = output, case .asking = model.phase, model.chat.pending.isMessage(id) {
                model.receive(answer, to: id, at: moment)
            } else {
                model.effects += model.chat.receive(output, at: moment)
            }
        }
    }

    /// Receives a line of the input.
    package mutating func receive(line: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            if line.contains(where: { !$0.isWhitespace }) { model.waiting.append(line) }
        }
    }

    /// Reports a line of the input that can't be sent.
    ///
    /// - Parameter reason: the reason, such as "line 7 is not UTF-8".
    package mutating func report(badLine reason: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.fail(reason) }
    }

    /// Handles the end of the input.
    package mutating func endOfInput(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.inputEnded = true }
    }

    /// Ends the session, because the output can't be written any more. If the input has not ended, the session has
    /// failed: the unread rest reaches nobody.
    package mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            if !model.inputEnded { model.fail(reason) }
            model.finishChat(at: moment)
        }
    }

    /// Applies the passing of time. The program calls this at `nextTick`.
    package mutating func tick(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.effects += $0.chat.tick(at: moment) }
    }

    /// Sets another width of the terminal that shows the output.
    package mutating func resize(columns: Int, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.effects += $0.chat.resize(columns: columns, at: moment) }
    }

    /// Prepares for a stop of the program.
    package mutating func willSuspend(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.effects += $0.chat.willSuspend(at: moment) }
    }

    /// Resumes after a stop of the program.
    package mutating func resumed(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.effects += $0.chat.resumed(at: moment) }
    }

    /// Does nothing, because the session ends when it loses the node.
    package mutating func reattached(
        _ identity: NodeIdentity, in place: NodePlace?, at moment: Moment
    ) -> [ChatEffect] { [] }

    /// Ends the session before the input has ended, because of a signal.
    package mutating func finish(at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { $0.finishChat(at: moment) }
    }

    // MARK: Queries

    /// Whether to read more of the input. The lines so far must be sent first.
    package var wantsInput: Bool {
        guard waiting.isEmpty, chat.isRunning else { return false }
        switch phase {
        case .settling, .sending: return true
        case .asking, .retrying, .awaitingAnswers, .ending: return false
        }
    }

    /// The time of the next `tick(at:)`, in milliseconds of the steady clock; `nil` for none.
    package var nextTick: Int64? {
        let own: Int64? =
            switch phase {
            case .settling(let since):
                chat.anybodyOnline ? since + Self.settling : since + Self.longestWaitForPeer
            case .retrying(let time): time
            case .awaitingAnswers(let time, _): time
            case .sending, .asking, .ending: nil
            }
        return [own, chat.nextTick].compactMap { $0 }.min()
    }

    /// The exit status of the program after the session: 0 if each line that was read reached somebody.
    package var exitStatus: Int32 {
        hasFailed || !chat.isAnswered || !waiting.isEmpty || chat.lostMessages > 0 ? 1 : 0
    }

    // MARK: Sending

    private mutating func reacting(at moment: Moment, _ body: (inout PipeModel) -> Void) -> [ChatEffect] {
        body(&self)
        if chat.isRunning { proceed(at: moment) }
        defer { effects = [] }
        return effects
    }

    private mutating func proceed(at moment: Moment) {
        switch phase {
        case .settling(let since):
            let isSettled = moment.steady >= since + Self.settling && chat.anybodyOnline
            guard isSettled || moment.steady >= since + Self.longestWaitForPeer else { return }
            if !chat.metAnybody {
                // A daemon keeps the messages of a private chat.
                let reach = chat.open?.chat.isOpen == false ? "" : "; messages reach only people who are online"
                effects.append(.complain("nobody else is in the chat\(reach)"))
            }
            phase = .sending
            sendNext(at: moment)
        case .sending: sendNext(at: moment)
        case .retrying(let time): if time <= moment.steady { sendNext(at: moment) }
        case .awaitingAnswers(let time, let answers):
            if !chat.hasUnanswered {
                allAnswered(at: moment)
            } else if time <= moment.steady {
                giveUp(at: moment, unlessMoreThan: answers)
            }
        case .asking, .ending: break
        }
    }

    private mutating func sendNext(at moment: Moment) {
        guard let text = waiting.first else {
            phase = .sending
            guard inputEnded else { return }
            return chat.hasUnanswered ? awaitAnswers(at: moment) : allAnswered(at: moment)
        }
        phase = .asking
        effects += chat.send(text, at: moment)
    }

    private mutating func receive(_ answer: ServiceAnswer, to id: RequestID, at moment: Moment) {
        phase = .sending
        switch answer {
        case .failed(.queueFull):
            chat.forget(id)
            phase = .retrying(at: moment.steady + Self.retryWait)
            return
        case .failed(let error):
            chat.forget(id)
            effects += chat.emptyField(at: moment)
            fail(chat.texts.error(error))
        default: effects += chat.receive(.answer(answer, to: id), at: moment)
        }
        waiting.removeFirst()
    }

    private mutating func awaitAnswers(at moment: Moment) {
        phase = .awaitingAnswers(until: moment.steady + Self.longestWaitForDelivery, answers: chat.answers)
    }

    /// Ends the wait if no further outcome has come.
    private mutating func giveUp(at moment: Moment, unlessMoreThan answers: Int) {
        guard chat.answers == answers else { return awaitAnswers(at: moment) }
        fail("delivery of some messages is unknown")
        finishChat(at: moment)
    }

    private mutating func allAnswered(at moment: Moment) {
        // The session fails even without a sent line, because no person was there.
        if !chat.metAnybody { hasFailed = true }
        finishChat(at: moment)
    }

    private mutating func finishChat(at moment: Moment) {
        phase = .ending
        effects += chat.finish(at: moment)
    }

    private mutating func fail(_ text: String) {
        hasFailed = true
        effects.append(.complain(SafeText.line(text)))
    }
}

/// A chat whose input comes in lines, from a pipe, a file, or a terminal that edits them itself. The output is in whole
/// lines as well.
package protocol LineInputModel {
    init(
        _ chat: Chat, identity: NodeIdentity, display: ChatDisplay, texts: ChatTexts, columns: Int, at moment: Moment)

    /// Begins the session: joins the chat, even if the node is in it already.
    mutating func begin(at moment: Moment) -> [ChatEffect]
    /// Records the node's next ID, before the program performs ``ChatEffect/ask(_:)``.
    mutating func assign(_ id: RequestID)
    /// Receives an output of the node.
    mutating func receive(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect]
    /// Receives a line of the input.
    mutating func receive(line: String, at moment: Moment) -> [ChatEffect]
    /// Reports a line of the input that can't be sent.
    ///
    /// - Parameter reason: the reason, such as "line 7 is not UTF-8".
    mutating func report(badLine reason: String, at moment: Moment) -> [ChatEffect]
    /// Handles the end of the input.
    mutating func endOfInput(at moment: Moment) -> [ChatEffect]
    /// Handles an output that can't be written any more.
    ///
    /// - Parameter reason: the system's words for the cause.
    mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect]
    /// Applies the passing of time. The program calls this at ``nextTick``.
    mutating func tick(at moment: Moment) -> [ChatEffect]
    /// Sets another width of the terminal that shows the output.
    mutating func resize(columns: Int, at moment: Moment) -> [ChatEffect]
    /// Prepares for a stop of the program.
    mutating func willSuspend(at moment: Moment) -> [ChatEffect]
    /// Resumes after a stop of the program.
    mutating func resumed(at moment: Moment) -> [ChatEffect]
    /// Attaches to the same node again, or to its successor.
    mutating func reattached(_ identity: NodeIdentity, in place: NodePlace?, at moment: Moment) -> [ChatEffect]
    /// Ends the session before the input has ended.
    mutating func finish(at moment: Moment) -> [ChatEffect]

    /// The time of the next ``tick(at:)``, in milliseconds of the steady clock; `nil` for none.
    var nextTick: Int64? { get }
    /// Whether the program should read more of the input.
    var wantsInput: Bool { get }
    /// The exit status of the program after the session.
    var exitStatus: Int32 { get }
}

extension ChatModel: LineInputModel {
    package mutating func endOfInput(at moment: Moment) -> [ChatEffect] { finish(at: moment) }

    package mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect] { finish(at: moment) }

    package var wantsInput: Bool { isRunning }
    /// Success, because a person reads the outcomes on the screen.
    package var exitStatus: Int32 { 0 }
}

/// The user's messages that failed or reached nobody, to be sent again. The room is limited.
struct UnsentMessages: Sendable {
    /// The number of messages that are kept.
    static let messages = 50
    /// The total bytes of messages that are kept.
    static let bytes = 256 * 1_024

    private var texts: ArraySlice<String> = []
    private var total = 0

    var isEmpty: Bool { texts.isEmpty }

    mutating func add(_ text: String) {
        texts.append(text)
        total += text.utf8.count
        while texts.count > Self.messages || total > Self.bytes, let first = texts.popFirst() {
            total -= first.utf8.count
        }
    }

    /// Removes and returns all messages, in the order in which they failed.
    mutating func drain() -> [String] {
        defer { (texts, total) = ([], 0) }
        return Array(texts)
    }
}

/// The lines of messages that describe an action of their author, as in XEP-0245. Such messages begin with `/me`. Other
/// programs show them as sent.
extension ChatLines {
    private static let action = "/me "

    /// Returns the line of a message, or of an author's action: `Alice *waves*`.
    ///
    /// The line must not begin with a star, because notices do. Otherwise nobody could tell "* Bob is now verified"
    /// from the program's own notice.
    ///
    /// - Parameter own: the user's name, which is highlighted in the text.
    static func said(_ text: String, by label: Labels.Label, highlighting own: FoldedText? = nil) -> Line {
        let line =
            deed(in: text).map { deed in
                Line([
                    Line.Span(text: label.isolated, emphasis: .person(label.user)),
                    Line.Span(text: " *" + SafeText.message(deed) + "*", emphasis: .plain),
                ])
            } ?? message(from: label, text: text)
        return own.map { line.highlighting($0, from: 1) } ?? line
    }

    /// Returns the line of a message or action of this user.
    static func saidMyself(_ text: String, name: String, mark: String? = nil) -> Line {
        var line = own(text: text, mark: mark)
        if let deed = deed(in: text) {
            line.spans[0].text = NameIsolation.isolated(shown(name))
            line.spans[1].text = " *" + SafeText.message(deed) + "*"
        }
        return Line(line.spans)
    }

    /// Returns the message that describes an action of this user.
    static func message(ofDeed deed: String) -> String { action + deed }

    /// Returns the text of a message without the prefix of an action.
    static func spoken(_ text: String) -> String { deed(in: text) ?? text }

    /// Returns a message as one line of plain text, such as `Bob: hello` or `Bob *waves*`.
    ///
    /// - Parameters:
    ///   - label: the author's label.
    ///   - name: the author's label before an action, if different.
    package static func line(_ text: String, by label: String, orDoneBy name: String? = nil) -> String {
        if let deed = deed(in: text) { return "\(name ?? label) *\(SafeText.line(deed))*" }
        return "\(label): \(SafeText.line(text))"
    }

    /// Returns the action in a message, or nil.
    private static func deed(in text: String) -> String? {
        guard text.hasPrefix(action) else { return nil }
        let deed = text.dropFirst(action.count)
        return deed.contains { !$0.isWhitespace } ? String(deed) : nil
    }
}
