import Glibc
import Inkling
import InklingControl
import InklingText

/// A connection to the daemon of a state directory, of which nothing was taken yet.
struct DaemonConnection: Sendable {
    /// Where the daemon listens.
    let path: String
    /// The state directory that the daemon has to have; nil for a user without a home.
    let stateDirectory: String?
    let descriptor: Int32
    /// What the daemon says of itself; nil where it was not waited for.
    private(set) var daemon: DaemonGreeting.Ready?

    /// How long a daemon may take to say who it is, in milliseconds: as long as one that is started for this connection.
    private static let patience: Int32 = 3_000
    /// The longest first line, in bytes. It has some 300.
    private static let longestGreeting = 16 << 10

    /// Why nobody can be attached to.
    enum Failure: Error, Equatable {
        /// There is neither a state directory nor a folder for sockets.
        case noPlace
        case socket(UnixSocket.Failure)
        /// It is another user who listens.
        case otherUser
        /// Whoever listens says nothing.
        case silent
        /// The same, and a node holds the state directory: it is stopped, or has too much to do.
        case hanging
        /// What listens is not a daemon.
        case notDaemon
        /// Whoever listens is not a daemon that this program can use for the state directory.
        case daemon(AttachedNode.Failure)
    }

    /// Connects to the daemon, and waits until it is known to be one. Where a service manager listens for it, that starts
    /// the daemon.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    init(stateDirectory given: String?) throws(Failure) {
        let directory = given ?? Configuration.defaultStateDirectory
        var nobody = Failure.noPlace
        for path in SocketPath.places(stateDirectory: given) {
            do throws(Failure) {
                try self.init(listeningAt: path, stateDirectory: directory)
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

    /// One more connection to the same daemon, or to the one in its place. It waits for nothing.
    func again() throws(Failure) -> DaemonConnection {
        try DaemonConnection(path: path, stateDirectory: stateDirectory)
    }

    /// Whether a node holds the state directory. Who looks first starts no daemon.
    var isNodeThere: Bool { KeyStore.isInUse(directory: stateDirectory) }

    /// Device and inode of the state directory, as the daemon's first line has them; nil if it is not there.
    var state: String? { stateDirectory.flatMap { Self.state(of: $0) } }

    /// Device and inode of a directory; nil if it is not there.
    static func state(of directory: String) -> String? {
        var status = stat()
        guard stat(directory, &status) == 0 else { return nil }
        return "\(status.st_dev):\(status.st_ino)"
    }

    func close() { _ = Glibc.close(descriptor) }
}

extension DaemonConnection.Failure {
    /// Whether nobody listens there.
    var isNobody: Bool {
        switch self {
        case .noPlace, .socket(.system(ENOENT)), .socket(.system(ECONNREFUSED)): true
        case .socket, .otherUser, .silent, .hanging, .notDaemon, .daemon: false
        }
    }

    /// Whether it is this user's daemon all the same: a node beside it would be a stranger to others.
    var isDaemon: Bool {
        switch self {
        case .daemon(.newerInterface), .daemon(.refused(.other("too-many-front-ends", _))), .hanging: true
        case .daemon, .noPlace, .socket, .otherUser, .silent, .notDaemon: false
        }
    }

    /// Why, as the end of a sentence.
    var reason: String {
        switch self {
        case .noPlace: "there is no place for its socket"
        case .socket(let failure): failure.text
        case .otherUser: "it is another user's"
        case .hanging:
            "the daemon does not answer; wait until it does, or end it with: inkling stop"
        case .silent: "whoever listens for it does not answer"
        case .notDaemon: "what listens for it is not a daemon"
        case .daemon(let failure): SafeText.line(failure.error.text)
        }
    }

    /// What happened, and what to do.
    var text: String {
        if isNobody { return "no daemon is running; to start one: inkling daemon" }
        return isDaemon ? reason : "no daemon can be reached (\(reason)); to start one: inkling daemon"
    }
}
