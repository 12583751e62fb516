import Foundation
import Inkling
import InklingConsole
import InklingControl
import InklingText

/// Whole lines, without cursor movement, colour or animation. Standard input is a terminal that edits its own
/// lines, or else each of its lines is a message.
@MainActor
final class PlainSession {
    /// Whoever is there is found within this time.
    private static let settling = Duration.milliseconds(Int(ChatState.settling))
    private static let returnWait = Duration.seconds(5)
    private static let longestWaitForPeer = Duration.seconds(5)
    private static let longestWaitForDelivery = Duration.seconds(10)

    private let context: SessionContext
    private var node: Node { context.node }
    private let chats: ChatController
    private var dueRun = 0
    private var scheduledDue: Int64?
    private var returnRun = 0
    private var splitter = LineSplitter()
    private let isInteractive = isatty(STDIN_FILENO) == 1
    private let wraps = isatty(STDOUT_FILENO) == 1
    private var shownIndicator = ""
    private var quitting = false
    private var status: Int32 = 0

    // For input that is not a terminal.
    private var waiting: [String] = []
    private var maySend = false
    private var isSettled = false
    /// Chunks of input whose lines still wait: no more is read than was sent.
    private var heldChunks = 0
    private var inputEnded = false
    private var deliveryTimed = false
    private var answersBefore = 0
    private var retryTimed = false

    init(_ context: SessionContext) {
        self.context = context
        // Whoever reads a file or a pipe, or can't ask for the rest, gets everything.
        let folds = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
        chats = ChatController(
            context, showsOwn: isatty(STDIN_FILENO) != 1, showsTimes: false,
            columns: folds ? { Terminal.size().columns } : nil)
    }

    func run() async -> Int32 {
        let greeting = await chats.begin()
        if isInteractive {
            show(greeting)
            context.queue.after(.seconds(4), .alone)
        } else {
            let chat = context.settings.chat
            if chat.isOpen { show([ChatLines.openWarning(chat: chat.name)]) }
            context.queue.after(Self.settling, .settled)
            context.queue.after(Self.longestWaitForPeer, .firstPeer)
        }
        var events = context.queue.stream.makeAsyncIterator()
        while !quitting, let event = await events.next() {
            await handle(event)
            if !isInteractive { await pump() }
            scheduleDue()
        }
        let isAnswered = await context.finish(chats, &events, show: show)
        // Ended by a signal, with lines of the input left, or by its end, with lines that nobody has.
        if !isInteractive, !isAnswered || !waiting.isEmpty || chats.lostMessages > 0 { status = 1 }
        await context.end()
        return status
    }

    private func handle(_ event: SessionEvent) async {
        switch event {
        case .input(let bytes):
            for piece in splitter.feed(bytes) where !quitting { await take(piece) }
            heldChunks += 1
            if isInteractive { releaseInput() }
        case .endOfInput:
            if let piece = splitter.finish() { await take(piece) }
            inputEnded = true
            if isInteractive { quitting = true }
        case .signal(SIGTSTP):
            chats.willSuspend()
            returnRun += 1
            guard await context.suspendProgram(wholeJob: false) else { return quitting = true }
            context.queue.after(Self.returnWait, .returned(returnRun))
        case .time(.returned(returnRun)): show(chats.returned())
        case .time(.settled): isSettled = true
        case .signal(let number): quitting = quitting || SignalWatch.ending.contains(number)
        case .node(let event): await tell(event)
        case .nodeEnded: quitting = true
        case .time(.firstPeer): allowSending()
        case .time(.delivery): giveUp()
        case .time(.retry): retryTimed = false
        case .time(.due(dueRun)):
            scheduledDue = nil
            show(await chats.due())
        case .time(.alone): show(chats.alone())
        case .time, .log: break
        }
    }

    private func take(_ piece: LineSplitter.Piece) async {
        switch piece {
        case .tooLong(let number): fail("line \(number) is too long for a message")
        case .line(let bytes, let number):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                return fail("line \(number) is not UTF-8")
            }
            guard text.contains(where: { !$0.isWhitespace }) else { return }
            if isInteractive { await enter(text) } else { waiting.append(text) }
        }
    }

    private func enter(_ line: String) async {
        let command = PromptCommand(line)
        if case .message(let text) = command {
            _ = await send(text)
            return
        }
        show(await chats.perform(command))
        quitting = quitting || chats.isQuitting
    }

    private func scheduleDue() {
        guard let due = chats.nextDeadline, scheduledDue.map({ due < $0 }) ?? true else { return }
        scheduledDue = due
        dueRun += 1
        context.queue.after(.milliseconds(max(due - ChatController.now, 0)), .due(dueRun))
    }

    /// `false`: what is queued has to go out first.
    private func send(_ text: String) async -> Bool {
        let (lines, error) = await chats.send(text)
        if let error {
            if case .queueFull = error, !isInteractive { return false }
            fail(error.text)
        } else {
            show(lines)
        }
        return true
    }

    /// Sends the lines that wait, and leaves once all that was sent is answered for.
    private func pump() async {
        if !maySend && isSettled && chats.anybodyOnline { allowSending() }
        guard maySend, !retryTimed, !quitting else { return }
        var sent = 0
        for text in waiting {
            guard await send(text) else { break }
            sent += 1
        }
        waiting.removeFirst(sent)
        guard waiting.isEmpty else {
            retryTimed = true
            context.queue.after(.milliseconds(50), .retry)
            return
        }
        releaseInput()
        guard inputEnded else { return }
        if !chats.hasUnanswered {
            finish()
        } else if !deliveryTimed {
            awaitDelivery()
        }
    }

    private func releaseInput() {
        for _ in 0..<heldChunks { context.input.proceed() }
        heldChunks = 0
    }

    private func allowSending() {
        guard !maySend, !isInteractive else { return }
        maySend = true
        if !chats.metAnybody {
            Output.error.write(line: "inkling: nobody else is in the chat; messages reach only people who are online")
        }
    }

    private func awaitDelivery() {
        deliveryTimed = true
        answersBefore = chats.answers
        context.queue.after(Self.longestWaitForDelivery, .delivery)
    }

    /// As long as answers come there is something to wait for.
    private func giveUp() {
        guard chats.answers == answersBefore else { return awaitDelivery() }
        Output.error.write(line: "inkling: delivery of some messages is unknown")
        status = 1
        quitting = true
    }

    private func finish() {
        if chats.lostMessages > 0 || !chats.metAnybody { status = 1 }
        quitting = true
    }

    private func tell(_ timed: TimedEvent) async {
        let lines = await chats.take(timed.event)
        // The end of an indicator is not reported: readers expect silence then.
        if chats.indicator != shownIndicator {
            shownIndicator = chats.indicator
            if !shownIndicator.isEmpty { show([ChatLines.notice(shownIndicator)]) }
        }
        show(lines)
    }

    private func fail(_ text: String) {
        if isInteractive {
            show([ChatLines.error(text)])
        } else {
            Output.error.write(line: "inkling: " + SafeText.line(text))
            status = 1
        }
    }

    private func show(_ lines: [Line]) {
        for line in lines {
            // On a terminal rows are cut here, so that no row of a message can pass for a line of its own.
            let text = wraps ? line.plainRows(columns: Terminal.size().columns).joined(separator: "\n") : line.plain
            if !Output.standard.write(line: text) { quitting = true }
        }
    }
}
