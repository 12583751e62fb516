import Glibc
import Inkling
import InklingControl
import InklingModel
import InklingText

/// A session of JSON lines for programs, on standard input and output; `Protocol/api.md` describes them.
final class JSONSession: Session {
    private let host: SessionHost
    /// The interface, made at first use, because a daemon's notices come before the session begins.
    private lazy var interface: JSONInterface? = host.node.map { node in
        let interface = JSONInterface(
            node, .standard(host.settings.chat, isConfirmed: host.settings.isConfirmed),
            texts: JSONTexts(indicator: host.settings.indicator),
            write: { [host] in host.output.write($0) }, ended: { [weak self] in self?.finish($0) })
        interface.renamed = { [host] in host.keep(name: $0, changesSettings: false) }
        return interface
    }
    private var hasEnded = false

    init(_ host: SessionHost) {
        self.host = host
    }

    func begin() { interface?.begin() }

    private func finish(_ end: JSONInterface.End) {
        let complaint: String
        switch end {
        case .start(let error): complaint = SafeText.line(error.text)
        // The node ended for another reason than the end of the input.
        case .node(let why) where host.isAttached && !hasEnded: complaint = why.text
        case .input, .node: return self.finish(status: 0)
        }
        Output.error.write(line: "inkling: " + complaint)
        self.finish(status: 1)
    }

    private func finish(status: Int32) {
        guard !hasEnded else { return }
        hasEnded = true
        host.finish(status: status)
    }

    func receive(_ output: ServiceOutput) { interface?.receive(output) }

    func receive(_ piece: StandardInput.Piece) {
        switch piece {
        case .bytes(let bytes): interface?.receive(bytes)
        case .end: interface?.endOfInput()
        }
    }

    func receive(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP: finish(status: 0)
        default: break
        }
    }

    func tick() {}
    func report(log: String) {}
    func outputDrained() {}

    func outputAbandoned() {
        guard let code = host.output.failure, code != EPIPE else { return finish(status: 0) }
        Output.error.write(line: "inkling: " + Output.failureText(code))
        finish(status: 1)
    }

    var nextTick: Int64? { nil }
    var wantsInput: Bool { !hasEnded && interface?.wantsInput == true }
}

extension JSONTexts {
    /// The texts of this program.
    init(indicator style: IndicatorStyle) {
        self.init(
            version: programVersion,
            indicator: { IndicatorText.text(names: $0.map { Labels.shown($0.name) ?? "" }, style: style) },
            notice: \.text,
            error: { error in
                // A program has no option for a name that its user chose.
                if case .name = error { error.description } else { error.text }
            })
    }
}
