import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText
import Logging
import NIOCore

/// The surroundings of a session on one event loop: the node, standard input and output, signals, and the time.
final class SessionHost {
    let loop: any EventLoop
    private(set) var settings: ChatSettings
    let output: StandardOutput
    private(set) var node: (any ChatService)?
    private var input: StandardInput?
    private var signals: SignalPipe?
    private var session: (any Session)?
    private let finished: (Int32) -> Void
    /// Whether the session holds back output while standard output is full. False at the end.
    private var holdsBack = true
    /// The daemon that has the node; nil for this program's own node.
    private var daemon: DaemonConnection?
    /// The log of a node of this program's own.
    var logger = Logger(label: "inkling")
    private var hasWarned = false
    private var hasReportedVersion = false
    /// The last failure to attach to a daemon that was reported.
    private var reportedFailure: AttachedNode.Failure?
    private var ticking: (at: Int64, task: Scheduled<Void>)?
    private var phase = Phase.running

    private enum Phase {
        case running
        /// The program has been saying goodbye since this time of the steady clock.
        case ending(since: Int64)
        case over
    }

    /// The signal that ends the program after the goodbye.
    private var endingSignal: Int32?

    /// The time after which another signal ends the program during a slow goodbye, in milliseconds.
    private static let patience: Int64 = 3_000
    /// The longest time for a daemon's answer while a user waits.
    static let longestAnswer = TimeAmount.seconds(5)
    /// The interval of the search for a lost daemon.
    private static let lookStep = TimeAmount.milliseconds(500)
    /// The interval of checks whether this job has the terminal, in microseconds.
    private static let backgroundStep: UInt32 = 100_000

    /// Makes the surroundings of a session.
    ///
    /// - Parameter finished: called once at the end, with the exit status.
    init(_ settings: ChatSettings, on loop: any EventLoop, finished: @escaping (Int32) -> Void) {
        self.settings = settings
        self.loop = loop
        self.finished = finished
        output = StandardOutput(on: loop)
    }

    /// The current time for models.
    var now: Moment { Moment(steady: Clock.steady, wall: Clock.wall) }

    /// Whether the node belongs to a daemon and outlives this program.
    var isAttached: Bool { daemon != nil }
    /// Whether the node, or the one that was lost, belongs to another prompt.
    private(set) var isHolder = false
    /// Whether this program runs a node of its own if the lost one does not come back. A prompt takes the place of a
    /// prompt.
    private var takesPlace: Bool { isHolder && settings.holderPath != nil }

    // MARK: Start

    /// Begins a session on a running node.
    ///
    /// - Parameter daemon: the daemon that has the node; nil for this program's own node.
    func begin(_ node: any ChatService, of daemon: DaemonConnection?, _ session: any Session) {
        self.node = node
        self.daemon = daemon
        isHolder = settings.place(of: node) == .prompt
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
        signals = SignalPipe(on: loop) { [unowned self] in receive(signal: $0) }
        input = StandardInput(on: loop) { [unowned self] piece in
            session.receive(piece)
            settle()
        }
        node.attach { [unowned self] in receive($0) }
        (node as? AttachedNode)?.longestAnswer = session.longestAnswer
        session.begin()
        settle()
    }

    /// Reports a daemon of a different version. The session continues. The report comes only after the join, so that
    /// the prompt is shown first.
    private func reportVersion() {
        guard !hasReportedVersion, let daemon = node as? AttachedNode else { return }
        hasReportedVersion = true
        let text = VersionDifference.text(daemon: daemon.version, program: programVersion)
        if let text { session?.report(notice: text) }
    }

    // MARK: A lost daemon

    /// Searches for the lost node, and then calls `Session.reattached(_:in:)`.
    func reattach() {
        node = nil
        look()
    }

    /// Searches for the daemon once.
    ///
    /// - Parameter isPrompt: whether to search at once, because the node was there a moment ago.
    private func look(isPrompt: Bool = false) {
        loop.assumeIsolated().scheduleTask(in: isPrompt ? .zero : Self.lookStep) { [self] in
            guard case .running = phase, node == nil, let daemon else { return }
            // If no node runs, a connection to the service manager's socket would restart a daemon that the user
            // stopped.
            guard daemon.isNodeThere else { return takesPlace ? takePlace(isPrompt) : missed(isPrompt) }
            guard let connection = try? daemon.again() else { return missed(isPrompt) }
            NodeStart.attach(connection, on: loop) { [self] result in
                guard case .running = phase else { return }
                switch result {
                case .success(let node): attached(node)
                case .failure(let failure):
                    report(failure)
                    missed(isPrompt)
                }
            }
        }
    }

