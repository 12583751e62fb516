import Glibc
import Inkling
import InklingControl
import InklingText
import InklingWeb

/// The start of the user's daemon as a process of its own, which outlives this program.
final class DaemonStart {
    private let stateDirectory: String?
    /// The daemons that this program started, until they end.
    private var children: [pid_t] = []

    /// The longest time until a daemon listens, in milliseconds.
    private static let patience: Int64 = 10_000
    /// The interval of checks for its socket, in microseconds.
    private static let step: UInt32 = 20_000

    /// - Parameter stateDirectory: The state directory that an option names; nil if none does.
    init(stateDirectory: String?) {
        self.stateDirectory = stateDirectory
    }

    /// Starts a daemon if none runs, and waits until it listens.
    func ensure() throws {
        switch DaemonSearch(stateDirectory: stateDirectory) {
        case .found(let connection): return connection.close()
        case .noNode: break
        case .failure(let failure) where failure.isNobody: throw CommandFailure(text: Self.identityInUse)
        case .failure(let failure): throw CommandFailure(text: failure.text)
        }
        if let obstacle = start() { throw CommandFailure(text: obstacle.text) }
        let end = Clock.steady + Self.patience
        while Clock.steady < end {
            usleep(Self.step)
            let hasEnded = !children.isEmpty && reap()
            do throws(DaemonConnection.Failure) {
                return try DaemonConnection(stateDirectory: stateDirectory).close()
            } catch {
                guard error.isNobody else { throw CommandFailure(text: error.text) }
            }
            if hasEnded { throw CommandFailure(text: "the daemon ended at once; to see why: inkling daemon") }
        }
        throw CommandFailure(text: "the daemon does not listen within \(Self.patience / 1_000) s")
    }

    /// The ways of the page's server to the daemon.
    var access: DaemonAccess {
        DaemonAccess(
            connect: { [self] in connect() },
            start: { [self] in start() },
            state: { [self] in
                (stateDirectory ?? Configuration.defaultStateDirectory).flatMap { DaemonConnection.state(of: $0) }
            },
            text: { SafeText.line($0.error.text) })
    }

    /// Connects to the daemon without waiting for its first line. A service manager that listens must not start a daemon
    /// that the user has ended.
    private func connect() -> Result<Int32, DaemonObstacle> {
        reap()
        guard KeyStore.isInUse(directory: stateDirectory) else {
            return .failure(DaemonObstacle(text: "No daemon is running.", starts: true))
        }
        do throws(DaemonConnection.Failure) {
            return .success(try DaemonConnection(stateDirectory: stateDirectory, awaitsGreeting: false).descriptor)
        } catch {
            let text = error.isNobody ? Self.identityInUse : error.text
            return .failure(DaemonObstacle(text: Self.sentence(text), starts: false))
        }
    }

    private static let identityInUse =
        "another program of yours, such as a chat, uses the identity without a daemon; end it first"

    private static func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() + "." }

    /// Starts a daemon, and returns the reason for a failure.
    private func start() -> DaemonObstacle? {
        if SocketPath.places(stateDirectory: stateDirectory).contains(where: UnixSocket.isListening(at:)) {
            // A service manager listens, and a connection starts its daemon.
            try? DaemonConnection(stateDirectory: stateDirectory, awaitsGreeting: false).close()
            return nil
        }
        let arguments = ["inkling", "daemon"] + (stateDirectory.map { ["--state-dir", $0] } ?? [])
        do throws(ChildProcess.Failure) {
            let child = try ChildProcess.start(
                Self.program, arguments, environment: ChildProcess.environment(), in: .session)
            children.append(child)
            return nil
        } catch {
            return DaemonObstacle(text: "The daemon can't be started: \(error.text).", starts: true)
        }
    }

    /// The path of this program.
    private static var program: String {
        let link = "/proc/self/exe"
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { readlink(link, $0.baseAddress, $0.count) }
        }
        guard count > 0 else { return link }
        let path = String(decoding: bytes[..<count], as: UTF8.self)
        // An upgrade may have replaced the file.
        return Glibc.access(path, X_OK) == 0 ? path : link
    }

    /// Forgets the daemons that have ended. Returns whether one has.
    @discardableResult
    private func reap() -> Bool {
        let before = children.count
        children.removeAll { ChildProcess.exitStatus(of: $0) != nil }
        return children.count < before
    }
}
