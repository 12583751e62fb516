import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText
import NIOCore

/// A conversation with a user or a program. All calls come on the event loop, and no call may block.
///
/// The session's model decides. The session draws, and performs the effects.
protocol Session: AnyObject {
    /// Begins with a node that is in no chat yet.
    func begin()
    /// Receives output of the node.
    func receive(_ output: ServiceOutput)
    /// Continues with the same node or its successor: see ``SessionHost/reattach()``.
    ///
    /// - Parameter place: where the node is now.
    func reattached(_ identity: NodeIdentity, in place: NodePlace)
    /// Receives a piece of standard input.
    func receive(_ piece: StandardInput.Piece)
    /// Runs at the time of ``nextTick``.
    func tick()
    /// Receives a signal that ``SignalPipe`` handles.
    func receive(signal: Int32)
    /// Continues to write, because standard output has room again.
    func outputDrained()
    /// Reacts to standard output without a reader.
    func outputAbandoned()
    /// Reports a line of the program's log.
    func report(log: String)
    /// Reports a notice. The text is not safe yet.
    func report(notice: String)

    /// The longest time for a daemon's answer; nil for no limit. After this time the session treats the node as ended.
    var longestAnswer: TimeAmount? { get }
    /// Whether the session continues without a node, and accepts another by ``reattached(_:)``.
    var attachesAgain: Bool { get }
    /// The time of the next ``tick()``, in milliseconds of the steady clock; nil for none.
    var nextTick: Int64? { get }
    /// Whether the session wants the next piece of input.
    var wantsInput: Bool { get }
}

/// Defaults for a session without such needs.
extension Session {
    func receive(_ piece: StandardInput.Piece) {}
    func tick() {}
    func reattached(_ identity: NodeIdentity, in place: NodePlace) {}
    func outputDrained() {}
    func report(log: String) {}
    func report(notice: String) { Output.error.write(line: "inkling: " + SafeText.line(notice)) }

    var longestAnswer: TimeAmount? { nil }
    var attachesAgain: Bool { false }
    var nextTick: Int64? { nil }
    var wantsInput: Bool { false }
}

/// A session of a command that runs for a short time, and writes its answer after its end.
protocol CommandSession: Session {
    var host: SessionHost { get }
    /// Gives up all further work.
    func abandon()
}

extension ServiceEnd {
    /// Returns the text about the end of the node, as the beginning of a sentence.
    ///
    /// - Parameter isHolder: whether the node is a prompt's.
    func text(isHolder: Bool) -> String {
        let holder = isHolder ? "the prompt that runs Inkling" : "the daemon"
        return switch self {
        case .stopped, .lost: "\(holder) has ended"
        case .tooSlow: "\(holder) gave this program up, because nothing was taken here for too long"
        case .silent: "\(holder) does not answer"
        }
    }
}

extension CommandSession {
    /// Ends the program by the signal itself, so that a loop in a shell stops too.
    func receive(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP:
            abandon()
            host.finish(by: signal)
        default: break
        }
    }

    /// Does nothing. The command notices a closed output when it writes the answer.
    func outputAbandoned() {}

    var longestAnswer: TimeAmount? { SessionHost.longestAnswer }
}

/// A session of JSON lines for programs, on standard input and output; `Protocol/api.md` describes them.
final class JSONSession: Session {
    private let host: SessionHost
    /// The interface, made at first use, because a daemon's notices come before the session begins.
    private lazy var interface: JSONInterface? = host.node.map { node in
        let interface = JSONInterface(
            node, .standard(host.settings.chat, isConfirmed: host.settings.isConfirmed),
            texts: JSONTexts(indicator: host.settings.indicator),
            write: { [host] in host.write($0) }, ended: { [weak self] in self?.finish($0) })
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
        case .node(let why) where host.isAttached && !hasEnded: complaint = why.text(isHolder: host.isHolder)
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
            }, isStandard: style == .standard)
    }
}

/// Asks the node for one answer.
final class QuestionSession: CommandSession {
    let host: SessionHost
    private let request: ServiceRequest
    /// The answer; nil until it comes, or if none comes.
    private(set) var answer: ServiceAnswer?
    private var hasEnded = false
    /// The chat of the request, if the daemon is not in it.
    private var unknownChat: String?
    let identity: NodeIdentity
    /// The version of the node's program.
    let version: String

    init(_ host: SessionHost, _ node: any ChatService, _ request: ServiceRequest) {
        self.host = host
        identity = node.identity
        version = (node as? AttachedNode)?.version ?? programVersion
        self.request = request
    }