    /// Starts a node of this program's own in place of the lost one.
    private func takePlace(_ isPrompt: Bool) {
        NodeStart.start(settings, on: loop, logger: logger) { [self] result in
            guard case .running = phase, node == nil else { return }
            guard case .success(let node) = result else { return missed(isPrompt) }
            // Another program may hold the state directory by now.
            guard !node.identity.isTemporary else {
                node.attach { _ in }
                return node.stop { [self] in missed(isPrompt) }
            }
            daemon = nil
            attached(node)
        }
    }

    /// Reports once that the program can't use the daemon that it found.
    private func report(_ failure: AttachedNode.Failure) {
        guard case .newerInterface = failure, reportedFailure != failure else { return }
        reportedFailure = failure
        session?.report(notice: SafeText.line(failure.error.text))
    }

    /// Schedules another search after a failed one.
    private func missed(_ isPrompt: Bool) {
        if isPrompt { session?.receive(.ended(.lost)) }
        look()
        settle()
    }

    private func attached(_ node: any ChatService) {
        self.node = node
        let place = settings.place(of: node)
        isHolder = place == .prompt
        hasReportedVersion = false
        followOutput()
        session?.reattached(node.identity, in: place)
        node.attach { [unowned self] in receive($0) }
        settle()
    }

    /// Warns about the limits of an open chat (S-4), in sessions without another text about the chat.
    func warn(of chat: Chat) {
        guard chat.isOpen, !hasWarned else { return }
        hasWarned = true
        Output.error.warn(ofOpen: chat)
    }

    /// Reports a line of the log.
    func report(log: String) {
        session?.report(log: log)
        settle()
    }

    /// Asks for the next piece of input and schedules the next tick. Each event ends with this call.
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

    // MARK: The node

    /// Makes a request of a model. An edit has no answer.
    ///
    /// - Parameter assign: called with the ID of the request before the answer comes.
    func ask(_ request: ServiceRequest, assign: (RequestID) -> Void) {
        guard let node else { return }
        guard !request.isEdit else { return _ = node.report(request) }
        assign(node.nextRequestID)
        node.ask(request)
    }

    /// Passes output to the session. While standard output is full, the node holds a bounded number of events, and the
    /// busiest peers must wait (M-20).
    private func receive(_ output: ServiceOutput) {
        session?.receive(output)
        if case .answer(.joined, _) = output { reportVersion() }
        followOutput()
        settle()
    }

    /// Keeps a new name of the user. If the settings kept the old name, it would return at the next start.
    ///
    /// - Parameter changesSettings: whether to change the settings. Otherwise the user gets only a notice.
    func keep(name: String, changesSettings: Bool = true) {
        if node?.identity.isTemporary == false { RememberedName.keep(name, in: settings.node.stateDirectory) }
        guard let settled = settings.settledName, settled.name != name else { return }
        guard changesSettings else {
            session?.report(
                notice: "The next start takes the name from \(settled.path) again; to keep this one, change \"name\" "
                    + "there")
            return
        }
        if keep(.name(name), in: settled.path) { settings.settledName?.name = name }
    }

    /// Keeps the choice whether the terminal rings.
    func keep(bell isOn: Bool) {
        guard let path = settings.settingsPath else {
            session?.report(notice: "This holds until you quit, because no settings are read.")
            return
        }
        _ = keep(.bell(isOn), in: path)
    }

    /// Keeps the choice whether the icon of the desktop starts at each login.
    func keep(autostart isOn: Bool) {
        do throws(TrayAutostart.Failure) {
            session?.report(notice: try TrayAutostart(stateDirectory: settings.node.stateDirectory).set(isOn))
        } catch {
            session?.report(notice: error.text)
        }
    }

    private func keep(_ edit: SettingsEdit, in path: String) -> Bool {
        let fault = edit.write(to: path)
        session?.report(
            notice: fault.map { "This holds until you quit, because \(path) \($0). Change the setting there." }
                ?? "Saved in \(path)")
        return fault == nil
    }

