import Inkling
import InklingControl
import InklingModel
import Logging
import NIOCore

/// How a session comes to its node.
enum NodeStart {
    /// - Parameter completion: called on the loop, with the daemon whose node it is, if it is not one of its own.
    static func start(
        _ settings: ChatSettings, on loop: any EventLoop, logger: Logger,
        completion: @escaping (Result<(any ChatService, DaemonConnection?), NodeError>) -> Void
    ) {
        guard let daemon = settings.daemon else {
            return LocalNode.start(settings.node, on: loop, logger: logger) { result in
                if case .success(let node) = result { node.nameRefusal = settings.names.refusal }
                completion(result.map { ($0, nil) })
            }
        }
        attach(daemon, on: loop) { result in
            completion(result.map { ($0, daemon) }.mapError(\.error))
        }
    }

    /// Attaches to a daemon, if it has the state directory that it should have.
    static func attach(
        _ daemon: DaemonConnection, on loop: any EventLoop,
        completion: @escaping (Result<AttachedNode, AttachedNode.Failure>) -> Void
    ) {
        // Where there is no directory, no daemon has it.
        AttachedNode.attach(daemon.descriptor, state: daemon.state ?? "", on: loop, completion: completion)
    }
}

extension AttachedNode.Failure {
    /// What happened, and what to do.
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
