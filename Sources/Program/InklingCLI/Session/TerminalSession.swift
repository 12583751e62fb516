import ArgumentParser
import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText

/// The prompt: messages scroll above, then come the people who type, and the input below.
final class TerminalSession: Session {
    /// The most lines that wait while the terminal is blocked.
    private static let unseenLines = 1_000

    private let host: SessionHost
    private var model: ChatModel
    private var screen: Screen
    private var effects = EffectQueue()
    private var phase = Phase.drawing
    /// The lines that wait for the terminal.
    private var unseen: [Line] = []
    private var leftOut = 0
    /// The lines entered in earlier runs; nil if the program keeps none.
    private var entered: EnteredLines?
    private var mustDraw = false

    private enum Phase {
        case drawing
        /// The process is about to stop, or is stopped.
        case suspended
        /// A signal to end came while another job had the terminal.
        case withoutTerminal
    }

    init(_ host: SessionHost, identity: NodeIdentity, _ place: NodePlace) {
        self.host = host
        let size = Terminal.size()
        let node = host.settings.node
        let keepsLines = !node.isEphemeral && !identity.isTemporary
        entered = keepsLines ? node.stateDirectory.map { EnteredLines(in: $0) } : nil
        var display = host.settings.display(.screen, folds: true, place)
        display.explains = entered?.read.isEmpty == true
        model = ChatModel(
            host.settings.chat, identity: identity, display: display,
            texts: host.settings.texts(port: identity.port), columns: size.columns, at: host.now)
        screen = Screen(
            columns: size.columns, rows: size.rows, decorated: host.settings.decorated,
            isolatesNames: Terminal.knowsUTF8)
        model.recall(entered?.read ?? [])
    }

    func begin() {
        Terminal.prepare()
        acquireTerminal()
        perform(model.begin(at: host.now))
    }

    func receive(_ output: ServiceOutput) { perform(model.receive(output, at: host.now)) }
    func tick() { perform(model.tick(at: host.now)) }
    func reattached(_ identity: NodeIdentity, in place: NodePlace) {
        perform(model.reattached(identity, in: place, at: host.now))
    }
    func report(log: String) { perform(model.report(notice: log, at: host.now)) }
    func report(notice: String) { perform(model.report(notice: notice, at: host.now)) }
    func outputAbandoned() { perform(model.finish(at: host.now)) }

    func receive(_ piece: StandardInput.Piece) {
        switch piece {
        case .bytes(let bytes): perform(model.receive(bytes: bytes, at: host.now))
        case .end: perform(model.finish(at: host.now))
        }
    }

    func outputDrained() {
        guard mustDraw, case .drawing = phase else { return }
        let lines = (leftOut > 0 ? [ChatLines.notice("\(leftOut) earlier lines are left out")] : []) + unseen
        (unseen, leftOut) = ([], 0)
        draw(lines)
    }

    func receive(signal: Int32) {
        switch signal {
        case SIGTSTP: suspend(wholeJob: false)
        case SIGCONT:
            guard case .drawing = phase else { return }
            // This signal also follows a stop without warning (SIGSTOP).
            acquireTerminal()
            screen.forget()
            draw()
        case SIGWINCH: resize()
        case SIGINT, SIGTERM, SIGHUP: perform(model.finish(at: host.now))
        default: break
        }
    }

    var attachesAgain: Bool { model.display.isAttached }
    var nextTick: Int64? { model.nextTick }
    var wantsInput: Bool {
        if case .suspended = phase { false } else { true }
    }

    // MARK: Effects

    private func perform(_ new: [ChatEffect]) {
        guard effects.add(new) else { return }
        while let effect = effects.next() { perform(effect) }
    }

    private func perform(_ effect: ChatEffect) {
        switch effect {
        case .show(let lines): draw(lines)
        case .draw: draw()
        case .ask(let request): host.ask(request) { model.assign($0) }
        case .bell: write([0x07])
        case .keep(.line(let line)): entered?.add(line)
        case .keep(.name(let name)): host.keep(name: name)
        case .keep(.bell(let isOn)): host.keep(bell: isOn)
        case .keep(.autostart(let isOn)): host.keep(autostart: isOn)
        case .clearScreen: write(screen.clear())
        case .suspend: suspend(wholeJob: true)
        case .complain(let text): draw([ChatLines.error(text)])
        case .cannotStart(let error):
            releaseTerminal()
            Output.error.write(line: "inkling: " + SafeText.line(error.text))
            host.finish(status: 1)
        case .reattach: host.reattach()
        case .beginEnd: host.stopHoldingBack()
        case .end:
            if case .drawing = phase { releaseTerminal() }
            host.finish(status: 0)
        }
    }

