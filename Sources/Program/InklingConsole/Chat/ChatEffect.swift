import InklingModel

/// A value to keep for later runs.
package enum Lasting: Hashable, Sendable {
    /// A line that was entered, to be recalled in later runs.
    case line(String)
    /// The user's name.
    case name(String)
    /// Whether the terminal rings at the user's name.
    case bell(Bool)
}

/// An effect that a model of the prompt requests from the program.
package enum ChatEffect: Hashable, Sendable {
    /// Lines join the history; a screen draws its block below them again.
    case show([Line])
    /// A screen draws its block again.
    case draw
    /// A node is asked, after `assign(_:)`. The answer is for the model, now or later.
    case ask(ServiceRequest)
    /// The terminal rings.
    case bell
    /// Clear the screen. A later effect draws it again.
    case clearScreen
    /// Something is to last beyond the program.
    case keep(Lasting)
    /// The program stops, and with it the processes that were started together with it. Input waits until
    /// `resumed(at:)`.
    case suspend
    /// A line for standard error, safe to show.
    case complain(String)
    /// The first chat could not be joined. Nothing follows.
    case cannotStart(NodeError)
    /// The node is gone. Once there is one again, `reattached(_:at:)` is called.
    case reattach
    /// The end has begun, and takes at most ``ChatModel/patience``.
    case beginEnd
    /// Nothing is left to be done but to stop the node. Nothing follows.
    case end
}
