import InklingService

/// The reason why the server can't reach a daemon.
package struct DaemonObstacle: Error, Equatable, Sendable {
    /// A sentence for the user.
    package var text: String
    /// Whether the start of a daemon can help.
    package var starts: Bool

    package init(text: String, starts: Bool) {
        self.text = text
        self.starts = starts
    }
}

/// The ways of a program to its user's daemon.
package struct DaemonAccess {
    /// Connects to the daemon, and starts none.
    ///
    /// - Returns: A socket that does not block, which the caller closes.
    let connect: () -> Result<Int32, DaemonObstacle>
    /// Starts a daemon, and returns without waiting for it. Returns the reason for a failure.
    let start: () -> DaemonObstacle?
    /// Returns the device and inode of the state directory, in the form of `ready`; nil if it is missing.
    let state: () -> String?
    /// Returns the text for a daemon that this program can't use.
    let text: (AttachedNode.Failure) -> String

    package init(
        connect: @escaping () -> Result<Int32, DaemonObstacle>, start: @escaping () -> DaemonObstacle?,
        state: @escaping () -> String?, text: @escaping (AttachedNode.Failure) -> String
    ) {
        self.connect = connect
        self.start = start
        self.state = state
        self.text = text
    }
}
