import Inkling
import InklingConsole
import InklingModel
import InklingText
import NIOCore

/// One way of speaking with a user or a program. Everything is called on the event loop, and nothing waits.
///
/// A session draws and performs what its model decides; it decides nothing itself.
protocol Session: AnyObject {
    /// The node is up, in no chat yet.
    func begin()
    /// The node says something.
    func take(_ output: ServiceOutput)
    /// The node is back after it was gone, or another one is in its place: see ``SessionHost/reattach()``.
    func reattached(_ identity: NodeIdentity)
    /// Something came on standard input.
    func take(_ piece: StandardInput.Piece)
    /// The time of ``nextTick`` has come.
    func tick()
    /// One of the signals of ``SignalPipe``.
    func take(signal: Int32)
    /// There is room in the output again.
    func outputDrained()
    /// Nobody reads the output any more.
    func outputAbandoned()
    /// A line of the log is to be shown.
    func take(log: String)
    /// Something that the user should know, not as safe text yet.
    func take(notice: String)

    /// For how long a daemon may leave unanswered what the session asks for; nil for any time. Then its node has ended.
    var longestAnswer: TimeAmount? { get }
    /// Whether it goes on without a node, and takes another one by ``reattached(_:)``.
    var outlivesNode: Bool { get }
    /// When to call ``tick()``, in milliseconds of the steady clock; nil if never.
    var nextTick: Int64? { get }
    /// Whether the next piece of input is to be read.
    var wantsInput: Bool { get }
}

/// A session that needs none of it.
extension Session {
    func take(_ piece: StandardInput.Piece) {}
    func tick() {}
    func reattached(_ identity: NodeIdentity) {}
    func outputDrained() {}
    func take(log: String) {}
    func take(notice: String) { Output.error.write(line: "inkling: " + SafeText.line(notice)) }

    var longestAnswer: TimeAmount? { nil }
    var outlivesNode: Bool { false }
    var nextTick: Int64? { nil }
    var wantsInput: Bool { false }
}