    func begin() { host.node?.ask(request) }

    func receive(_ output: ServiceOutput) {
        switch output {
        case .answer(.failed(.unknownChat(let chat)), _):
            unknownChat = chat
            host.node?.ask(.chats)
        case .answer(let answer, _):
            if let unknownChat { return finish(status: 1, Self.complaint(about: unknownChat, answer)) }
            if case .failed(let error) = answer { return finish(status: 1, SafeText.line(error.text)) }
            self.answer = answer
            finish(status: 0)
        case .ended(let why): finish(status: 1, why.text(isHolder: host.isHolder))
        case .event, .unread, .own, .user: break
        }
    }

    /// Returns the complaint about a chat that is not among those of the answer.
    private static func complaint(about chat: String, _ answer: ServiceAnswer) -> String {
        let names = if case .chats(let chats) = answer { chats.map(\.name) } else { [String]() }
        let advice =
            NearestWord.find(chat, among: names).map { "did you mean \(SafeText.line($0))?" }
            ?? "to see where it is: inkling chats"
        return "you are not in \(SafeText.line(chat)); \(advice)"
    }

    private func finish(status: Int32, _ complaint: String? = nil) {
        guard !hasEnded else { return }
        hasEnded = true
        if let complaint { Output.error.write(line: "inkling: " + complaint) }
        host.finish(status: status)
    }

    func abandon() { hasEnded = true }
}

/// Prints notices on standard error, for commands whose output has its own form.
struct NoticePrinter {
    /// The most warnings about known names with different keys, each on its own line.
    private static let mostKeyWarnings = 3

    private var keyWarnings = 0

    mutating func print(_ notice: Notice) {
        switch notice {
        // The command says goodbye itself, so this notice matters only after a crash.
        case .lastWillOff: return
        case _ where notice.isOfOtherProgram: return
        case .keyChanged:
            keyWarnings += 1
            guard keyWarnings <= Self.mostKeyWarnings else {
                if keyWarnings == Self.mostKeyWarnings + 1 {
                    write("more people use names you know, but their keys are different")
                }
                return
            }
        default: break
        }
        write(SafeText.line(notice.text))
    }

    private func write(_ text: String) { Output.error.write(line: "inkling: " + text) }
}

/// The queue of a model's effects, including effects that another effect causes.
struct EffectQueue {
    private var waiting: ArraySlice<ChatEffect> = []
    private var isPerforming = false

    /// Adds effects.
    ///
    /// - Returns: Whether the caller must perform the effects. Otherwise an earlier caller is already performing
    ///   effects, and performs these too.
    mutating func add(_ effects: [ChatEffect]) -> Bool {
        waiting += effects
        guard !isPerforming else { return false }
        isPerforming = true
        return true
    }

    /// Removes and returns the next effect.
    mutating func next() -> ChatEffect? {
        if let effect = waiting.popFirst() { return effect }
        (waiting, isPerforming) = ([], false)
        return nil
    }
}

/// The texts about different versions of a daemon and a front end.
package enum VersionDifference {
    /// Returns a warning about different versions; nil for equal versions. The front end continues in both cases.
    ///
    /// - Parameters:
    ///   - daemon: the version in the daemon's first line.
    ///   - program: the version of this program.
    package static func text(daemon: String, program: String) -> String? {
        guard daemon != program else { return nil }
        let both = "The daemon has version \(shown(daemon)), and this program \(shown(program))"
        guard let (own, others) = pair(program, daemon) else { return both }
        return own.lexicographicallyPrecedes(others)
            ? both + ": start this program again to use the new one" : both + ": restart the daemon to use the new one"
    }

    /// Returns the reason why a front end stops, and which of the two programs to upgrade.
    package static func newerInterface(of daemon: String, than program: String) -> String {
        "The daemon has version \(shown(daemon)), and this program, with \(shown(program)), is too old to use it. "
            + "Upgrade this program; or restart the daemon, if that runs from another installation."
    }

    private static func shown(_ version: String) -> String {
        let text = SafeText.line(String(version.prefix(32)))
        return text.isEmpty ? "unknown" : text
    }

    /// Returns the numbers of two versions, such as "0.12.1"; nil for a version of another form.
    private static func pair(_ first: String, _ second: String) -> ([Int], [Int])? {
        let numbers = [first, second].map { $0.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) } }
        guard numbers.allSatisfy({ !$0.contains(nil) }) else { return nil }
        return (numbers[0].compactMap { $0 }, numbers[1].compactMap { $0 })
    }
}
