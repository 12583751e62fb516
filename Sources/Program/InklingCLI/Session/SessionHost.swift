import Glibc
import Inkling
import InklingConsole
import InklingControl
import InklingModel
import InklingText
import NIOCore

/// What a session stands on: the node, standard input and output, signals and the time, all on one event loop.
final class SessionHost {
    let loop: any EventLoop
    private(set) var settings: ChatSettings
    let output: StandardOutput
    private(set) var node: (any ChatService)?
    private var input: StandardInput?
    private var signals: SignalPipe?
    private var session: (any Session)?
    private let finished: (Int32) -> Void
    /// Not any more at the end.
    private var holdsBack = true
    /// The daemon that the node belongs to, if it does.
    private var daemon: DaemonConnection?
    private var hasWarned = false
    private var hasToldVersion = false
    /// Why the daemon that was found last is of no use.
    private var toldFailure: AttachedNode.Failure?
    private var ticking: (at: Int64, task: Scheduled<Void>)?
    private var phase = Phase.running

    private enum Phase {
        case running
        /// The program says goodbye, since then on the steady clock.
        case ending(since: Int64)
        case over
    }

    /// The signal that the program is to end by.
    private var endingSignal: Int32?

    /// How long the end may take before another signal ends the program at once.
    private static let patience: Int64 = 3_000
    /// How long a daemon may take to answer a command that somebody waits for.
    static let longestAnswer = TimeAmount.seconds(5)
    /// How often a daemon that is gone is looked for.
    private static let lookStep = TimeAmount.milliseconds(500)
    /// Microseconds between two looks at the terminal.
    private static let backgroundStep: UInt32 = 100_000

    /// - Parameter finished: called once, with the exit status, when all is done.
    init(_ settings: ChatSettings, on loop: any EventLoop, finished: @escaping (Int32) -> Void) {
        self.settings = settings
        self.loop = loop
        self.finished = finished
        output = StandardOutput(on: loop)
    }

    /// The present time, as models take it.
    var now: Moment { Moment(steady: Clock.steady, wall: Clock.wall) }

    /// Whether the node is a daemon's, which was there before and will be there afterwards.
    var isAttached: Bool { daemon != nil }

    // MARK: Beginning

    /// The node is up: a session begins.
    ///
    /// - Parameter daemon: whose node it is, if it is not the program's own.
    func begin(_ node: any ChatService, of daemon: DaemonConnection?, _ session: any Session) {
        self.node = node
        self.daemon = daemon
        self.session = session
        output.drained = { [unowned self] in
            session.outputDrained()
            followOutput()
            settle()
        }
        output.abandoned = { [unowned self] in
            session.outputAbandoned()
            settle()
        }
        signals = SignalPipe(on: loop) { [unowned self] in took(signal: $0) }
        input = StandardInput(on: loop) { [unowned self] piece in
            session.take(piece)
            settle()
        }
        node.attach { [unowned self] in take($0) }
        (node as? AttachedNode)?.longestAnswer = session.longestAnswer
        session.begin()
        settle()
    }

    /// A daemon of another version is used as far as it goes. That is said once a chat is joined, so that it does not
    /// come before the prompt.
    private func tellOfVersion() {
        guard !hasToldVersion, let daemon = node as? AttachedNode else { return }
        hasToldVersion = true
        let text = VersionDifference.text(daemon: daemon.version, program: programVersion)
        if let text { session?.take(notice: text) }
    }

    // MARK: A daemon that goes

    /// The node is gone: it is looked for until it is back, and then `Session.reattached(_:)` is called.
    func reattach() {
        node = nil
        look()
    }

    /// - Parameter isPrompt: whether it is looked for at once, as it was there a moment ago.
    private func look(isPrompt: Bool = false) {
        loop.assumeIsolated().scheduleTask(in: isPrompt ? .zero : Self.lookStep) { [self] in
            guard case .running = phase, node == nil, let daemon else { return }
            // Where a service manager listens for it, a connection would start what the user has ended.
            guard daemon.isNodeThere, let connection = try? daemon.again() else { return missed(isPrompt) }
            NodeStart.attach(connection, on: loop) { [self] result in
                guard case .running = phase else { return }
                switch result {
                case .success(let node): attached(node)
                case .failure(let failure):
                    tellOf(failure)
                    missed(isPrompt)
                }
            }
        }
    }

    /// Another daemon is there, which is of no use here. It is said once.
    private func tellOf(_ failure: AttachedNode.Failure) {
        guard case .newerInterface = failure, toldFailure != failure else { return }
        toldFailure = failure
        session?.take(notice: SafeText.line(failure.error.text))
    }

    /// It is not there.
    private func missed(_ isPrompt: Bool) {
        if isPrompt { session?.take(.ended(.lost)) }
        look()
        settle()
    }

    private func attached(_ node: any ChatService) {
        self.node = node
        hasToldVersion = false
        followOutput()
        session?.reattached(node.identity)
        node.attach { [unowned self] in take($0) }
        settle()
    }

    /// Says what an open chat does not give (S-4); for sessions that say nothing else of the chat.
    func warn(of chat: Chat) {
        guard chat.isOpen, !hasWarned else { return }
        hasWarned = true
        Output.error.warn(ofOpen: chat)
    }

    /// A line of the log is to be shown.
    func take(log: String) {
        session?.take(log: log)
        settle()
    }