    private func draw(_ lines: [Line] = []) {
        switch phase {
        case .suspended: return keep(lines)
        case .withoutTerminal:
            // Another job has the terminal. Only whole lines do not disturb that job.
            for line in lines {
                host.output.write(line: line.plainRows(columns: Terminal.size().columns).joined(separator: "\n"))
            }
            return
        case .drawing: break
        }
        guard !host.output.isFull || !model.isRunning else { return keep(lines) }
        mustDraw = false
        write(
            screen.draw(
                appending: lines, indicator: model.indicator, emphasis: model.emphasis, prompt: model.prompt,
                editor: model.editor))
    }

    private func keep(_ lines: [Line]) {
        mustDraw = true
        unseen += lines
        let excess = max(unseen.count - Self.unseenLines, 0)
        leftOut += excess
        unseen.removeFirst(excess)
    }

    private func write(_ bytes: [UInt8]) { host.output.write(bytes) }

    // MARK: The terminal

    private func resize() {
        let size = Terminal.size()
        screen.resize(columns: size.columns, rows: size.rows)
        perform(model.resize(columns: size.columns, at: host.now))
    }

    private func suspend(wholeJob: Bool) {
        guard case .drawing = phase else { return }
        perform(model.willSuspend(at: host.now))
        releaseTerminal()
        phase = .suspended
        host.suspend(wholeJob: wholeJob) { [unowned self] goesOn in
            guard goesOn else {
                phase = .withoutTerminal
                // A terminal with `tostop` would otherwise stop this process before its end.
                signal(SIGTTOU, SIG_IGN)
                return perform(model.finish(at: host.now))
            }
            phase = .drawing
            acquireTerminal()
            perform(model.resumed(at: host.now))
            resize()
            outputDrained()
        }
    }

    private func acquireTerminal() {
        Terminal.enterRawMode()
        write(Array(Screen.begin.utf8))
    }

    private func releaseTerminal() {
        write(screen.leave())
        Terminal.restoreModes()
    }
}

/// Asks a new user for a name, and keeps the answer.
enum DisplayNamePrompt {
    /// Asks for a name.
    ///
    /// - Parameters:
    ///   - proposal: the name that an empty answer means.
    ///   - path: the settings file, made if missing; nil to make none.
    ///   - directory: the directory that keeps the last chat's name; nil for none.
    /// - Returns: a valid name for a node.
    /// - Throws: the status of an interrupted program at the end of the input, and success after /quit.
    static func ask(proposal: String, keepingIn path: String?, beside directory: String?) throws -> String {
        let shown = ChatLines.shown(proposal)
        while true {
            Output.standard.write(Array("Your name, as others will see it: [\(shown)] ".utf8))
            guard let line = readLine() else {
                Output.standard.write(line: "")
                throw ExitCode(128 + SIGINT)
            }
            let name: String
            switch NameAnswer(line, proposal: proposal) {
            case .name(let chosen): name = chosen
            case .quit: throw ExitCode.success
            case .refused(let why):
                Output.standard.write(line: why)
                continue
            }
            Output.standard.write(line: saved(name, in: path, beside: directory))
            return name
        }
    }

    /// Keeps the name in a new settings file, or else in the directory.
    ///
    /// - Returns: The line that says where.
    private static func saved(_ name: String, in path: String?, beside directory: String?) -> String {
        if let path, access(path, F_OK) != 0, SettingsEdit.name(name).write(to: path) == nil {
            return "Saved in \(SafeText.line(path)); override it once with --name."
        }
        guard let directory else { return "This name holds until you quit." }
        // The first start makes the directory.
        let store = try? KeyStore.openShared(directory: directory)
        var reason = RememberedName.keep(name, in: directory)
        if case .unwritable(_, let cause) = store?.temporary { reason = cause }
        if let reason {
            return "This name holds until you quit, because \(SafeText.line(directory)) can't be written (\(reason))."
        }
        return "Saved in \(SafeText.line(directory)) for your next chats; change it with --name."
    }
}
