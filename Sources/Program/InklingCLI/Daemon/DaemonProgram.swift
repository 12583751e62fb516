import Glibc
import Inkling
import InklingService
import InklingModel
import InklingText
import Logging
import NIOCore
import NIOPosix

/// The daemon: one node for any number of front ends, on the event loop of the calling thread.
final class DaemonProgram {
    private var configuration: Configuration
    private let path: String
    private let options: NodeOptions
    /// The settings at the start.
    private let settings: SettingsFile
    private let readSettings: () throws -> SettingsFile
    private let loop: any EventLoop
    private let logger: Logger
    private let manager = ServiceManager(environment: ChatSettings.environment)
    private let hook: MessageHook
    private var goesAwayAlone: Bool
    private let finished: (CommandFailure?) -> Void
    private var phase = Phase.starting
    private var speakers = SpeakerLabels()
    private var signals: SignalPipe?
    private var hookTask: Scheduled<Void>?

    private enum Phase {
        case starting
        /// Another node holds the state directory, and a connection to the service manager's socket started this
        /// daemon.
        case waiting(ListeningSocket)
        case running(ServiceHost)
        case ending
    }

    /// The interval at which a waiting daemon checks the service manager's socket.
    private static let waitStep = TimeAmount.milliseconds(250)

    /// Runs the daemon until a signal ends the loop.
    ///
    /// - Parameters:
    ///   - path: the path of the socket, unless the service manager listens already.
    ///   - options: the options of the daemon.
    ///   - readSettings: reads the settings once more.
    static func run(
        _ configuration: Configuration, _ settings: SettingsFile, at path: String, _ options: NodeOptions,
        _ readSettings: @escaping () throws -> SettingsFile
    ) throws {
        var failure: CommandFailure?
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            var logger = Logger(label: "inkling") { _ in ErrorLogHandler() }
            logger.logLevel = options.logLevel ?? .notice
            let program = DaemonProgram(
                configuration, settings, at: path, options, readSettings, on: loop, logger
            ) { reason in
                failure = reason
                loop.shutdownGracefully { _ in }
            }
            program.start()
        }
        if let failure { throw failure }
    }

    private init(
        _ configuration: Configuration, _ settings: SettingsFile, at path: String, _ options: NodeOptions,
        _ readSettings: @escaping () throws -> SettingsFile, on loop: any EventLoop, _ logger: Logger,
        finished: @escaping (CommandFailure?) -> Void
    ) {
        self.configuration = configuration
        self.path = path
        self.options = options
        self.settings = settings
        self.readSettings = readSettings
        self.loop = loop
        self.logger = logger
        self.finished = finished
        hook = MessageHook([]) { logger.error("the command of on-message: \($0)") }
        goesAwayAlone = settings.goesAwayAlone ?? true
        hook.command = trusted(settings.messageHook ?? [])
    }

    // MARK: Starting

    private func start() {
        let handedOver = ListeningSocket(
            process: ChatSettings.environment("LISTEN_PID"), count: ChatSettings.environment("LISTEN_FDS"))
        signals = SignalPipe(on: loop) { [self] in receive(signal: $0) }
        manager.watch(on: loop)
        begin(handedOver)
    }

    /// Begins to serve front ends.
    ///
    /// - Parameter socket: the socket of the service manager, if any.
    private func begin(_ socket: ListeningSocket?) {
        if let obstacle { return refuse(obstacle, socket) }
        ServedNode.start(configuration, on: loop, logger: logger) { [self] result in
            switch result {
            case .failure(let error): finish(CommandFailure(text: SafeText.line(error.text)))
            case .success(let node):
                guard let temporary = node.temporary else { return serve(node, socket) }
                node.stop { [self] in refuse(temporary, socket) }
            }
        }
    }

    /// The reason why the node would have no lasting identity. The check precedes the start of the node, because
    /// another node of the state directory may hold the port too.
    private var obstacle: TemporaryIdentity? {
        guard let store = try? KeyStore.open(directory: configuration.stateDirectory) else { return nil }
        defer { store.close() }
        return store.temporary
    }

    private func refuse(_ reason: TemporaryIdentity, _ socket: ListeningSocket?) {
        guard case .inUse = reason, let socket else {
            return finish(CommandFailure(text: Self.text(reason, stateDirectory: configuration.stateDirectory)))
        }
        logger.notice("another node uses the state directory; waiting for it to end")
        phase = .waiting(socket)
        manager.ready()
        wait(socket)
    }

    /// Returns the reason why a daemon can't run without a lasting identity.
    private static func text(_ reason: TemporaryIdentity, stateDirectory: String?) -> String {
        let directory: String
        switch reason {
        case .inUse(let used): directory = used
        case .unwritable(let directory, let fault):
            return SafeText.line(
                "a daemon keeps its identity and its chats in \(directory), and nothing can be kept there (\(fault)). "
                    + "Make it writable, or choose another with --state-dir")
        case .noHome:
            return "a daemon keeps its identity and its chats, and HOME is not set. Set it, or choose a directory with "
                + "--state-dir"
        }
        switch DaemonSearch(stateDirectory: stateDirectory) {
        case .found(let daemon):
            daemon.close()
            if daemon.daemon?.isHolder == true {
                return "a prompt of yours runs Inkling already, and other programs use it: quit it first"
            }
            return "a daemon of yours is running already; to see what it does: inkling status"
        case .failure(let failure) where failure.isDaemon:
            return "a daemon of yours is running already: \(failure.reason)"
        case .failure, .noNode: break
        }
        return "another program of yours uses the identity in \(SafeText.line(directory)), a chat or a daemon: end it "
            + "first, or name another --state-dir"
    }

    private func serve(_ node: ServedNode, _ handedOver: ListeningSocket?) {
        let socket: ListeningSocket
        do throws(ListeningSocket.Failure) {
            socket = if let handedOver { handedOver } else { try ListeningSocket(at: path) }
        } catch {
            return node.stop { [self] in
                finish(CommandFailure(text: "can't listen at \(SafeText.line(path)): \(error.text)"))
            }
        }
        let directory = configuration.stateDirectory ?? Configuration.defaultStateDirectory ?? "."
        let host = ServiceHost(
            node, level: .daemon, in: directory, settledName: settings.openChat, announcesAbsence: goesAwayAlone,
            on: loop, logger
        ) { [unowned self] in stop() }
        host.service.messageUnseen = { [unowned self] in unseen($0, $1) }
        host.service.chatRefused = { [logger] chat, error in
            logger.error("the daemon can't be in \(SafeText.line(chat.name)): \(SafeText.line(error.text))")
        }
        phase = .running(host)
        host.service.begin()
        host.listen(on: socket, at: path) { [self] error in
            if let error { return fail("\(error)") }
            RememberedName.keep(node.identity.name, in: configuration.stateDirectory)
            logger.notice(
                "Inkling runs as \(SafeText.line(node.identity.name)). Ctrl-C ends it. User ID: \(node.identity.user), port: \(node.identity.port)"
            )
            if configuration.port != 0, !configuration.acceptsRouted {
                logger.notice("\(Notice.reachableOnLink(port: configuration.port).text)")
            }
            manager.ready()
        }
    }

    // MARK: While another node has the state directory

    /// Checks at the next connection whether the state directory is free.
    private func wait(_ socket: ListeningSocket) {
        loop.assumeIsolated().scheduleTask(in: Self.waitStep) { [self] in
            guard case .waiting = phase else { return }
            var readable = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&readable, 1, 0) > 0 else { return wait(socket) }
            if obstacle != nil {
                turnAway(socket)
                return wait(socket)
            }
            ServedNode.start(configuration, on: loop, logger: logger) { [self] result in
                guard case .success(let node) = result, case .waiting = phase else { return wait(socket) }
                guard node.temporary != nil else { return serve(node, socket) }
                node.stop { [self] in wait(socket) }
            }
        }
    }

    /// Sends each waiting front end the reason why this daemon can't serve it, and closes the connection.
    private func turnAway(_ socket: ListeningSocket) {
        let line = JSONLine(
            on: "error",
            [
                ("code", .string("state-in-use")),
                ("text", .string("Another node uses the state directory, and has to end first.")),
            ])
        while true {
            let connection = accept(socket.descriptor, nil, nil)
            guard connection >= 0 else { return }
            Output(descriptor: connection).offer(line: line.text)
            close(connection)
        }
    }

    // MARK: Messages that no front end shows

    private func unseen(_ timed: TimedEvent, _ rank: SenderRank) {
        guard !hook.command.isEmpty, case .message(let message) = timed.event,
            case .running(let host) = phase
        else { return }
        let node = host.node
        let (chat, sender) = (message.chat, message.sender)
        let label = speakers.label(
            of: sender, node.peer(sender.user, in: chat), in: chat, ownName: node.identity.name, at: Clock.steady
        ) { node.peers(in: chat) }
        hook.run(
            chat: chat, label: label, text: message.text, user: sender.user.description, rank: rank, at: Clock.steady)
        followHook()
    }

    /// Returns the command in the settings; empty if other users could have chosen it.
    private func trusted(_ command: [String]) -> [String] {
        guard let program = command.first else { return [] }
        let fault = HookTrust.fault(
            settings: options.settingsOptions.path(), program: program,
            searchPath: ChatSettings.environment("PATH") ?? "/bin:/usr/bin")
        if let fault { logger.error("\(fault)") }
        return fault == nil ? command : []
    }

    private func followHook() {
        hookTask?.cancel()
        guard let deadline = hook.nextDeadline else { return }
        hookTask = loop.assumeIsolated().scheduleTask(in: .milliseconds(max(deadline - Clock.steady, 1))) { [self] in
            guard case .running(let host) = phase else { return }
            hook.tick(at: Clock.steady) { host.service.isUnseen($0) }
            followHook()
        }
    }

    // MARK: Signals

    private func receive(signal: Int32) {
        switch signal {
        case SIGTERM, SIGINT: stop()
        case SIGHUP: reload()
        case SIGTSTP: SignalPipe.stop()
        default: break
        }
    }

    private func reload() {
        manager.reloading()
        defer { manager.ready() }
        do {
            let change = SettingsChange(
                from: settings, to: try readSettings(), isNamed: options.name != nil,
                choosesInterfaces: options.choosesInterfaces)
            apply(change)
            logger.notice("the settings were read again")
            let advice = change.advice(isService: manager.isThere, process: getpid(), options: options.words)
            if let advice { logger.notice("\(advice)") }
        } catch {
            logger.error("the settings stay as they were: \((error as? CommandFailure)?.text ?? "\(error)")")
        }
    }

    private func apply(_ change: SettingsChange) {
        hook.command = trusted(change.messageHook)
        goesAwayAlone = change.goesAwayAlone
        if let name = change.name { configuration.name = name }
        guard case .running(let host) = phase else { return }
        host.service.announcesAbsence = change.goesAwayAlone
        guard let name = change.name, host.node.identity.name != name else { return }
        host.service.rename(name)
    }

    // MARK: Ending

    private func fail(_ reason: String) {
        logger.error("\(reason)")
        stop()
    }

    /// Says goodbye to all peers. The daemon ends when front ends know of its end and the node has written everything.
    private func stop() {
        switch phase {
        case .starting, .waiting:
            phase = .ending
            finish(nil)
        case .running(let host):
            phase = .ending
            manager.stopping()
            host.stop { [self] in finish(nil) }
        case .ending: break
        }
    }

    private func finish(_ failure: CommandFailure?) {
        phase = .ending
        finished(failure)
    }
}