    /// After anything has happened: the next piece of input, and the next time.
    private func settle() {
        guard case .running = phase, let session else { return }
        if session.wantsInput, !output.isFull { input?.demand() }
        schedule(session.nextTick)
    }

    private func schedule(_ time: Int64?) {
        guard ticking?.at != time else { return }
        ticking?.task.cancel()
        ticking = nil
        guard let time else { return }
        let delay = TimeAmount.milliseconds(max(time - Clock.steady, 0))
        let task = loop.assumeIsolated().scheduleTask(in: delay) { [unowned self] in
            ticking = nil
            session?.tick()
            settle()
        }
        ticking = (time, task)
    }

    // MARK: What the node says

    /// While the output is full, what counts of the events waits in the node, bounded, and the peers who send the most
    /// wait with it (M-20).
    private func take(_ said: ServiceOutput) {
        session?.take(said)
        if case .answer(.joined, _) = said { tellOfVersion() }
        followOutput()
        settle()
    }

    /// The user's name is to last. Where the settings give one, they would bring back the old one.
    ///
    /// - Parameter changesSettings: whether to change the name there; not for a program, which says itself what to do.
    func keep(name: String, changesSettings: Bool = true) {
        if node?.identity.isTemporary == false { RememberedName.keep(name, in: settings.node.stateDirectory) }
        guard let settled = settings.settledName, settled.name != name else { return }
        guard changesSettings else {
            session?.take(
                notice: "The next start takes the name from \(settled.path) again; to keep this one, change \"name\" "
                    + "there")
            return
        }
        if keep(.name(name), in: settled.path) { settings.settledName?.name = name }
    }

    /// Whether the terminal rings is to last.
    func keep(bell isOn: Bool) {
        guard let path = settings.settingsPath else {
            session?.take(notice: "This holds until you quit, because no settings are read.")
            return
        }
        _ = keep(.bell(isOn), in: path)
    }

    private func keep(_ edit: SettingsEdit, in path: String) -> Bool {
        let fault = edit.write(to: path)
        session?.take(
            notice: fault.map { "This holds until you quit, because \(path) \($0). Change the setting there." }
                ?? "Saved in \(path)")
        return fault == nil
    }

    private func followOutput() {
        let takesEvents = !holdsBack || !output.isFull
        guard let node, node.takesEvents != takesEvents else { return }
        node.takesEvents = takesEvents
    }

    /// It is the end: everything that waits goes out, whatever the output has room for.
    func stopHoldingBack() {
        holdsBack = false
        followOutput()
    }

    // MARK: Signals

    private func took(signal: Int32) {
        switch phase {
        case .running:
            session?.take(signal: signal)
            settle()
        case .ending(let since):
            guard SignalPipe.ending.contains(signal), Clock.steady - since > Self.patience else { return }
            Terminal.abandon()
            _exit(1)
        case .over: break
        }
    }

    /// Says goodbye, stops the program, and calls back when it is continued.
    ///
    /// - Parameters:
    ///   - wholeJob: whether the processes that were started with this one are to stop too: where a key said so, and
    ///     not a signal that they had as well.
    ///   - done: called with whether it goes on. If not, it was told to end while it was stopped; the terminal may be
    ///     another job's.
    func suspend(wholeJob: Bool, done: @escaping (_ goesOn: Bool) -> Void) {
        guard let node else {
            defer { settle() }
            return done(Self.stop(wholeJob: wholeJob))
        }
        let isLeft = isAttached && session?.outlivesNode == true
        if isLeft {
            // What goes on afterwards has a connection of its own.
            node.attach { _ in }
            self.node = nil
        }
        node.suspend { [unowned self] in
            let goesOn = Self.stop(wholeJob: wholeJob)
            if goesOn, !isLeft { node.resume() }
            done(goesOn)
            if goesOn, isLeft { look(isPrompt: true) }
            settle()
        }
    }

    private static func stop(wholeJob: Bool) -> Bool {
        // The rest of the job first, while the own process still takes it for an event.
        if wholeJob { SignalPipe.stopOthers() }
        SignalPipe.stop()
        // Continued in the background it could not use the terminal: it stays away until it is in front.
        while Terminal.isOthers {
            // What continued it may have come together with a signal to end, which is heard a little later. Where no
            // shell is left to continue it, a stop does nothing, and this is what it waits with.
            usleep(backgroundStep)
            if SignalPipe.isEndWanted { return false }
            guard Terminal.isOthers else { break }
            SignalPipe.stop()
        }
        return true
    }

    // MARK: Ending

    /// As ``end(status:)``; then the program ends by a signal, as if nobody had asked to hear of it: where a shell runs
    /// several commands, it ends with this one.
    func end(by signal: Int32) {
        guard case .running = phase else { return }
        endingSignal = signal
        end(status: 1)
    }

    /// Says goodbye to all, and ends when everything is written.
    func end(status: Int32) {
        guard case .running = phase else { return }
        stopHoldingBack()
        phase = .ending(since: Clock.steady)
        ticking?.task.cancel()
        let leave = { [unowned self] in
            output.whenEmpty { [unowned self] in
                phase = .over
                if let endingSignal { SignalPipe.die(of: endingSignal) }
                finished(status)
            }
        }
        guard let node else { return leave() }
        node.stop { leave() }
    }
}

/// The clocks of the program.
enum Clock {
    /// Milliseconds of a clock that never goes back, and runs while the machine sleeps.
    static var steady: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Seconds since 1970.
    static var wall: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec / 1_000) / 1_000_000
    }
}
