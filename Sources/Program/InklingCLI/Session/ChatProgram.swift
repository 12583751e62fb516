import ArgumentParser
import Glibc
import Inkling
import InklingConsole
import InklingModel
import InklingText
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Runs a session on the event loop of the calling thread, with this program's own node or a daemon's node.
enum ChatProgram {
    /// Runs a session.
    ///
    /// - Parameter makeSession: makes the session once the node runs.
    /// - Throws: an `ExitCode` after a session with a failure, `NodeError` without a node, or ``CommandFailure`` if a
    ///   setting is the reason.
    static func run(
        _ settings: ChatSettings, _ makeSession: @escaping (SessionHost, any ChatService) -> any Session
    ) throws {
        var outcome: Result<Int32, NodeError> = .success(0)
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            run(settings, on: loop, makeSession) { result in
                outcome = result
                loop.shutdownGracefully { _ in }
            }
        }
        if case .failure(.interface(let name, let known)) = outcome, let path = settings.interfacesPath {
            let text = NodeError.interface(name, known: known).text
            throw CommandFailure(text: SafeText.line("\(path): interfaces.use can't be used: \(text)"))
        }
        let status = try outcome.get()
        guard status == 0 else { throw ExitCode(status) }
    }

    /// Runs a session for its result.
    ///
    /// - Returns: the session after a success.
    /// - Throws: as ``run(_:_:)``.
    static func runCommand<S: Session>(
        _ settings: ChatSettings, _ makeSession: @escaping (SessionHost, any ChatService) -> S
    ) throws -> S {
        var session: S?
        try run(settings) { host, node in
            let made = makeSession(host, node)
            session = made
            return made
        }
        guard let session else { throw ExitCode(1) }
        return session
    }

    private static func run(
        _ settings: ChatSettings, on loop: any EventLoop,
        _ makeSession: @escaping (SessionHost, any ChatService) -> any Session,
        finished: @escaping (Result<Int32, NodeError>) -> Void
    ) {
        let host = SessionHost(settings, on: loop) { finished(.success($0)) }
        let log = ScreenLog(on: loop, session: host)
        host.logger = Logs.logger(settings, log)
        let begin: (Result<any ChatService, NodeError>) -> Void = { result in
            switch result {
            case .failure(let error): finished(.failure(error))
            case .success(let node): host.begin(node, of: settings.daemon, makeSession(host, node))
            }
        }
        guard let daemon = settings.daemon else {
            return NodeStart.start(settings, on: loop, logger: host.logger, completion: begin)
        }
        NodeStart.attach(daemon, on: loop) { begin($0.map { $0 }.mapError(\.error)) }
    }

    /// Returns the session of a chat for standard input, standard output and the options.
    static func session(_ host: SessionHost, _ node: any ChatService) -> any Session {
        let (settings, identity) = (host.settings, node.identity)
        let place = settings.place(of: node)
        if !identity.isTemporary { RememberedName.keep(identity.name, in: settings.node.stateDirectory) }
        return switch settings.mode {
        case .json: JSONSession(host)
        case .terminal: TerminalSession(host, identity: identity, place)
        case .plain where isatty(STDIN_FILENO) == 1:
            // A user who can't unfold messages gets all of them.
            LineSession<ChatModel>(
                host, identity: identity, display: settings.display(.lines, folds: LinePrinter.wraps, place))
        case .plain:
            LineSession<PipeModel>(host, identity: identity, display: settings.display(.pipe, folds: false, place))
        }
    }
}

/// The destination of log lines.
enum Logs {
    static func logger(_ settings: ChatSettings, _ screen: ScreenLog) -> Logger {
        // If the log goes to the prompt's terminal, it must pass through the screen.
        let throughScreen = settings.mode == .terminal && isatty(STDERR_FILENO) == 1
        var logger = Logger(label: "inkling") { label in
            if throughScreen { return ScreenLogHandler(screen) }
            return ErrorLogHandler()
        }
        logger.logLevel = settings.logLevel
        return logger
    }

    fileprivate static func text(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(event.level): \(event.message)\(pairs)"
    }
}

/// Log lines from any thread on their way to the loop. Only a few may wait. Further lines are dropped, and the log
/// reports their number.
final class ScreenLog: Sendable {
    private static let room = 256

    private struct State {
        var waiting: [String] = []
        var leftOut = 0
    }

    private let loop: any EventLoop
    private let session: NIOLoopBound<SessionHost>
    private let state = Mutex(State())

    init(on loop: any EventLoop, session: SessionHost) {
        self.loop = loop
        self.session = NIOLoopBound(session, eventLoop: loop)
    }

    func add(_ line: String) {
        let isFirst = state.withLock { state in
            guard state.waiting.count < Self.room else {
                state.leftOut += 1
                return false
            }
            state.waiting.append(line)
            return state.waiting.count == 1
        }
        if isFirst { loop.execute { self.show() } }
    }

    private func show() {
        let (lines, leftOut) = state.withLock { state in
            defer { state = State() }
            return (state.waiting, state.leftOut)
        }
        for line in lines { session.value.report(log: line) }
        if leftOut > 0 { session.value.report(log: "warning: \(leftOut) log lines were left out") }
    }
}

/// Hands log lines to the session that draws the screen.
struct ScreenLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error
    private let screen: ScreenLog

    init(_ screen: ScreenLog) {
        self.screen = screen
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { screen.add(Logs.text(event, metadata)) }
}

/// Writes log lines to standard error. If standard error is full, lines are lost, because a log must not block the
/// program.
struct ErrorLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { Output.error.offer(line: "inkling: " + Logs.text(event, metadata)) }
}