/// The messages to the service manager that started the daemon, by systemd's protocol (`sd_notify`). Without a service
/// manager the daemon sends none.
package struct ServiceManager {
    private let socket: String?
    /// The interval at which the manager wants a sign of life; nil if it wants none.
    private let watchdogInterval: TimeAmount?

    /// Reads the variables of the service manager.
    ///
    /// - Parameters:
    ///   - environment: looks up a variable.
    ///   - process: the ID of this process.
    package init(environment: (String) -> String?, process: Int32 = getpid()) {
        let path = environment("NOTIFY_SOCKET")
        socket = path.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) }
        let isMeant = environment("WATCHDOG_PID").map { $0 == String(process) } ?? true
        // By convention, the sign of life comes after half of the interval.
        watchdogInterval = isMeant ? microseconds.flatMap { $0 > 1 ? .microseconds($0 / 2) : nil } : nil
    }

    /// Whether a service manager started the daemon.
    package var isThere: Bool { socket != nil }

    /// Reports that the daemon serves front ends.
    package func ready() { notify("READY=1") }

    /// Reports that the daemon reads its settings again. ``ready()`` follows.
    package func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// Reports that the daemon is about to end.
    package func stopping() { notify("STOPPING=1") }

    /// Reports the daemon's state in one line.
    package func status(_ text: String) { notify("STATUS=\(text)") }

    /// Sends signs of life at the manager's interval, from the loop that does the daemon's work. If the loop hangs,
    /// they stop.
    func watch(on loop: any EventLoop) {
        guard let watchdogInterval, socket != nil else { return }
        loop.assumeIsolated().scheduleTask(in: watchdogInterval) { [self] in
            notify("WATCHDOG=1")
            watch(on: loop)
        }
    }

    private func notify(_ state: String) {
        if let socket { UnixSocket.send(state, to: socket) }
    }
}

