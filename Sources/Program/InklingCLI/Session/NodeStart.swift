import Inkling
import InklingControl
import InklingModel
import Logging
import NIOCore

/// The start of a session's node.
enum NodeStart {
    /// Starts a node, or attaches to a daemon.
    ///
    /// - Parameter completion: called on the loop, with the daemon that has the node, if any.
    static func start(
        _ settings: ChatSettings, on loop: any EventLoop, logger: Logger,
        completion: @escaping (Result<(any ChatService, DaemonConnection?), NodeError>) -> Void
    ) {
        guard let daemon = settings.daemon else {
            return LocalNode.start(settings.node, on: loop, logger: logger) { result in
                if case .success(let node) = result {
                    node.rules = settings.chatRules(on: loop)
                    // The prompt keeps a name by itself, because a name can hold only once.
                    if settings.mode == .json {
                        node.keepName = RememberedName.keeper(in: settings.node.stateDirectory, on: loop)
                    }
                }
                completion(result.map { ($0, nil) })
            }
        }
        attach(daemon, on: loop) { result in
            completion(result.map { ($0, daemon) }.mapError(\.error))
        }
    }

    /// Attaches to a daemon with the expected state directory.
    static func attach(
        _ daemon: DaemonConnection, on loop: any EventLoop,
        completion: @escaping (Result<AttachedNode, AttachedNode.Failure>) -> Void
    ) {
        // If the directory is missing, the empty state matches no daemon.
        AttachedNode.attach(daemon.descriptor, state: daemon.state ?? "", on: loop, completion: completion)
    }
}

extension AttachedNode.Failure {
    /// The failure with its advice, as a node's error.
    var error: NodeError {
        switch self {
        case .otherState:
            .other(
                code: "other-state",
                text: "The daemon there has another state directory. Name the same one here: --state-dir DIR")
        case .newerInterface(_, let version):
            .other(code: "newer-interface", text: VersionDifference.newerInterface(of: version, than: programVersion))
        case .refused(let error): error
        case .ended: .other(code: "stopped", text: "The daemon there does not answer. Look at its log.")
        }
    }
}
