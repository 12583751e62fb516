import InklingText

/// The doctor's findings about the daemon and its version.
extension Finding {
    private static let daemonCheck = "daemon"

    /// The finding about a running daemon.
    ///
    /// - Parameters:
    ///   - version: the version of the daemon's program.
    ///   - port: the UDP port of its node.
    ///   - root: whether root runs the doctor and owns the daemon.
    package static func daemon(version: String, program: String, port: UInt16, ofRoot root: Bool = false) -> Finding {
        let text = "\(root ? "root's" : "yours") runs, on UDP port \(port), and its node is asked who is in the chat"
        guard let difference = VersionDifference.text(daemon: version, program: program) else {
            return .ok(daemonCheck, text)
        }
        return .note(
            daemonCheck, "\(text). \(difference)",
            look: "inkling status    (shows since when it runs, and both versions)")
    }

    /// The finding if the user who runs the doctor has no daemon.
    ///
    /// - Parameter isNodeThere: whether a chat uses the identity.
    package static func noDaemon(isNodeThere: Bool, ofRoot root: Bool = false) -> Finding {
        let start = root ? "root runs none" : "you run none"
        return isNodeThere
            ? .ok(
                daemonCheck,
                "\(start), but \(root ? "root has" : "you have") a chat open: the doctor is beside it in the chat, under a "
                    + "name of its own")
            : .ok(daemonCheck, "\(start), and none is needed: the doctor has a node of its own")
    }

    /// The finding for root about another user's daemon, which root can't use.
    ///
    /// - Parameters:
    ///   - user: the login name.
    ///   - arguments: the doctor's arguments, with a blank before each.
    package static func daemon(of user: String, _ node: OthersNode, arguments: String) -> Finding {
        switch node {
        case .none: .ok(daemonCheck, "\(user) runs none, and none is needed: the doctor has a node of its own")
        case .chat:
            .ok(
                daemonCheck,
                "\(user) runs none, but has a chat open: the doctor is beside it in the chat, under a name of its own")
        case .daemon:
            .note(
                daemonCheck,
                "\(user)'s runs, and root can't use it: the doctor is beside it in the chat, under a name of its own",
                look: "inkling doctor\(arguments)    (as \(user): looks through that daemon)")
        }
    }

    /// The finding if a node uses the state directory but the doctor can't attach to it.
    static func daemon(_ failure: DaemonConnection.Failure, ofRoot root: Bool, isManaged: Bool) -> Finding {
        switch failure {
        case _ where failure.isNobody: .noDaemon(isNodeThere: true, ofRoot: root)
        case .daemon(.newerInterface): .olderProgram(failure.reason)
        case .daemon(.otherState):
            .note(
                daemonCheck, "the one that listens has another state directory, and is not used",
                look: "inkling doctor --state-dir DIR    (the one that the daemon was started with)")
        case .daemon(.refused(.other("state-in-use", _))):
            .note(
                daemonCheck, "it waits until a chat of yours ends, which uses the identity",
                fix: "end that chat, and open it again: it then uses the daemon")
        case .otherUser, .noPlace, .socket, .silent, .hanging, .notDaemon, .daemon:
            .unusableDaemon(failure.reason, isManaged: isManaged)
        }
    }

    private static func olderProgram(_ reason: String) -> Finding {
        .problem(
            daemonCheck, reason, look: "inkling --version    (of this program, which is the older one)",
            spoken:
                "My Inkling daemon runs, but my programs can't use it: this computer has two versions of Inkling, and I "
                + "have to upgrade the older one.")
    }

    /// The finding about a daemon that the doctor can't use.
    ///
    /// - Parameter isManaged: whether a service manager runs the daemon.
    package static func unusableDaemon(_ reason: String, isManaged: Bool) -> Finding {
        .problem(
            daemonCheck, "a node of yours runs, but no daemon can be used: \(reason)",
            fix: isManaged
                ? "systemctl --user restart inkling.service"
                : "end it with inkling stop, and start it again: inkling daemon",
            spoken: "My Inkling daemon runs, but my programs can't use it, so I have to restart it.")
    }
}