    /// Writes a line. While standard output is full, the node holds its events.
    func write(_ line: [UInt8]) {
        output.write(line)
        followOutput()
    }

    private func followOutput() {
        let takesEvents = !holdsBack || !output.isFull
        guard let node, node.takesEvents != takesEvents else { return }
        node.takesEvents = takesEvents
    }

    /// Writes all waiting output at the end, even into a full standard output.
    func stopHoldingBack() {
        holdsBack = false
        followOutput()
    }

    // MARK: Signals

    private func receive(signal: Int32) {
        switch phase {
        case .running:
            session?.receive(signal: signal)
            settle()
        case .ending(let since):
            guard SignalPipe.ending.contains(signal), Clock.steady - since > Self.patience else { return }
            Terminal.abandon()
            _exit(1)
        case .over: break
        }
    }

    /// Says goodbye, stops the process, and calls `done` after the process continues.
    ///
    /// - Parameters:
    ///   - wholeJob: whether to stop the other processes of the job too. A key makes this necessary. A signal reaches
    ///     them anyway.
    ///   - done: called with false if a signal to end came during the stop. The terminal may then belong to another
    ///     job.
    func suspend(wholeJob: Bool, done: @escaping (_ goesOn: Bool) -> Void) {
        guard let node else {
            defer { settle() }
            return done(Self.stop(wholeJob: wholeJob))
        }
        let isLeft = isAttached && session?.attachesAgain == true
        if isLeft {
            // After the stop, the session gets a new connection.
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
        // The rest of the job stops first. If the signal reaches this process too, it only counts as an event until its
        // own stop.
        if wholeJob { SignalPipe.stopOthers() }
        SignalPipe.stop()
        // A process in the background can't use the terminal, so the program stays stopped until the job is in front.
        while Terminal.isOthers {
            // The signal to end may arrive just after the signal to continue. If no shell controls the job, the stop
            // has no effect, and the sleep limits this loop.
            usleep(backgroundStep)
            if SignalPipe.isEndWanted { return false }
            guard Terminal.isOthers else { break }
            SignalPipe.stop()
        }
        return true
    }

    // MARK: Ending

    /// Ends like ``finish(status:)``, and then dies by the signal, so that a shell stops its list of commands too.
    func finish(by signal: Int32) {
        guard case .running = phase else { return }
        endingSignal = signal
        finish(status: 1)
    }

    /// Says goodbye to all peers. The program ends after its last output.
    func finish(status: Int32) {
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
    /// Milliseconds of a clock that never runs backwards, and counts sleep of the machine.
    static var steady: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Milliseconds of a clock that never runs backwards, and stands still while the machine sleeps.
    static var awake: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The time of day.
    static var wall: Timestamp { Node.wallClock() }
}

/// The start of a session's node.
enum NodeStart {
    /// Starts a node of the program's own.
    ///
    /// - Parameter completion: called on the loop.
    static func start(
        _ settings: ChatSettings, on loop: any EventLoop, logger: Logger,
        completion: @escaping (Result<any ChatService, NodeError>) -> Void
    ) {
        ServedNode.start(settings.node, on: loop, logger: logger) { result in
            completion(result.map { serve($0, settings, on: loop, logger) })
        }
    }

    /// Returns the front end of a node that has just started. A prompt's node is one for all programs of the user.
    private static func serve(
        _ node: ServedNode, _ settings: ChatSettings, on loop: any EventLoop, _ logger: Logger
    ) -> any ChatService {
        let path = node.temporary == nil ? settings.holderPath : nil
        let host = ServiceHost(
            node, level: path == nil ? .driven : .holder, in: settings.node.stateDirectory,
            settledName: settings.settledChat, on: loop, logger
        ) { node.stop {} }
        guard let frontEnd = host.service.attach(isPatient: true) else { preconditionFailure("it is the first") }
        host.service.begin()
        guard let path else { return frontEnd }
        let failed: (String) -> Void = { reason in
            let text = "other programs of yours can't use this prompt's node: can't listen at \(SafeText.line(path))"
            logger.error("\(text): \(reason)")
        }
        do throws(ListeningSocket.Failure) {
            host.listen(on: try ListeningSocket(at: path), at: path) { if let error = $0 { failed("\(error)") } }
        } catch {
            failed(error.text)
        }
        return frontEnd
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
