import Foundation
import Inkling
import InklingConsole
import InklingText

/// The prompt: messages scroll by, below them who is typing, and below that the input.
@MainActor
final class TerminalSession {
    private static let dotsStep = Duration.milliseconds(500)
    /// How long an Escape waits for the rest of a key's sequence.
    private static let escapeWait = Duration.milliseconds(50)
    /// How long a paste waits for its next bytes, should its end never come.
    private static let pasteWait = Duration.seconds(1)
    /// How long those who were there may take to come back after a stop.
    private static let returnWait = Duration.seconds(5)
    /// How long one is alone before it is said what to do about it.
    private static let aloneTime = Duration.seconds(4)
    private static let minute = Duration.seconds(60)

    private let context: SessionContext
    private var node: Node { context.node }
    private let chats: ChatController
    private var timeline = Timeline()
    private var completion = Completion()
    private var screen: Screen
    private var decoder = KeyDecoder()
    private var quitting = false
    /// Which dots show, and which run of them the next step belongs to.
    private var step = 0
    private var dotsRun = 0
    private var escapeRun = 0
    private var dueRun = 0
    private var scheduledDue: Int64?
    private var returnRun = 0
    /// Not any more, if the program was told to end while another job had the terminal.
    private var hasTerminal = true
    private var columns: Int
    /// Since when the indicator shows.
    private var appeared: ContinuousClock.Instant?

    init(_ context: SessionContext) {
        self.context = context
        chats = ChatController(context, showsOwn: true, showsTimes: true) { Terminal.size().columns }
        let size = Terminal.size()
        columns = size.columns
        screen = Screen(columns: size.columns, rows: size.rows, decorated: context.settings.decorated)
    }

    func run() async -> Int32 {
        Terminal.prepare()
        takeTerminal()
        draw(await chats.begin())
        context.queue.after(Self.aloneTime, .alone)
        context.queue.after(Self.minute, .minute)
        var events = context.queue.stream.makeAsyncIterator()
        while !quitting, let event = await events.next() {
            await handle(event)
            scheduleDue()
        }
        await context.finish(chats, &events, show: showLast)
        if hasTerminal { giveTerminalBack() }
        await context.end()
        return 0
    }

    private func showLast(_ lines: [Line]) {
        guard !lines.isEmpty else { return }
        if hasTerminal { return draw(lines) }
        // Another job has the terminal, and its own way of writing: whole lines are what it can bear.
        for line in lines {
            Output.standard.write(line: line.plainRows(columns: columns).joined(separator: "\n"))
        }
    }

    private func handle(_ event: SessionEvent) async {
        switch event {
        case .input(let bytes):
            await press(decoder.feed(bytes))
            context.input.proceed()
            escapeRun += 1
            if decoder.isWaiting { context.queue.after(Self.escapeWait, .escape(escapeRun)) }
            if decoder.isPasting { context.queue.after(Self.pasteWait, .escape(escapeRun)) }
        case .time(.escape(escapeRun)): await press(decoder.isPasting ? decoder.endPaste() : decoder.flush())
        case .time(.dots(dotsRun)):
            step += 1
            draw()
            context.queue.after(Self.dotsStep, .dots(dotsRun))
        case .time(.appeared): draw()
        case .time(.returned(returnRun)): draw(chats.returned())
        case .time(.alone): draw(chats.alone())
        case .time(.minute):
            // How long ago somebody was here is shown in minutes.
            draw()
            context.queue.after(Self.minute, .minute)
        case .time(.due(dueRun)):
            scheduledDue = nil
            draw(await chats.due())
        case .node(let event): await tell(event.event)
        case .log(let text): draw([ChatLines.notice(text)])
        case .endOfInput, .nodeEnded: quitting = true
        case .signal(let number): await take(signal: number)
        case .time: break
        }
    }

    private func take(signal number: Int32) async {
        switch number {
        case SIGTSTP: await suspend(wholeJob: false)
        case SIGCONT:
            // Also after a stop that could not be foreseen.
            takeTerminal()
            screen.forget()
            draw()
        case SIGWINCH:
            let size = Terminal.size()
            resize(size)
            draw()
        default: quitting = quitting || SignalWatch.ending.contains(number)
        }
    }

    private func tell(_ event: Event) async {
        let lines = await chats.take(event)
        draw(lines)
    }

