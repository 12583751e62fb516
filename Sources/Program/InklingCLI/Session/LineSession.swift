import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText

/// A session of whole lines, without cursor movement, colour or animation. The input has lines too: lines typed on a
/// terminal that edits them, or messages from a pipe or file.
final class LineSession<Model: LineInputModel>: Session {
    private let host: SessionHost
    private var display: ChatDisplay
    private var model: Model
    private var splitter = LineSplitter()
    private var effects = EffectQueue()
    private let printer: LinePrinter

    init(_ host: SessionHost, identity: NodeIdentity, display: ChatDisplay) {
        self.host = host
        self.display = display
        printer = LinePrinter(host.output)
        model = Model(
            host.settings.chat, identity: identity, display: display,
            texts: host.settings.texts(port: identity.port), columns: Terminal.size().columns, at: host.now)
    }

    func begin() { perform(model.begin(at: host.now)) }
    func receive(_ output: ServiceOutput) { perform(model.receive(output, at: host.now)) }
    func tick() { perform(model.tick(at: host.now)) }
    func report(notice: String) { printer.print([ChatLines.notice(notice)]) }
    func reattached(_ identity: NodeIdentity, in place: NodePlace) {
        display.place = place
        perform(model.reattached(identity, in: place, at: host.now))
    }

    func outputAbandoned() {
        perform(model.outputFailed(Output.failureText(host.output.failure ?? EPIPE), at: host.now))
    }

    func receive(_ piece: StandardInput.Piece) {
        switch piece {
        case .bytes(let bytes): splitter.feed(bytes).forEach(receive)
        case .end:
            splitter.finish().map(receive)
            perform(model.endOfInput(at: host.now))
        }
    }

    private func receive(_ piece: LineSplitter.Piece) {
        switch piece {
        case .tooLong(let number):
            perform(model.report(badLine: "line \(number) is too long for a message", at: host.now))
        case .line(let bytes, let number):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                return perform(model.report(badLine: "line \(number) is not UTF-8", at: host.now))
            }
            perform(model.receive(line: text, at: host.now))
        }
    }

    func receive(signal: Int32) {
        switch signal {
        case SIGTSTP:
            perform(model.willSuspend(at: host.now))
            host.suspend(wholeJob: false) { [unowned self] goesOn in
                perform(goesOn ? model.resumed(at: host.now) : model.finish(at: host.now))
            }
        case SIGWINCH: perform(model.resize(columns: Terminal.size().columns, at: host.now))
        case SIGINT, SIGTERM, SIGHUP: perform(model.finish(at: host.now))
        default: break
        }
    }

    var attachesAgain: Bool { display.isAttached }
    var nextTick: Int64? { model.nextTick }
    var wantsInput: Bool { model.wantsInput }

    private func perform(_ new: [ChatEffect]) {
        guard effects.add(new) else { return }
        while let effect = effects.next() { perform(effect) }
    }

    private func perform(_ effect: ChatEffect) {
        switch effect {
        case .show(let lines): printer.print(lines)
        case .ask(let request): host.ask(request) { model.assign($0) }
        case .complain(let text): Output.error.write(line: "inkling: " + text)
        case .cannotStart(let error):
            Output.error.write(line: "inkling: " + SafeText.line(error.text))
            host.finish(status: 1)
        case .end: host.finish(status: model.exitStatus)
        case .bell: host.output.write([0x07])
        case .reattach: host.reattach()
        case .beginEnd: host.stopHoldingBack()
        case .keep(.name(let name)): host.keep(name: name)
        case .keep(.bell(let isOn)): host.keep(bell: isOn)
        case .keep(.autostart(let isOn)): host.keep(autostart: isOn)
        case .draw, .clearScreen, .keep(.line), .suspend: break
        }
    }
}

/// Prints lines without decoration.
struct LinePrinter {
    /// Whether the printer breaks lines into rows. Without this, a row of a message could look like a separate line.
    static let wraps = isatty(STDOUT_FILENO) == 1

    private let output: StandardOutput

    init(_ output: StandardOutput) { self.output = output }

    func print(_ lines: [Line]) {
        for line in lines {
            output.write(
                line: Self.wraps
                    ? line.plainRows(columns: Terminal.size().columns).joined(separator: "\n") : line.plain)
        }
    }
}
