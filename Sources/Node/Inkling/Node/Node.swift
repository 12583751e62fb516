import InklingCore
import InklingWire
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A node: one identity in up to 32 chats (L-39). Only the node performs the protocol's outputs.
///
/// Start a node with ``start(_:logger:)`` and ``join(_:)-(String)`` a chat. Use the chat by the ``ChatHandle`` that
/// this returns, or by its name. Any task may call any method.
///
/// The actor runs on the event loop of its socket. ``ChatHandle/compose(_:)`` and ``ChatHandle/send(_:)`` run on the
/// caller's thread if the node is idle. Nothing suspends between an input to the protocol and the draining of its outputs.
/// So datagrams leave and events arrive in the order that the protocol decided.
public actor Node {
    /// The event loop of the socket, on which the whole node runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Runs `body` on the node, as a turn or within the present one. The caller is on the node's event loop.
    package nonisolated func onLoop<Result>(_ body: (isolated Node) throws -> Result) rethrows -> Result {
        try withoutActuallyEscaping(body) { body in
            let body = unsafeBitCast(body, to: ((Node) throws -> Result).self)
            return try executor.onLoop { try body(self) }
        }
    }

    /// Runs `body` on the node, on the caller's thread, if the node is idle. The body does nothing but change the protocol's
    /// state and send.
    ///
    /// - Returns: Nil if the node is not idle, or the body returned nil.
    package nonisolated func atOnce<Result>(_ body: (isolated Node) -> Result?) -> Result? {
        withoutActuallyEscaping(body) { body in
            let body = unsafeBitCast(body, to: ((Node) -> Result?).self)
            return executor.atOnce { body(self) }
        }
    }

    @available(*, unavailable, message: "onLoop begins a turn")
    nonisolated func assumeIsolated<Result>(_ body: (isolated Node) throws -> Result) rethrows -> Result {
        try onLoop(body)
    }

    /// This node's user ID.
    public nonisolated let user: UserID
    /// This node's static public key.
    public nonisolated let key: PublicKey
    /// This node's display name, in NFC.
    public nonisolated var name: String { currentName.withLock { $0 } }
    /// The fingerprint of this node's key. To compare with somebody, use ``fingerprint(with:)``.
    public nonisolated let fingerprint: Fingerprint
    /// The UDP port of the node, 1 to 65,535.
    public nonisolated let port: UInt16
    /// Whether the identity ends with this node: by its configuration, or because of ``Notice/identityTemporary(_:)``.
    public nonisolated let isTemporary: Bool

    nonisolated let executor: NodeExecutor
    /// The executor for tasks that read the node's sequences on its own thread. They get each element without a change of
    /// thread:
    ///
    /// ```swift
    /// Task(executorPreference: node.taskExecutor) { for await people in chat.typing { show(people) } }
    /// ```
    ///
    /// Meanwhile the node does nothing else, so such a task waits for nothing but sequences and calls of the library.
    public nonisolated let taskExecutor: any TaskExecutor
    package nonisolated let eventLoop: any EventLoop
    nonisolated let currentName: Mutex<String>
    /// The thread for work that would block the event loop.
    let worker: Worker
    let logger: Logger
    let configuration: Configuration
    let socket: UDPSocket
    let keyStore: KeyStore?
    var lastWill: LastWill?
    let clock = NodeClock()
    let awakeClock = AwakeClock()
    /// The start of the node.
    let started = Node.wallClock()
    var nodeAge: NodeAge
    var random = SystemRandomNumberGenerator()
    // One turn at a time uses it, and none of its methods can call the node. So accesses never overlap.
    @exclusivity(unchecked) var endpoint: Endpoint
    var discovery: Discovery?
    var channel: (any Channel)?

    /// The chats that the node is in, in the order in which it joined them.
    var joined: [JoinedChat] = []
    var observers = Observers()
    var readers = EventReaders()
    /// The taker of the events on this event loop, if there is one.
    var sink: NIOLoopBound<any EventSink>? {
        didSet { readers.hasSink = sink != nil }
    }
    /// The events that the sink gets next.
    var untold = CircularBuffer<TimedEvent>(initialCapacity: 0)
    /// Whether the sink is getting events, or the node is performing outputs. Meanwhile, new events wait.
    var isDelivering = false
    var isDraining = false
    nonisolated let ownKey: PublicKey
    var openInvitations = Invitations()
    var texts = NodeTexts()
    var moving = Moving()
    var peersByHand = PeersByHand()
    /// The people this user's nodes know, in all chats and runs.
    var knownPeers = KnownPeers()
    /// The write of changes of known peers that is due.
    var knownPeersTimer: Scheduled<Void>?
    /// Whether the user decided about people since the last write.
    var hasDecided = false
    /// Whether the last write of known peers failed.
    var isFailingToKeep = false
    var state: NodeState
    /// The beginning of the last write of known peers.
    var knownPeersSaved: Instant?
    /// Verified people, and those met on two days at least 24 h apart. The protocol prefers them to strangers.
    package var preferredPeers: Set<PublicKey> { Set(endpoint.standings.keys) }
    /// The bytes of text that wait for readers of events, as M-20 counts them.
    package var heldText: Int { endpoint.heldText }
    /// The stays of the people who are present, in any chat.
    var stays: [PublicKey: Stay] = [:]
    var countingTimer: Scheduled<Void>?
    /// The users blocked permanently, as last passed to the protocol.
    var keptBlocks: Set<UserID> = []
    /// The keys of these users.
    var blockedKeys: [PublicKey] = []
    var sendErrors: [String: Int] = [:]
    /// The number of datagrams that arrived over an interface that the node does not use.
    var datagramsElsewhere = 0
    /// Notices that came while the node had no reader.
    var earlyNotices: [TimedEvent] = []
    /// Notices that still apply.
    var standingNotices = StandingNotices()
    var lifecycle = Lifecycle.running
    /// The timers for deadlines of the protocol, the earliest last.
    private var wakes: [(at: Instant, timer: NIOScheduledCallback)] = []
    /// Whether the node also wakes soon because a person is shown as typing.
    private var wakesWhileTyping = false
    private var interfaceMonitor: InterfaceMonitor?
    private var interfaces: UsedInterfaces
    /// The addresses from which this host can send, including those on interfaces that the node does not use.
    private var ownAddresses = OwnAddresses.current()
    /// The arrival of the datagram that the node is processing. Answers leave from its address (L-50).
    var arrival: Arrival?

    enum Lifecycle {
        case running
        /// The node is sending farewells and writing known peers. The closures belong to callers that wait for the end.
        case ending([@Sendable () -> Void])
        case ended
    }

    /// Whether `stop()` was called.
    var isStopped: Bool {
        if case .running = lifecycle { false } else { true }
    }

    // MARK: Starting

    /// Starts a node: opens the state directory, binds the socket, and begins discovery. The new node is in no chat. A
    /// node runs until ``stop()``, even if nothing refers to it any more.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the node.
    ///   - logger: The logger for the diagnosis of faults. Secrets, keys, drafts and texts are in no log (S-2).
    /// - Throws: ``NodeError/name(_:)``, ``NodeError/stateDirectory(_:)``, ``NodeError/portTaken(_:)``,
    ///   ``NodeError/portNotAllowed(_:)``, ``NodeError/bindAddress(_:)``,
    ///   ``NodeError/bindAddressWithoutInterface(_:)``, ``NodeError/interface(_:known:)``,
    ///   ``NodeError/peerAddress(_:_:)`` or ``NodeError/socket(_:)``. Nothing runs then.
    public static func start(_ configuration: Configuration, logger: Logger) async throws(NodeError) -> Node {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        do {
            return try await start(configuration, on: eventLoop, logger: logger).get()
        } catch {
            throw error as? NodeError ?? .socket("\(error)")
        }
    }

    /// Starts a node as ``start(_:logger:)`` does, on the thread of an event loop of SwiftNIO's own.
    ///
    /// If the caller is on that event loop, the call reads the state directory before it returns. Slow work does not
    /// block the thread: resolving names, and waiting for a port that is not free yet.
    ///
    /// - Returns: The node when it is up, or a ``NodeError``.
    package static func start(
        _ configuration: Configuration, on eventLoop: any EventLoop, logger: Logger
    ) -> EventLoopFuture<Node> {
        let worker = Worker()
        let prepared: EventLoopFuture<NodePreparation> =
            eventLoop.inEventLoop && !NodePreparation.takesTime(configuration)
            ? eventLoop.makeCompletedFuture { try NodePreparation(configuration) }
            : worker.run(on: eventLoop) { Result { try NodePreparation(configuration) } }
                .flatMapResult { $0 }
        return prepared.flatMap { preparation in
            bind(configuration, address: preparation.bindAddress, on: eventLoop).flatMap { socket in
                let node = Node(
                    configuration: configuration, preparation, socket: socket, worker: worker, on: eventLoop,
                    logger: logger)
                return node.onLoop { $0.begin(preparation) }.map { node }
            }
        }
    }

    private init(
        configuration: Configuration, _ preparation: NodePreparation, socket: UDPSocket, worker: Worker,
        on eventLoop: any EventLoop, logger: Logger
    ) {
        let identity = preparation.identity
        self.configuration = configuration
        currentName = Mutex(preparation.name)
        executor = NodeExecutor(on: eventLoop)
        taskExecutor = LoopTaskExecutor(on: eventLoop)
        self.logger = logger
        self.socket = socket
        self.worker = worker
        keyStore = preparation.keyStore
        interfaces = preparation.interfaces
        self.eventLoop = eventLoop
        user = identity.publicKey.userID
        ownKey = identity.publicKey
        key = identity.publicKey
        fingerprint = Fingerprint(of: identity.publicKey)
        port = socket.port
        isTemporary = keyStore?.directory == nil
        state = NodeState(preparation.state)
        nodeAge = NodeAge(preparation.state?.contents.age ?? AgeCounter(configuration.clocks()))
        endpoint = Endpoint(
            configuration: .init(
                identity: identity, name: preparation.name,
                sendsTyping: configuration.sendsTyping, acceptsRouted: configuration.acceptsRouted,
                isOwnUsers: SocketOwner.check()),
            now: clock.now, random: SystemRandomNumberGenerator())
    }

    /// Binds the port. Retries if the port is taken, because the helper of a killed node may hold it for a moment.
    private static func bind(
        _ configuration: Configuration, address: Address?, on eventLoop: any EventLoop,
        until end: ContinuousClock.Instant = .now + NodeLimits.portPatience
    ) -> EventLoopFuture<UDPSocket> {
        do {
            return eventLoop.makeSucceededFuture(try openSocket(configuration, address: address))
        } catch {
            guard case .portTaken = error, ContinuousClock.now < end else { return eventLoop.makeFailedFuture(error) }
        }
        return eventLoop.flatScheduleTask(in: TimeAmount(NodeLimits.portStep)) {
            bind(configuration, address: address, on: eventLoop, until: end)
        }.futureResult
    }

    private static func openSocket(_ configuration: Configuration, address: Address?) throws(NodeError) -> UDPSocket {
        do {
            return try UDPSocket(port: configuration.port, address: address)
        } catch {
            switch error {
            case .portTaken: throw .portTaken(configuration.port)
            case .portNotAllowed: throw .portNotAllowed(configuration.port)
            case .notOwnAddress: throw Resolution.bindFault(configuration.bindAddress ?? "")
            case .system(let reason): throw .socket(reason)
            }
        }
    }

    /// Returns the names of the interfaces that a node of this configuration uses.
    package static func interfaceNames(_ configuration: Configuration) throws(NodeError) -> [String] {
        let selected = try Interfaces.select(configuration.interfaceSelection, from: Interfaces.all())
        return selected.filter { !$0.isLoopback }.map(\.name)
    }

    /// Starts the helper. Without it the node still runs, and reports once that the helper is missing.
    private func startLastWill() {
        do {
            lastWill = try LastWill(
                path: configuration.lastWillHelper, socket: socket.descriptor, eventLoop: eventLoop)
            endpoint.keepsWills(now: clock.now)
        } catch {
            switch error {
            case .missing(let program): tell(.notice(.lastWillOff(.missing(path: program))))
            case .system(let reason): tell(.notice(.lastWillOff(.failed(reason: reason))))
            }
        }
        drain()
    }

    /// Opens the channel and begins to receive.
    ///
    /// - Returns: Completes when the node receives datagrams, or with a ``NodeError`` if it can't.
    private func begin(_ preparation: NodePreparation) -> EventLoopFuture<Void> {
        if configuration.lastWill { startLastWill() }
        endpoint.setNetworks(interfaces.networks, own: ownAddresses, port: port, now: clock.now)
        let headers = DatagramHeaders(for: socket)
        let receiver = DatagramReceiver(node: self, headers: headers)
        return NIOPipeBootstrap(group: eventLoop)
            .channelOption(.recvAllocator, value: headers)
            .channelOption(.maxMessagesPerRead, value: NodeLimits.datagramsPerRead)
            .channelInitializer { $0.pipeline.addHandler(receiver) }
            .takingOwnershipOfDescriptor(input: socket.descriptor)
            .map { [self] channel in onLoop { $0.channel = channel } }
            .flatMapErrorThrowing { throw NodeError.socket("\($0)") }
            .map { [self] in onLoop { $0.open(preparation) } }
    }

    private func open(_ preparation: NodePreparation) {
        addPeers(preparation.peers)
        if let temporary = keyStore?.temporary {
            tell(.notice(.identityTemporary(temporary)))
        }
        if configuration.acceptsRouted {
            tell(.notice(.reachableFromAnywhere(port: port)))
        } else if configuration.port != 0 {
            tell(.notice(.reachableOnLink(port: port)))
        }
        scheduleAge()
        if let opening = preparation.state { openState(opening) }
        if configuration.discovery {
            let loop = eventLoop
            discovery = Discovery(interfaces: configuration.interfaceSelection, logger: logger) { [weak self] event in
                loop.execute { [weak self] in self?.onLoop { $0.discovered(event) } }
            }
        }
        browseDepartedChats()
        watchInterfaces()
        drain()
    }

    // MARK: Interfaces

    private func watchInterfaces() {
        let monitor = InterfaceMonitor(on: eventLoop) { [weak self] in
            self?.onLoop { $0.lookAtInterfaces() }
        }
        if !monitor.isNotified { logger.info("the system does not announce changes of its networks") }
        interfaceMonitor = monitor
        // Finds changes that happened before the monitor started.
        lookAtInterfaces()
    }

    /// Applies changes of addresses and interfaces.
    private func lookAtInterfaces() {
        guard !isStopped else { return }
        discovery?.lookAtInterfaces()
        let all = Interfaces.all()
        guard let current = try? UsedInterfaces(configuration.interfaceSelection, from: all, isStrict: false) else {
            return
        }
        let networks = current.networks
        let own = OwnAddresses.current()
        let isChange = networks != interfaces.networks || own != ownAddresses
        interfaces = current
        ownAddresses = own
        guard isChange else { return }
        logger.info("the networks of this host changed", metadata: ["networks": "\(networks.count)"])
        endpoint.setNetworks(networks, own: own, port: port, now: clock.now)
        drain()
    }

    // MARK: Inputs

    /// Processes a datagram. Ignores a datagram whose arrival is unknown, or that came over an interface that the node
    /// does not use (D-15).
    func received(_ bytes: [UInt8], from address: Address, at arrival: Arrival?, hopLimit: Int?) {
        guard !isStopped else { return }
        guard let arrival, interfaces.take(arrival) else {
            datagramsElsewhere += 1
            return
        }
        self.arrival = arrival
        defer { self.arrival = nil }
        let isNamedTunnel = interfaces.isNamedTunnel(arrival)
        endpoint.receive(
            bytes, from: address, hopLimit: hopLimit, overNamedTunnel: isNamedTunnel, now: clock.now)
        drain()
    }

    /// Tells the protocol that the socket is empty, if the protocol waits for that.
    func readCompleted() {
        guard !isStopped, endpoint.wantsSocketDrained, socket.isEmpty else { return }
        endpoint.socketDrained(now: clock.now)
        drain()
    }

    private func discovered(_ event: DiscoveryEvent) {
        guard !isStopped else { return }
        switch event {
        case .found(let id, let instance, let txt, let addresses):
            guard let keys = keys(of: id), let nonce = try? keys.nonce(ofInstance: instance) else { return }
            do {
                let key = try ServiceRecord.parse(txt, nonce: nonce, for: keys)
                joinedChat(id)?.found[instance] = JoinedChat.FoundInstance(key: key, addresses: addresses)
                endpoint.found(instance, chat: id, key: key, addresses: addresses, now: clock.now)
            } catch {
                logger.debug("an instance was ignored", metadata: ["reason": "\(error)"])
            }
        case .lost(let id, let instance):
            guard keys(of: id) != nil else { return }
            joinedChat(id)?.found[instance] = nil
            endpoint.lost(instance, chat: id, now: clock.now)
        case .unavailable(let outage): tell(.notice(.discoveryDown(outage)))
        case .available: tell(.notice(.discoveryUp))
        }
        drain()
    }

    /// The earliest timer has fired.
    fileprivate func timerFired() {
        // The event loop's clock stops in suspend. Other timers for times that have passed would fire too late.
        let passed = max(wakes.popLast()?.at ?? clock.now, clock.now)
        for wake in wakes where wake.at <= passed { wake.timer.cancel() }
        wakes.removeAll { $0.at <= passed }
        advance()
    }

    private func advance() {
        guard !isStopped || endpoint.hasFarewells else { return }
        endpoint.advance(to: clock.now)
        drain()
        readCompleted()
    }

    // MARK: Timer

    /// Schedules the protocol's next deadline. The event loop's timers run on a clock that stops in suspend. So the
    /// node wakes more often while a person is shown as typing.
    func schedule() {
        let next = endpoint.nextWake()
        if next.isTypingShown, !wakesWhileTyping {
            wakesWhileTyping = true
            eventLoop.scheduleTask(in: TimeAmount(NodeLimits.longestSleepWhileTyping)) { [weak self] in
                self?.onLoop { node in
                    node.wakesWhileTyping = false
                    node.advance()
                }
            }
        }
        guard let deadline = next.deadline, !wakes.contains(where: { $0.at <= deadline }) else { return }
        // A later timer stays: often the next deadline is the same. A timer has no effect if nothing is due.
        if wakes.count == NodeLimits.pendingTimers { wakes.removeFirst().timer.cancel() }
        let delay = TimeAmount.nanoseconds(max(deadline.nanoseconds - clock.now.nanoseconds, 0))
        // Fails only when the event loop has ended.
        guard let timer = try? eventLoop.scheduleCallback(in: delay, handler: NodeTimer(node: self)) else { return }
        wakes.append((deadline, timer))
    }

    // MARK: Stopping

    /// Says goodbye to all peers and closes everything. Copies of the farewell take 120 ms. A second call waits for the
    /// first one to end.
    public func stop() async {
        await withCheckedContinuation { continuation in stop { continuation.resume() } }
    }

    /// Stops as ``stop()`` does, and calls `completion` on the event loop.
    func stop(_ completion: @escaping @Sendable () -> Void) {
        switch lifecycle {
        case .ended: return completion()
        case .ending(let waiting):
            lifecycle = .ending(waiting + [completion])
            return
        case .running: lifecycle = .ending([completion])
        }
        noteWhoIsThere()
        endpoint.quit(now: clock.now)
        interfaceMonitor?.cancel()
        interfaceMonitor = nil
        let closed = worker.run(on: eventLoop) { [discovery] in _ = discovery?.stop() }
        discovery = nil
        drain()
        afterFarewells { [self] in closed.whenComplete { _ in self.onLoop { $0.close() } } }
    }

    /// Closes the node after it has sent its farewells.
    private func close() {
        for wake in wakes { wake.timer.cancel() }
        wakes = []
        countingTimer?.cancel()
        countingTimer = nil
        texts.cancelTimers()
        moving.timer?.cancel()
        peersByHand.timer?.cancel()
        knownPeersTimer?.cancel()
        nodeAge.timer?.cancel()
        writeAge()
        let closed = channel?.close() ?? eventLoop.makeSucceededVoidFuture()
        channel = nil
        let dismissed = worker.run(on: eventLoop) { [lastWill] in lastWill?.dismiss() }
        lastWill = nil
        closed.and(dismissed).whenComplete { [self] _ in
            onLoop { node in
                node.afterMoves { [self] in
                    onLoop { node in
                        node.saveKnownPeers { [self] in
                            onLoop { node in node.afterState { [self] in onLoop { $0.end() } } }
                        }
                    }
                }
            }
        }
    }

    private func end() {
        keyStore?.close()
        stopObserving()
        guard case .ending(let waiting) = lifecycle else { return }
        lifecycle = .ended
        deliver()
        for completion in waiting { completion() }
    }

    /// Calls `body` after all copies of the farewells were sent.
    func afterFarewells(_ body: @escaping @Sendable () -> Void) {
        guard endpoint.hasFarewells else { return body() }
        eventLoop.scheduleTask(in: TimeAmount(NodeLimits.farewellStep)) { [self] in
            onLoop { $0.afterFarewells(body) }
        }
    }
}

/// Wakes a node at a deadline of the protocol.
private struct NodeTimer: NIOScheduledCallbackHandler, Sendable {
    weak let node: Node?

    func handleScheduledCallback(eventLoop: some EventLoop) { node?.onLoop { $0.timerFired() } }
}
