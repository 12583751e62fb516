import InklingCore
import InklingWire
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A node: one identity in up to 32 chats (L-39), and the only place that performs what the protocol asks for.
///
/// Start one with ``start(_:logger:)`` and ``join(_:)-(String)`` a chat. Use the chat by the ``ChatHandle`` that this returns,
/// or by its name.
/// Everything may be called from any task.
///
/// The actor runs on the event loop of its socket. Between an input to the protocol and the draining of its outputs
/// nothing suspends, so datagrams leave and events arrive in the order that the protocol decided.
public actor Node {
    /// The event loop of the socket, on which everything in the node happens.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// This node's user ID.
    public nonisolated let user: UserID
    /// This node's static public key in base64url, 43 characters.
    public nonisolated let key: String
    /// This node's display name, in NFC.
    public nonisolated var name: String { currentName.withLock { $0 } }
    /// The fingerprint of this node's key. To compare with somebody, use ``fingerprint(with:)``.
    public nonisolated let fingerprint: Fingerprint
    /// The UDP port that the node receives on, 1 to 65,535.
    public nonisolated let port: UInt16
    /// Whether the identity ends with this node: because it was configured so, or because of
    /// ``Notice/identityTemporary(_:)``.
    public nonisolated let isTemporary: Bool

    private nonisolated let executor: any NIOSerialEventLoopExecutor
    nonisolated let eventLoop: any EventLoop
    nonisolated let currentName: Mutex<String>
    /// Does what takes a moment where nobody waits for the thread.
    let worker: Worker
    let logger: Logger
    let configuration: Configuration
    let socket: UDPSocket
    let keyStore: KeyStore?
    var lastWill: LastWill?
    let clock = NodeClock()
    let awakeClock = AwakeClock()
    /// When the node was started, in seconds since 1970.
    let started = Node.wallClock()
    var random = SystemRandomNumberGenerator()
    var endpoint: Endpoint
    var discovery: Discovery?
    var channel: (any Channel)?

    /// The chats that the node is in, in the order in which it joined them.
    var joined: [JoinedChat] = []
    var observers = Observers()
    var readers = EventReaders()
    /// The front end on this event loop, if the node has one.
    var frontEnd: NIOLoopBound<FrontEnd>? {
        didSet { readers.hasFrontEnd = frontEnd != nil }
    }
    /// The front end is being told something, or outputs are being performed: what happens now is told after that.
    var isDelivering = false
    var isDraining = false
    nonisolated let ownKey: PublicKey
    /// The people this user's nodes know, in all chats and runs.
    var knownPeers = KnownPeers()
    var knownPeersFile = KnownPeersState.none
    /// When the last write of it began.
    var knownPeersSaved: Instant?
    /// Verified people, and those met on two days at least 24 h apart: whom the protocol is to prefer to strangers.
    package var preferredPeers: Set<PublicKey> { Set(endpoint.standings.keys) }
    /// The bytes of text that wait for readers of events, as they count (M-20).
    package var heldText: Int { endpoint.heldText }
    /// Those who are there, in any chat.
    var stays: [PublicKey: Stay] = [:]
    var countingTimer: Scheduled<Void>?
    /// Those whose block is kept, as the protocol was told of it.
    var keptBlocks: Set<UserID> = []
    var sendErrors: [String: Int] = [:]
    /// How many datagrams arrived over an interface that the node does not use.
    var datagramsElsewhere = 0
    /// Notices that came before anybody listened.
    var earlyNotices: [TimedEvent] = []
    /// Notices that still hold.
    var standingNotices = StandingNotices()
    var lifecycle = Lifecycle.running
    private var wake: (at: Instant, task: Scheduled<Void>)?
    private var interfaceMonitor: InterfaceMonitor?
    private var interfaces: UsedInterfaces
    /// What this host can send from, left-out interfaces included.
    private var ownAddresses = OwnAddresses.current()
    /// Where the datagram that is being taken arrived: what answers it leaves from there (L-50).
    var arrival: Arrival?

    enum Lifecycle {
        case running
        /// Farewells are on their way, and what is known is being written; those who wait for the end.
        case ending([@Sendable () -> Void])
        case ended
    }

    /// Whether `stop()` was called.
    var isStopped: Bool {
        if case .running = lifecycle { false } else { true }
    }

    // MARK: Starting

    /// Starts a node: opens the state directory, binds the socket, and begins discovery. It is in no chat yet. It runs
    /// until ``stop()``, even if nothing refers to it any more.
    ///
    /// - Parameters:
    ///   - configuration: How it is set up.
    ///   - logger: Where it logs what helps to find faults. Secrets, keys, drafts and texts are in no log (S-2).
    /// - Throws: ``NodeError/name(_:)``, ``NodeError/stateDirectory(_:)``, ``NodeError/portTaken(_:)``,
    ///   ``NodeError/portNotAllowed(_:)``, ``NodeError/bindAddress(_:)``, ``NodeError/bindAddressWithoutInterface(_:)``,
    ///   ``NodeError/interface(_:known:)``, ``NodeError/peerAddress(_:_:)`` or ``NodeError/socket(_:)``. Nothing runs then.
    public static func start(_ configuration: Configuration, logger: Logger) async throws(NodeError) -> Node {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        do {
            return try await start(configuration, on: eventLoop, logger: logger).get()
        } catch {
            throw error as? NodeError ?? .socket("\(error)")
        }
    }

    /// Starts a node, as ``start(_:logger:)`` does, whose thread is that of an event loop of SwiftNIO's own.
    ///
    /// Called on that event loop, it reads the state directory before it returns. What takes longer does not hold up the
    /// thread: names that have to be resolved, and a port that is not free yet.
    ///
    /// - Returns: The node when it is up, or a ``NodeError``.
    package static func start(
        _ configuration: Configuration, on eventLoop: any EventLoop, logger: Logger
    ) -> EventLoopFuture<Node> {
        guard let executor = eventLoop as? any NIOSerialEventLoopExecutor else {
            return eventLoop.makeFailedFuture(NodeError.socket("the event loop can't run an actor"))
        }
        let worker = Worker()
        let prepared: EventLoopFuture<NodePreparation> =
            eventLoop.inEventLoop && !NodePreparation.takesTime(configuration)
            ? eventLoop.makeCompletedFuture { try NodePreparation(configuration) }
            : worker.run(on: eventLoop) { Result { try NodePreparation(configuration) } }
                .flatMapResult { $0 }
        return prepared.flatMap { preparation in
            bind(configuration, address: preparation.bindAddress, on: eventLoop).flatMap { socket in
                let node = Node(
                    configuration: configuration, preparation, socket: socket, worker: worker, executor: executor,
                    logger: logger)
                return node.assumeIsolated { $0.begin(preparation) }.map { node }
            }
        }
    }

    private init(
        configuration: Configuration, _ preparation: NodePreparation, socket: UDPSocket, worker: Worker,
        executor: any NIOSerialEventLoopExecutor, logger: Logger
    ) {
        let identity = preparation.identity
        self.configuration = configuration
        currentName = Mutex(preparation.name)
        self.executor = executor
        self.logger = logger
        self.socket = socket
        self.worker = worker
        keyStore = preparation.keyStore
        interfaces = preparation.interfaces
        eventLoop = executor
        user = identity.publicKey.userID
        ownKey = identity.publicKey
        key = identity.publicKey.base64url
        fingerprint = Fingerprint(of: identity.publicKey)
        port = socket.port
        isTemporary = keyStore?.directory == nil
        endpoint = Endpoint(
            configuration: .init(
                identity: identity, name: preparation.name,
                sendsTyping: configuration.sendsTyping, acceptsRouted: configuration.acceptsRouted,
                isOwnUsers: SocketOwner.check()),
            now: clock.now, random: SystemRandomNumberGenerator())
    }

    /// A port may be held for a moment by the helper of a node that was killed.
    private static func bind(
        _ configuration: Configuration, address: Address?, on eventLoop: any EventLoop,
        until end: ContinuousClock.Instant = .now + NodeLimits.portPatience
    ) -> EventLoopFuture<UDPSocket> {
        do {
            return eventLoop.makeSucceededFuture(try openSocket(configuration, address: address))
        } catch {
            guard case .portTaken = error, ContinuousClock.now < end else { return eventLoop.makeFailedFuture(error) }
        }
        return eventLoop.flatScheduleTask(in: NodeLimits.portStep) {
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

    /// The names of the interfaces that a node set up like this uses.
    package static func interfaceNames(_ configuration: Configuration) throws(NodeError) -> [String] {
        let selected = try Interfaces.select(configuration.interfaceSelection, from: Interfaces.all())
        return selected.filter { !$0.isLoopback }.map(\.name)
    }

    /// Without the helper the node still runs, and says once that the helper is missing.
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

    /// - Returns: When datagrams are received; a ``NodeError`` if they can't be.
    private func begin(_ preparation: NodePreparation) -> EventLoopFuture<Void> {
        if configuration.lastWill { startLastWill() }
        endpoint.setNetworks(interfaces.networks, own: ownAddresses, port: port, now: clock.now)
        let buffers = DatagramBuffers(for: socket)
        let receiver = DatagramReceiver(node: self, buffers: buffers)
        return DatagramBootstrap(group: eventLoop)
            .channelOption(.recvAllocator, value: buffers)
            .channelOption(.maxMessagesPerRead, value: NodeLimits.datagramsPerRead)
            .channelInitializer { $0.pipeline.addHandler(receiver) }
            .withBoundSocket(socket.descriptor)
            .flatMap { [self] channel in
                assumeIsolated { $0.channel = channel }
                // It looks for what the socket tells already, and can't be told so before the channel is there.
                return channel.setOption(.receivePacketInfo, value: true)
            }
            .flatMapErrorThrowing { throw NodeError.socket("\($0)") }
            .map { [self] in assumeIsolated { $0.open(preparation) } }
    }

    private func open(_ preparation: NodePreparation) {
        for peer in preparation.peers { endpoint.addPeer(peer, now: clock.now) }
        if let temporary = keyStore?.temporary {
            tell(.notice(.identityTemporary(temporary)))
        }
        if configuration.acceptsRouted {
            tell(.notice(.reachableFromAnywhere(port: port)))
        } else if configuration.port != 0 {
            tell(.notice(.reachableOnLink(port: port)))
        }
        if let known = preparation.knownPeers { openKnownPeers(known) }
        if configuration.discovery {
            let loop = eventLoop
            discovery = Discovery(interfaces: configuration.interfaceSelection, logger: logger) { [weak self] event in
                loop.execute { [weak self] in self?.assumeIsolated { $0.discovered(event) } }
            }
        }
        watchInterfaces()
        drain()
    }

    // MARK: Interfaces

    private func watchInterfaces() {
        let monitor = InterfaceMonitor(on: eventLoop) { [weak self] in
            self?.assumeIsolated { $0.lookAtInterfaces() }
        }
        if !monitor.isNotified { logger.info("the system does not announce changes of its networks") }
        interfaceMonitor = monitor
        // What changed since the start, before anybody watched.
        lookAtInterfaces()
    }

    /// Follows addresses and interfaces that come and go.
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

    /// A datagram came. Without knowing where it arrived, or over an interface that is not used, it is nothing (D-15).
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

    /// The socket was read; if the protocol waits for that, says whether it is empty.
    func readCompleted() {
        guard !isStopped, endpoint.wantsSocketDrained, socket.isEmpty else { return }
        endpoint.socketDrained(now: clock.now)
        drain()
    }

    private func discovered(_ event: DiscoveryEvent) {
        guard !isStopped else { return }
        switch event {
        case .found(let id, let instance, let txt, let addresses):
            guard let chat = joinedChat(id), let nonce = try? chat.keys.nonce(ofInstance: instance) else { return }
            do {
                let key = try ServiceRecord.parse(txt, nonce: nonce, for: chat.keys)
                chat.found[instance] = JoinedChat.FoundInstance(key: key, addresses: addresses)
                endpoint.found(
                    instance, chat: chat.id, key: key, addresses: addresses, now: clock.now)
            } catch {
                logger.debug("an instance was ignored", metadata: ["reason": "\(error)"])
            }
        case .lost(let id, let instance):
            guard let chat = joinedChat(id) else { return }
            chat.found[instance] = nil
            endpoint.lost(instance, chat: chat.id, now: clock.now)
        case .unavailable(let outage): tell(.notice(.discoveryDown(outage)))
        case .available: tell(.notice(.discoveryUp))
        }
        drain()
    }

    private func timerFired() {
        wake = nil
        guard !isStopped || endpoint.hasFarewells else { return }
        endpoint.advance(to: clock.now)
        drain()
        readCompleted()
    }

    // MARK: Timer

    /// Sees to it that the protocol is called at its next deadline. The event loop's timers run on a clock that stops
    /// in suspend, so while a name shows as typing it looks more often.
    func schedule() {
        let next = endpoint.nextWake()
        guard var deadline = next.deadline else {
            wake?.task.cancel()
            wake = nil
            return
        }
        if next.isTypingShown { deadline = min(deadline, clock.now + NodeLimits.longestSleepWhileTyping) }
        if let wake, wake.at <= deadline { return }
        wake?.task.cancel()
        let delay = max(deadline.nanoseconds - clock.now.nanoseconds, 0)
        let task = eventLoop.scheduleTask(in: .nanoseconds(delay)) { [weak self] in
            guard let self else { return }
            self.assumeIsolated { $0.timerFired() }
        }
        wake = (deadline, task)
    }

    // MARK: Stopping

    /// Says goodbye to everybody and closes everything. Copies of the farewell take 120 ms; a second call waits for
    /// the first one to end.
    public func stop() async {
        await withCheckedContinuation { continuation in stop { continuation.resume() } }
    }

    /// As ``stop()``; calls `completion` on the event loop.
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
        afterFarewells { [self] in closed.whenComplete { _ in self.assumeIsolated { $0.close() } } }
    }

    /// Everything was said.
    private func close() {
        wake?.task.cancel()
        wake = nil
        countingTimer?.cancel()
        countingTimer = nil
        let closed = channel?.close() ?? eventLoop.makeSucceededVoidFuture()
        channel = nil
        let dismissed = worker.run(on: eventLoop) { [lastWill] in lastWill?.dismiss() }
        lastWill = nil
        closed.and(dismissed).whenComplete { [self] _ in
            assumeIsolated { node in
                node.saveKnownPeers { [self] in assumeIsolated { $0.end() } }
            }
        }
    }

    private func end() {
        keyStore?.close()
        stopObserving()
        guard case .ending(let waiting) = lifecycle else { return }
        lifecycle = .ended
        frontEnd?.value.finish()
        deliver()
        for completion in waiting { completion() }
    }

    /// Calls `body` when the copies of all farewells went out.
    func afterFarewells(_ body: @escaping @Sendable () -> Void) {
        guard endpoint.hasFarewells else { return body() }
        eventLoop.scheduleTask(in: NodeLimits.farewellStep) { [self] in
            assumeIsolated { $0.afterFarewells(body) }
        }
    }
}
