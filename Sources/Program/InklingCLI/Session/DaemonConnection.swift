import Glibc
import Inkling
import InklingService
import InklingText

/// A connection to the daemon of a state directory, with the first line still unread.
struct DaemonConnection: Sendable {
    /// The path of the daemon's socket.
    let path: String
    /// The state directory that the daemon must have; nil for a user without a home.
    let stateDirectory: String?
    let descriptor: Int32
    /// The daemon's first line; nil if the connection did not wait for it.
    private(set) var daemon: DaemonGreeting.Ready?

    /// The longest time to the first line, in milliseconds. A daemon that starts for this connection needs the most.
    private static let patience: Int32 = 3_000
    /// The longest first line, in bytes. A usual line has some 300.
    private static let longestGreeting = 16 << 10

    /// The reason why the program can't attach to a daemon.
    enum Failure: Error, Equatable {
        /// The user has neither a state directory nor a folder for sockets.
        case noPlace
        case socket(UnixSocket.Failure)
        /// A program of another user listens.
        case otherUser
        /// The listening program sends no first line.
        case silent
        /// The listening program sends no first line, but a node holds the state directory. The node is stopped or
        /// overloaded.
        case hanging
        /// The listening program is not a daemon.
        case notDaemon
        /// The program can't use this daemon for the state directory.
        case daemon(AttachedNode.Failure)
    }

    /// Connects to the daemon and waits for the first line. If a service manager listens, the connection starts the
    /// daemon.
    ///
    /// - Parameters:
    ///   - given: the state directory that an option names; nil if none does.
    ///   - awaitsGreeting: whether to wait for the first line.
    init(stateDirectory given: String?, awaitsGreeting: Bool = true) throws(Failure) {
        let directory = given ?? Configuration.defaultStateDirectory
        var nobody = Failure.noPlace
        for path in SocketPath.places(stateDirectory: given) {
            do throws(Failure) {
                if awaitsGreeting {
                    try self.init(listeningAt: path, stateDirectory: directory)
                } else {
                    try self.init(path: path, stateDirectory: directory)
                }
                return
            } catch {
                guard error.isNobody else { throw error }
                if nobody == .noPlace { nobody = error }
            }
        }
        throw nobody
    }

    private init(listeningAt path: String, stateDirectory: String?) throws(Failure) {
        try self.init(path: path, stateDirectory: stateDirectory)
        do {
            daemon = try greeting()
        } catch {
            close()
            throw error
        }
    }

    private init(path: String, stateDirectory: String?) throws(Failure) {
        self.path = path
        self.stateDirectory = stateDirectory
        do {
            descriptor = try UnixSocket.connect(to: path)
        } catch {
            throw .socket(error)
        }
        guard UnixSocket.user(of: descriptor) == geteuid() else {
            close()
            throw .otherUser
        }
    }

    private func greeting() throws(Failure) -> DaemonGreeting.Ready {
        guard
            let line = UnixSocket.firstLine(
                of: descriptor, within: Self.patience, maximumBytes: Self.longestGreeting)
        else { throw isNodeThere ? .hanging : .silent }
        switch DaemonGreeting(line: line) {
        case .ready(let ready):
            if let obstacle = ready.obstacle(state: state ?? "") { throw .daemon(obstacle) }
            return ready
        case .refusal(let error): throw .daemon(.refused(error))
        case nil: throw .notDaemon
        }
    }

    /// Returns another connection to the same daemon, or to its successor, without waiting for the first line.
    func again() throws(Failure) -> DaemonConnection {
        try DaemonConnection(path: path, stateDirectory: stateDirectory)
    }

    /// Whether a node holds the state directory. This check starts no daemon.
    var isNodeThere: Bool { KeyStore.isInUse(directory: stateDirectory) }

    /// The device and inode of the state directory, in the form of the daemon's first line; nil if the directory
    /// is missing.
    var state: String? { stateDirectory.flatMap { Self.state(of: $0) } }

    /// Returns the device and inode of a directory; nil if the directory is missing.
    static func state(of directory: String) -> String? {
        var status = stat()
        guard stat(directory, &status) == 0 else { return nil }
        return "\(status.st_dev):\(status.st_ino)"
    }

    func close() { _ = Glibc.close(descriptor) }
}

extension DaemonConnection.Failure {
    /// Whether no process listens.
    var isNobody: Bool {
        switch self {
        case .noPlace, .socket(.system(ENOENT)), .socket(.system(ECONNREFUSED)): true
        case .socket, .otherUser, .silent, .hanging, .notDaemon, .daemon: false
        }
    }

    /// Whether this user's daemon listens in spite of the failure. Peers would take another node beside it for a
    /// stranger.
    var isDaemon: Bool {
        switch self {
        case .daemon(.newerInterface), .daemon(.refused(.other("too-many-front-ends", _))), .hanging: true
        case .daemon, .noPlace, .socket, .otherUser, .silent, .notDaemon: false
        }
    }

    /// The reason, as the end of a sentence.
    var reason: String {
        switch self {
        case .noPlace: "there is no place for its socket"
        case .socket(let failure): failure.text
        case .otherUser: "it is another user's"
        case .hanging:
            "the program that runs Inkling does not answer: continue the prompt that you stopped, or end the daemon with "
                + "inkling stop"
        case .silent: "whoever listens for it does not answer"
        case .notDaemon: "what listens for it is not a daemon"
        case .daemon(let failure): SafeText.line(failure.error.text)
        }
    }

    /// The failure with its advice.
    var text: String {
        if isNobody { return "no daemon is running; to start one: inkling daemon" }
        return isDaemon ? reason : "no daemon can be reached (\(reason)); to start one: inkling daemon"
    }
}

/// The search for a running daemon of a state directory. The search starts no daemon.
enum DaemonSearch {
    /// No node uses the state directory. So no daemon runs, even if a service manager listens.
    case noNode
    /// A node uses the directory, but the program can't attach to it for this reason.
    case failure(DaemonConnection.Failure)
    case found(DaemonConnection)

    /// Searches for the daemon.
    ///
    /// - Parameter given: the state directory that an option names; nil if none does.
    init(stateDirectory given: String?) {
        guard KeyStore.isInUse(directory: given) else {
            self = .noNode
            return
        }
        do throws(DaemonConnection.Failure) {
            self = .found(try DaemonConnection(stateDirectory: given))
        } catch {
            self = .failure(error)
        }
    }
}