/// The effects of a changed settings file on a running daemon.
package struct SettingsChange: Equatable {
    /// The new name; nil to keep the current one.
    package let name: String?
    package let messageHook: [String]
    package let goesAwayAlone: Bool
    /// The settings that take effect at the next start, by their full names.
    package let needingRestart: [String]

    /// Compares two versions of the settings.
    ///
    /// - Parameters:
    ///   - started: the settings at the daemon's start.
    ///   - present: the settings in the file now.
    ///   - isNamed: whether an option names the user.
    ///   - choosesInterfaces: whether options choose the interfaces.
    package init(from started: SettingsFile, to present: SettingsFile, isNamed: Bool, choosesInterfaces: Bool) {
        name = isNamed ? nil : present.name.map { NormalForm.canonical($0) }
        messageHook = present.messageHook ?? []
        goesAwayAlone = present.goesAwayAlone ?? true
        let fixed: [(String, Bool)] = [
            ("interfaces.use", !choosesInterfaces && started.interfaces ?? [] != present.interfaces ?? []),
            (
                "interfaces.leave-out",
                !choosesInterfaces && started.excludedInterfaces ?? [] != present.excludedInterfaces ?? []
            ), ("privacy.send-typing", started.sendsTyping ?? true != present.sendsTyping ?? true),
            ("privacy.show-typing", started.showsTyping ?? true != present.showsTyping ?? true),
        ]
        needingRestart = fixed.filter(\.1).map(\.0)
    }

    /// Returns the advice for settings that take effect at the next start; nil if none changed.
    ///
    /// - Parameters:
    ///   - isService: whether a service manager runs the daemon.
    ///   - process: the ID of its process.
    ///   - options: the options at the daemon's start, each with a blank before it.
    package func advice(isService: Bool, process: Int32, options: String) -> String? {
        guard !needingRestart.isEmpty else { return nil }
        let command =
            isService
            ? "systemctl --user restart inkling.service" : "kill \(process), and then inkling daemon\(options)"
        let verb = needingRestart.count == 1 ? "takes" : "take"
        return "\(needingRestart.joined(separator: ", ")) \(verb) effect when the daemon is started again: \(command)"
    }
}
