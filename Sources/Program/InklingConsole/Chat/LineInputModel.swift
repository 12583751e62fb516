import InklingModel

/// A chat whose input comes in lines, from a pipe, a file, or a terminal that edits them itself. The output is in whole
/// lines as well.
package protocol LineInputModel {
    init(
        _ chat: Chat, identity: NodeIdentity, display: ChatDisplay, texts: ChatTexts, columns: Int, at moment: Moment)

    /// Begins the session: joins the chat, even if the node is in it already.
    mutating func begin(at moment: Moment) -> [ChatEffect]
    /// Records the node's next ID, before the program performs ``ChatEffect/ask(_:)``.
    mutating func assign(_ id: RequestID)
    /// Receives an output of the node.
    mutating func receive(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect]
    /// Receives a line of the input.
    mutating func receive(line: String, at moment: Moment) -> [ChatEffect]
    /// Reports a line of the input that can't be sent.
    ///
    /// - Parameter reason: the reason, such as "line 7 is not UTF-8".
    mutating func report(badLine reason: String, at moment: Moment) -> [ChatEffect]
    /// Handles the end of the input.
    mutating func endOfInput(at moment: Moment) -> [ChatEffect]
    /// Handles an output that can't be written any more.
    ///
    /// - Parameter reason: the system's words for the cause.
    mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect]
    /// Applies the passing of time. The program calls this at ``nextTick``.
    mutating func tick(at moment: Moment) -> [ChatEffect]
    /// Sets another width of the terminal that shows the output.
    mutating func resize(columns: Int, at moment: Moment) -> [ChatEffect]
    /// Prepares for a stop of the program.
    mutating func willSuspend(at moment: Moment) -> [ChatEffect]
    /// Resumes after a stop of the program.
    mutating func resumed(at moment: Moment) -> [ChatEffect]
    /// Attaches to the same node again, or to its successor.
    mutating func reattached(_ identity: NodeIdentity, at moment: Moment) -> [ChatEffect]
    /// Ends the session before the input has ended.
    mutating func finish(at moment: Moment) -> [ChatEffect]

    /// The time of the next ``tick(at:)``, in milliseconds of the steady clock; `nil` for none.
    var nextTick: Int64? { get }
    /// Whether the program should read more of the input.
    var wantsInput: Bool { get }
    /// The exit status of the program after the session.
    var exitStatus: Int32 { get }
}

extension ChatModel: LineInputModel {
    package mutating func endOfInput(at moment: Moment) -> [ChatEffect] { finish(at: moment) }

    package mutating func outputFailed(_ reason: String, at moment: Moment) -> [ChatEffect] { finish(at: moment) }

    package var wantsInput: Bool { isRunning }
    /// Success, because a person reads the outcomes on the screen.
    package var exitStatus: Int32 { 0 }
}