    /// The dots start again with each new indicator, and end with it.
    private func followIndicator() {
        if chats.indicator.isEmpty {
            if appeared != nil { dotsRun += 1 }
            appeared = nil
        } else if appeared == nil {
            appeared = .now
            step = 0
            dotsRun += 1
            guard !context.settings.reducedMotion else { return }
            context.queue.after(Self.dotsStep, .dots(dotsRun))
            context.queue.after(IndicatorText.appearance, .appeared)
        }
    }

    private func scheduleDue() {
        guard let due = chats.nextDeadline, scheduledDue.map({ due < $0 }) ?? true else { return }
        scheduledDue = due
        dueRun += 1
        context.queue.after(.milliseconds(max(due - ChatController.now, 0)), .due(dueRun))
    }

    private func resize(_ size: (columns: Int, rows: Int)) {
        columns = size.columns
        screen.resize(columns: size.columns, rows: size.rows)
    }

    private func press(_ keys: [Key]) async {
        let keys = Self.joined(keys)
        for (index, key) in keys.enumerated() where !quitting {
            switch chats.editor.handle(key) {
            case .nothing: break
            case .complete: await complete()
            case .openChat(let number): draw(await chats.open(number: number), isAnswer: true)
            case .edited: await edited(isLast: index == keys.count - 1)
            case .submit(let line): await enter(line)
            case .interrupt, .endOfInput: quitting = true
            case .suspend: await suspend(wholeJob: true)
            case .redraw: write(screen.clear())
            case .refused: write([0x07])
            case .full: draw([ChatLines.full()], isAnswer: true)
            }
        }
        if !quitting { draw() }
    }

    /// What came in one piece without the marks of a paste is inserted as one.
    private static func joined(_ keys: [Key]) -> [Key] {
        var joined: [Key] = []
        var run = String.UnicodeScalarView()
        func close() {
            if let only = run.first, run.count == 1 { joined.append(.text(only)) }
            if run.count > 1 { joined.append(.paste(String(run))) }
            run = String.UnicodeScalarView()
        }
        for key in keys {
            if case .text(let scalar) = key {
                run.append(scalar)
            } else {
                close()
                joined.append(key)
            }
        }
        close()
        return joined
    }

    /// The echo comes first; telling others never holds it up.
    private func edited(isLast: Bool) async {
        if isLast { draw() }
        await chats.compose(chats.editor.text)
    }

    private func complete() async {
        let candidates = chats.candidates
        switch completion.complete(&chats.editor, among: candidates) {
        case .completed: await edited(isLast: true)
        case .choices(let texts): draw([ChatLines.choices(texts)], isAnswer: true)
        case .nothing: write([0x07])
        }
    }

    private func enter(_ line: String) async {
        let command = PromptCommand(line)
        if case .message(let text) = command { return draw(await chats.send(text).lines) }
        await chats.compose("")
        draw(await chats.perform(command), isAnswer: true)
        quitting = quitting || chats.isQuitting
    }

    private func suspend(wholeJob: Bool) async {
        chats.willSuspend()
        returnRun += 1
        giveTerminalBack()
        guard await context.suspendProgram(wholeJob: wholeJob) else {
            (hasTerminal, quitting) = (false, true)
            // Where terminals stop whoever writes from the background, it would never end.
            signal(SIGTTOU, SIG_IGN)
            return
        }
        context.queue.after(Self.returnWait, .returned(returnRun))
        takeTerminal()
        resize(Terminal.size())
        draw()
    }

    private func takeTerminal() {
        Terminal.take()
        write(Array(Screen.begin.utf8))
    }

    private func giveTerminalBack() {
        write(screen.leave())
        Terminal.giveBack()
    }

    /// - Parameter isAnswer: Whether the lines answer a command: they need no time.
    private func draw(_ lines: [Line] = [], isAnswer: Bool = false) {
        guard hasTerminal else { return }
        followIndicator()
        var indicator: String?
        if !chats.indicator.isEmpty {
            indicator = chats.indicator + IndicatorText.dots(step: step, reducedMotion: context.settings.reducedMotion)
        }
        let emphasis = IndicatorText.emphasis(
            age: appeared.map { .now - $0 } ?? .zero, decorated: context.settings.decorated,
            reducedMotion: context.settings.reducedMotion)
        write(
            screen.draw(
                appending: isAnswer
                    ? lines : timeline.stamped(lines, at: LocalTime(Date().timeIntervalSince1970)),
                indicator: indicator, emphasis: emphasis, prompt: chats.prompt(columns: columns), editor: chats.editor))
    }

    private func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        // A terminal that is gone says so by the end of input as well.
        Output.standard.write(bytes)
    }
}
