import Glibc
import InklingText

/// What a doctor says of the daemon and its version.
extension Finding {
    private static let daemonCheck = "daemon"

    /// - Parameters:
    ///   - version: the version of the daemon's program.
    ///   - port: the UDP port of its node.
    package static func daemon(version: String, program: String, port: UInt16) -> Finding {
        let text = "one runs, on UDP port \(port), and its node is asked who is in the chat"
        guard let difference = VersionDifference.text(daemon: version, program: program) else {
            return .ok(daemonCheck, text)
        }
        return .note(
            daemonCheck, "\(text). \(difference)",
            fix: "inkling status    (shows since when it runs, and both versions)")
    }

    /// No daemon runs.
    ///
    /// - Parameter isNodeThere: whether a chat uses the identity.
    package static func noDaemon(isNodeThere: Bool) -> Finding {
        isNodeThere
            ? .ok(daemonCheck, "none runs, and a chat of yours does: to others, the doctor is the same person")
            : .ok(daemonCheck, "none runs, and none is needed: the doctor has a node of its own")
    }

    /// A node uses the state directory, and it can't be attached to.
    static func daemon(_ failure: DaemonConnection.Failure) -> Finding {
        let spoken = "My Inkling daemon runs, but my programs can't use it"
        switch failure {
        case _ where failure.isNobody: return .noDaemon(isNodeThere: true)
        case .daemon(.newerInterface):
            return .problem(
                daemonCheck, failure.reason, fix: "inkling --version    (of this program, which is the older one)",
                spoken: spoken + ": this computer has two versions of Inkling, and I have to upgrade the older one.")
        case .daemon(.otherState):
            return .note(
                daemonCheck, "the one that listens has another state directory, and is not used",
                fix: "inkling doctor --state-dir DIR    (the one that the daemon was started with)")
        case .daemon(.refused(.other("state-in-use", _))):
            return .note(
                daemonCheck, "it waits until a chat of yours ends, which uses the identity",
                fix: "end that chat, and open it again: it then uses the daemon")
        case .otherUser, .noPlace, .socket, .silent, .hanging, .notDaemon, .daemon:
            return .problem(
                daemonCheck, "a node of yours runs, but no daemon can be used: \(failure.reason)",
                fix: "inkling status; systemctl --user status inkling.service",
                spoken: spoken + ", so I have to restart it.")
        }
    }
}
