import Inkling
import InklingConsole
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
    func reattached(_ identity: NodeIdentity)
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
    var outlivesNode: Bool { get }
    /// The time of the next ``tick()``, in milliseconds of the steady clock; nil for none.
    var nextTick: Int64? { get }
    /// Whether the session wants the next piece of input.
    var wantsInput: Bool { get }
}

/// Defaults for a session without such needs.
extension Session {
    func receive(_ piece: StandardInput.Piece) {}
    func tick() {}
    func reattached(_ identity: NodeIdentity) {}
    func outputDrained() {}
    func report(log: String) {}
    func report(notice: String) { Output.error.write(line: "inkling: " + SafeText.line(notice)) }

    var longestAnswer: TimeAmount? { nil }
    var outlivesNode: Bool { false }
    var nextTick: Int64? { nil }
    var wantsInput: Bool { false }
}
