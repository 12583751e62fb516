import InklingModel

/// A chat with input in lines, from a terminal that edits them itself, a pipe or a file. The output is in whole lines
/// as well.
package protocol LineInputModel {
    init(
        _ chat: Chat, identity: NodeIdentity, display: ChatDisplay, texts: ChatTexts, columns: Int, at moment: Moment)

    /// Begins: joins the chat, even if the node is in it already.
    mutating func begin(at moment: Moment) -> [ChatEffect]
    /// Records the node's next ID, before the program performs ``ChatEffect/ask(_:)``.
    mutating func assign(_ id: RequestID)
    /// Applies an output of the node.
    mutating func take(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect]
    /// A line of the input came.
    mutating func take(line: String, at moment: Moment) -> [ChatEffect]
    /// A line of the input can't be sent.
    ///
    /// - Parameter reason: such as "line 7 is not UTF-8".
    mutating func take(badLine reason: String, at moment: Moment) -> [ChatEffect]
    /// No further line comes.
    mutating func endOfInput(at moment: Moment) -> [ChatEffect]
    /// Handles an output that can't be written any more.
    ///
    /// - Parameter reason: the system's words for the cause.
    mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect]
    /// Time has passed: the time of ``nextTick`` has come.
    mutating func tick(at moment: Moment) -> [ChatEffect]
    /// The terminal that the output goes to has another width.
    mutating func resize(columns: Int, at moment: Moment) -> [ChatEffect]
    /// The program is about to be stopped.
    mutating func willSuspend(at moment: Moment) -> [ChatEffect]
    /// Resumes after a stop of the program.
    mutating func resumed(at moment: Moment) -> [ChatEffect]
    /// The node is back after it was gone, or another one is in its place.
    mutating func reattached(_ identity: NodeIdentity, at moment: Moment) -> [ChatEffect]
    /// Ends before the input has ended.
    mutating func finish(at moment: Moment) -> [ChatEffect]

    /// When to call ``tick(at:)``, in milliseconds of the steady clock; `nil` if never.
    var nextTick: Int64? { get }
    /// Whether more of the input is to be read.
    var wantsInput: Bool { get }
    /// The exit status of the program, once the session is over.
    var exitStatus: Int32 { get }
}

extension ChatModel: LineInputModel {
    package mutating func endOfInput(at moment: Moment) -> [ChatEffect] { finish(at: moment) }

    package mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect] { finish(at: moment) }

    package var wantsInput: Bool { isRunning }
    /// A person reads the outcomes on the screen.
    package var exitStatus: Int32 { 0 }
}
