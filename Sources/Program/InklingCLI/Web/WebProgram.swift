import ArgumentParser
import Glibc
import Inkling
import InklingService
import InklingText
import InklingWeb
import NIOCore
import NIOPosix

/// Serves the page on the event loop of the calling thread.
final class WebProgram {
    private let opens: Bool
    private let loop: any EventLoop
    private let tickets: TicketSocket
    private let server: WebServer
    private let finished: () -> Void
    private var signals: SignalPipe?
    private var isEnding = false

    /// The longest time for the answer of a running server, in milliseconds.
    private static let patience: Int64 = 12_000
    /// The longest time in which the browser's start may fail, in milliseconds.
    private static let browserPatience: Int64 = 3_000
    /// The interval of checks, in microseconds and in the unit of the loop.
    private static let (step, opening): (UInt32, TimeAmount) = (20_000, .milliseconds(200))
    /// The longest address of a page, in bytes.
    private static let longestLink = 1 << 10

    /// Serves the page until a signal comes. If a server of this user runs, opens its page.
    ///
    /// - Parameter port: 0 for any free one.
    static func run(port: UInt16, opens: Bool, stateDirectory: String?) throws {
        guard let socket = SocketPath.path(stateDirectory: stateDirectory) else {
            throw CommandFailure(text: "there is no place for the socket; name one with --state-dir DIR")
        }
        let path = String(socket[...(socket.lastIndex(of: "/") ?? socket.startIndex)]) + TicketSocket.name
        let end = Clock.steady + patience
        while true {
            if let tickets = try ticketSocket(at: path) {
                defer { tickets.close() }
                return try serve(tickets, port: port, opens: opens, stateDirectory: stateDirectory)
            }
            // The running server may not listen yet, or end just now.
            if let link = link(from: path) { return open(link, opens: opens) }
            guard Clock.steady < end else {
                throw CommandFailure(text: "inkling web runs already, and does not answer; end it, and try again")
            }
            usleep(step)
        }
    }

    private static func ticketSocket(at path: String) throws -> TicketSocket? {
        do throws(ListeningSocket.Failure) {
            return try TicketSocket(at: path)
        } catch {
            throw CommandFailure(text: "can't listen at \(SafeText.line(path)): \(error.text)")
        }
    }

    /// Asks a running server for the address of its page.
    private static func link(from path: String) -> String? {
        guard let descriptor = try? UnixSocket.connect(to: path) else { return nil }
        defer { close(descriptor) }
        guard UnixSocket.user(of: descriptor) == geteuid(),
            let line = UnixSocket.firstLine(of: descriptor, within: Int32(patience), maximumBytes: longestLink)
        else { return nil }
        let link = String(decoding: line, as: UTF8.self)
        return link.hasPrefix("http://127.") ? link : nil
    }

    /// Opens the page of a running server.
    private static func open(_ link: String, opens: Bool) {
        let start = BrowserStart(link, opens: opens)
        guard let child = start.show() else { return }
        let end = Clock.steady + browserPatience
        while Clock.steady < end {
            if let status = ChildProcess.exitStatus(of: child) {
                if status != 0 { start.printLink() }
                return
            }
            usleep(step)
        }
    }

    private static func serve(_ tickets: TicketSocket, port: UInt16, opens: Bool, stateDirectory: String?) throws {
        let daemon = DaemonStart(stateDirectory: stateDirectory)
        try daemon.ensure()
        var random = SystemRandomNumberGenerator()
        let listener: WebListener
        do throws(WebListener.Failure) {
            listener = try WebListener(port: port, using: &random)
        } catch {
            throw CommandFailure(text: error.text)
        }
        var failure: (any Error)?
        var store: PageStore?
        defer { store?.finish() }
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            let made = PageStore(stateDirectory: stateDirectory, on: loop)
            store = made
            let program = WebProgram(tickets, listener.address, daemon.access, made.host, opens: opens, on: loop) {
                loop.shutdownGracefully { _ in }
            }
            program.start(listener.descriptor) { failure = $0 }
        }
        if let failure { throw CommandFailure(text: "the page can't be served: \(failure)") }
    }

    private init(
        _ tickets: TicketSocket, _ address: WebAddress, _ access: DaemonAccess, _ host: PageHost, opens: Bool,
        on loop: any EventLoop, finished: @escaping () -> Void
    ) {
        self.tickets = tickets
        self.opens = opens
        self.loop = loop
        self.finished = finished
        server = WebServer(at: address, access, for: host, on: loop) { Output.error.offer(line: "inkling: " + $0) }
    }

    private func start(_ descriptor: Int32, failed: @escaping (any Error) -> Void) {
        signals = SignalPipe(on: loop) { [self] in receive(signal: $0) }
        do {
            try server.listen(on: descriptor)
        } catch {
            failed(error)
            return stop()
        }
        tickets.listen(on: loop) { [server] in server.link() }
        let start = BrowserStart(server.link(), opens: opens)
        if let child = start.show() { follow(child, start) }
    }

    /// Prints the address if the browser does not open.
    private func follow(_ child: pid_t, _ start: BrowserStart) {
        loop.assumeIsolated().scheduleTask(in: Self.opening) { [self] in
            guard let status = ChildProcess.exitStatus(of: child) else { return follow(child, start) }
            if status != 0 { start.printLink() }
        }
    }

    private func receive(signal: Int32) {
        switch signal {
        case SIGTERM, SIGINT, SIGHUP: stop()
        case SIGTSTP: SignalPipe.stop()
        default: break
        }
    }

    private func stop() {
        guard !isEnding else { return }
        isEnding = true
        tickets.stopListening()
        server.close(finished)
    }
}

struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Chat in the browser.",
        discussion: """
            Serve a page that only you can open, at a random address of this machine, and open the browser. The page \
            uses your daemon. If no daemon runs, the command starts a daemon, which stays when the command ends. A \
            second "inkling web" opens another page of the running server.

            inkling web
            inkling web --no-open                     prints the address of the page
            """)

    @Option(help: ArgumentHelp("Serve the page at this TCP port (default: any free one).", valueName: "port"))
    var port: UInt16?

    @Flag(help: "Print the address of the page, and open no browser.")
    var noOpen = false

    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        // Browsers leave out this port, and the server demands its full address.
        guard port != 80 else { throw ValidationError("--port 80 can't serve the page; choose another port.") }
    }

    func run() throws {
        try CommandFailure.reporting {
            try WebProgram.run(port: port ?? 0, opens: !noOpen, stateDirectory: daemon.stateDir)
        }
    }
}

/// The page in the user's browser, or its address in the terminal.
struct BrowserStart {
    /// The address of the page, with a ticket.
    let link: String
    private let hasDisplay: Bool
    private let opens: Bool

    /// - Parameter opens: Whether to open the browser if there is a display.
    init(_ link: String, opens: Bool) {
        self.link = link
        hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { ChatSettings.environment($0) != nil }
        self.opens = opens
    }

    /// Opens the browser, or prints the address.
    ///
    /// - Returns: The process that opens the browser. If it fails, the caller prints the address.
    func show() -> pid_t? {
        guard opens, hasDisplay else {
            printLink()
            return nil
        }
        do throws(ChildProcess.Failure) {
            let child = try ChildProcess.start(
                "xdg-open", ["xdg-open", link], environment: ChildProcess.environment(), in: .session)
            Output.standard.write(line: "Your browser opens \(Self.origin(of: link)). For another page: inkling web")
            return child
        } catch {
            Output.error.write(line: "inkling: xdg-open can't be started (\(error.text))")
            printLink()
            return nil
        }
    }

    func printLink() {
        // The journal keeps its lines, and others may read it.
        guard !Self.isInJournal else {
            Output.standard.write(line: "The page is at \(Self.origin(of: link)). To open it: inkling web")
            return
        }
        Output.standard.write(line: link)
        Output.standard.write(line: "Open this address within a minute. It works once; for another one: inkling web")
        guard !hasDisplay else { return }
        let place = Self.origin(of: link).dropFirst("http://".count)
        Output.standard.write(line: "From another machine, connect first: ssh -L \(place):\(place) USER@HOST")
    }

    /// Whether standard output goes to the journal of the service manager.
    private static var isInJournal: Bool {
        var status = stat()
        guard let stream = ChatSettings.environment("JOURNAL_STREAM"), fstat(STDOUT_FILENO, &status) == 0 else {
            return false
        }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    private static func origin(of link: String) -> Substring { link.prefix { $0 != "#" }.dropLast() }
}

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
            return .failure(DaemonObstacle(text: "Inkling is not running.", starts: true))
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
            return DaemonObstacle(text: "Inkling can't be started: \(error.text).", starts: true)
        }
    }

    /// The path of this program.
    static var program: String {
        let link = "/proc/self/exe"
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        guard count > 0 else { return link }
        let path = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
