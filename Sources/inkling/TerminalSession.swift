import Foundation
import Inkling
import InklingConsole

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

    private let context: SessionContext
    private var node: Node { context.node }
    private var state: ChatState
    private var screen: Screen
    private var decoder = KeyDecoder()
    private var editor = LineEditor()
    private var quitting = false
    /// Which dots show, and which run of them the next step belongs to.
    private var step = 0
    private var dotsRun = 0
    private var escapeRun = 0

    init(_ context: SessionContext) {
        self.context = context
        state = ChatState(context.settings, ownName: context.node.name)
        let size = Terminal.size()
        screen = Screen(columns: size.columns, rows: size.rows, decorated: context.settings.decorated)
    }

    func run() async -> Int32 {
        Terminal.prepare()
        takeTerminal()
        draw(state.greeting)
        var happenings = context.happenings.stream.makeAsyncIterator()
        while !quitting, let happening = await happenings.next() { await handle(happening) }
        giveTerminalBack()
        await node.stop()
        return 0
    }

    private func handle(_ happening: Happening) async {
        switch happening {
        case .input(let bytes):
            await press(decoder.feed(bytes))
            context.input.proceed()
            escapeRun += 1
            if decoder.isWaiting { context.happenings.after(Self.escapeWait, .escape(escapeRun)) }
            if decoder.isPasting { context.happenings.after(Self.pasteWait, .escape(escapeRun)) }
        case .time(.escape(escapeRun)): await press(decoder.isPasting ? decoder.endPaste() : decoder.flush())
        case .time(.dots(dotsRun)):
            step += 1
            draw()
            context.happenings.after(Self.dotsStep, .dots(dotsRun))
        case .time(.returned): draw(state.returned())
        case .node(let event):
            context.happenings.dealtWithEvent()
            tell(event.event)
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
            screen.resize(columns: size.columns, rows: size.rows)
            draw()
        default: quitting = quitting || SignalWatch.ending.contains(number)
        }
    }

    private func tell(_ event: Event) {
        let before = state.indicator
        let lines = state.take(event)
        if state.indicator.isEmpty {
            dotsRun += 1
        } else if before.isEmpty {
            step = 0
            dotsRun += 1
            if !context.settings.reducedMotion { context.happenings.after(Self.dotsStep, .dots(dotsRun)) }
        }
        draw(lines)
    }

    private func press(_ keys: [Key]) async {
        let keys = Self.joined(keys)
        for (index, key) in keys.enumerated() where !quitting {
            switch editor.handle(key) {
            case .nothing, .complete, .openChat: break
            case .edited: await edited(isLast: index == keys.count - 1)
            case .submit(let line): await enter(line)
            case .interrupt, .endOfInput: quitting = true
            case .suspend: await suspend(wholeJob: true)
            case .redraw: write(screen.clear())
            case .refused: write([0x07])
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
        await node.compose(editor.text, in: state.chat.name)
    }

    private func enter(_ line: String) async {
        let command = PromptCommand(line)
        if case .message(let text) = command { return await send(text) }
        await node.compose("", in: state.chat.name)
        switch command {
        case .message: break
        case .who: draw(state.who(await node.peers(in: state.chat.name)))
        case .help: draw(PromptCommand.descriptions.map { ChatLines.notice($0) })
        case .quit: quitting = true
        case .misused, .unknown: draw([ChatLines.error(command.complaint ?? "")])
        case .whois, .verify, .join, .leave, .open, .chats, .invite, .away, .back, .block, .unblock:
            draw([ChatLines.error("This command is not there yet")])
        }
    }

    private func send(_ text: String) async {
        do {
            let (number, recipients) = try await node.send(text, to: state.chat.name)
            draw(state.takeSent(text, number: number, recipients: recipients, shown: true))
        } catch {
            // Nothing was sent: the text can be fetched back with the up key.
            await node.compose("", in: state.chat.name)
            draw([ChatLines.error(error.description)])
        }
    }

    private func suspend(wholeJob: Bool) async {
        state.willSuspend()
        giveTerminalBack()
        await context.suspendProgram(wholeJob: wholeJob)
        context.happenings.after(Self.returnWait, .returned)
        takeTerminal()
        let size = Terminal.size()
        screen.resize(columns: size.columns, rows: size.rows)
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

    private func draw(_ lines: [Line] = []) {
        var indicator: String?
        if !state.indicator.isEmpty {
            indicator =
                state.indicator + IndicatorText.dots(step: step, reducedMotion: context.settings.reducedMotion)
        }
        write(screen.draw(appending: lines, indicator: indicator, prompt: state.prompt, editor: editor))
    }

    private func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        // A terminal that is gone says so by the end of input as well.
        Output.standard.write(bytes)
    }
}
