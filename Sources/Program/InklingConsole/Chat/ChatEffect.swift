import InklingModel

/// A value to keep for later runs.
package enum Lasting: Hashable, Sendable {
    /// A line that the user entered. Later runs can recall it.
    case line(String)
    /// The user's name.
    case name(String)
    /// Whether the terminal rings at the user's name.
    case bell(Bool)
}

/// An effect that the prompt's model requests from the program.
package enum ChatEffect: Hashable, Sendable {
    /// Adds lines to the history. A screen then draws its block again.
    case show([Line])
    /// Makes a screen draw its block again.
    case draw
    /// A node is asked, after `assign(_:)`. The answer is for the model, now or later.
    case ask(ServiceRequest)
    /// Makes the terminal ring.
    case bell
    /// Clears the screen. A later effect draws it again.
    case clearScreen
    /// Keeps a value for later runs of the program.
    case keep(Lasting)
    /// Stops the program, and the processes that were started together with it. Input waits until `resumed(at:)`.
    case suspend
    /// Writes a line to standard error. The text is safe to show.
    case complain(String)
    /// Ends the session, because the node could not join the first chat. No effect follows.
    case cannotStart(NodeError)
    /// Looks for the lost node. When there is a node again, the program calls `reattached(_:at:)`.
    case reattach
    /// Begins the end of the session, which takes at most ``ChatModel/patience``.
    case beginEnd
    /// Stops the node, because nothing else is left to do. No effect follows.
    case end
}
