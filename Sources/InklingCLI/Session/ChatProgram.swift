import Foundation
import Inkling
import InklingConsole
import InklingText
import Logging

/// What the sessions of all modes share.
@MainActor
struct SessionContext {
    let node: Node
    let settings: ChatSettings
    let queue: SessionEventQueue
    let input: InputThread
    let signals: SignalWatch

    /// Says goodbye, stops the program, and comes back when it is continued.
    ///
    /// - Parameter wholeJob: whether the processes that were started with this one are to stop too: where a key said
    ///   so, and not a signal that they had as well.
    /// - Returns: Whether it goes on. If not, it was told to end while it was stopped; the terminal may be another
    ///   job's.
    @discardableResult
    func suspendProgram(wholeJob: Bool) async -> Bool {
        await node.suspend()
        var goesOn = true
        signals.muteStops {
            stop(wholeJob: wholeJob)
            // Continued in the background it could not use the terminal: it stays away until it is in front.
            while Terminal.isOthers {
                // What continued it may have come together with a signal to end, which is heard a little later. Where
                // no shell is left to continue it, a stop does nothing, and this is what it waits with.
                usleep(Self.backgroundStep)
                goesOn = !signals.isEndWanted
                guard goesOn, Terminal.isOthers else { break }
                stop(wholeJob: false)
            }
        }
        if goesOn { await node.resume() }
        return goesOn
    }

    /// Microseconds between two looks at the terminal.
    private static let backgroundStep: UInt32 = 100_000

    private func stop(wholeJob: Bool) {
        // The signal sources keep the signal blocked; blocked it would wait instead of stopping us.
        var stop = sigset_t()
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        var before = sigset_t()
        pthread_sigmask(SIG_UNBLOCK, &stop, &before)
        // The rest of the job first, while the own process still takes it for an event.
        if wholeJob { kill(0, SIGTSTP) }
        // What the signal source has set is put back: the next stop is to be heard of as well.
        var action = sigaction()
        sigaction(SIGTSTP, nil, &action)
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        sigaction(SIGTSTP, &action, nil)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}

extension SessionContext {
    /// For how long the end waits for the answers to what was sent a moment ago: a lost datagram is sent again some
    /// times meanwhile.
    private static let patience = Duration.seconds(2)
    /// What ends a session may come as several signals at once: a terminal that goes has both shell and system tell it.
    private static let echo = Duration.milliseconds(300)
    /// Ctrl-C and Ctrl-D of a terminal whose keys come one by one.
    private static let endingKeys: Set<UInt8> = [0x03, 0x04]

    /// Sends what waits yet, and returns when all is answered for, when that takes too long, or when whoever ended the
    /// session does so once more: by such a key, or by a signal that is no echo of the first.
    ///
    /// - Returns: Whether all is answered for.
    @discardableResult
    func finish(
        _ chats: ChatController, _ events: inout SessionEvents.Iterator, show: ([Line]) -> Void
    ) async -> Bool {
        signals.beginStep()
        show(await chats.finish())
        self.queue.after(Self.patience, .patience)
        let begin = ContinuousClock.now
        waiting: while chats.hasUnanswered, let event = await events.next(isolation: #isolation) {
            switch event {
            case .node(let event):
                show(await chats.take(event.event))
            case .input(let bytes):
                if settings.mode == .terminal, bytes.contains(where: Self.endingKeys.contains) { break waiting }
                input.proceed()
            case .signal(let number) where SignalWatch.ending.contains(number):
                if begin.duration(to: .now) > Self.echo { break waiting }
            case .time(.patience), .nodeEnded: break waiting
            default: break
            }
        }
        let isAnswered = !chats.hasUnanswered
        show(chats.abandon())
        return isAnswered
    }

    /// Says goodbye to all.
    func end() async {
        signals.beginStep()
        await node.stop()
    }
}

/// Starts a node and runs the session of the mode that was asked for.
///
/// Sessions run on the main actor: waiting for a slow reader of the output then holds up no thread that the node
/// needs.
@MainActor
enum ChatProgram {
    /// - Returns: the exit status.
    static func run(_ settings: ChatSettings) async throws -> Int32 {
        let queue = SessionEventQueue()
        let signals = SignalWatch(queue)
        let logger = Logs.logger(settings, queue)
        let node: Node
        do {
            node = try await Node.start(settings.node, logger: logger)
            if !node.isTemporary { RememberedName.keep(node.name, in: settings.node.stateDirectory) }
            queue.follow(await node.events())
            try await node.join(settings.chat)
        } catch {
            throw CommandFailure(text: SafeText.line(error.text))
        }
        let input = InputThread(queue)
        let context = SessionContext(
            node: node, settings: settings, queue: queue, input: input, signals: signals)
        switch settings.mode {
        case .json: return await JSONSession(context).run()
        case .plain: return await PlainSession(context).run()
        case .terminal: return await TerminalSession(context).run()
        }
    }
}

/// Where log lines go.
enum Logs {
    static func logger(_ settings: ChatSettings, _ queue: SessionEventQueue) -> Logger {
        // A log on the same terminal as the prompt has to pass through its screen.
        let throughScreen = settings.mode == .terminal && isatty(STDERR_FILENO) == 1
        var logger = Logger(label: "inkling") { label in
            if throughScreen { return ScreenLogHandler(queue) }
            return StreamLogHandler.standardError(label: label)
        }
        logger.logLevel = settings.logLevel
        return logger
    }
}

/// Hands log lines to the session that draws the screen.
struct ScreenLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error
    private let queue: SessionEventQueue

    init(_ queue: SessionEventQueue) {
        self.queue = queue
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        queue.add(.log("\(event.level): \(event.message)\(pairs)"))
    }
}
