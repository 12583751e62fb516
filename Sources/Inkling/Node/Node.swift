import InklingCore
import InklingWire
import Logging
import NIOCore
import NIOPosix

/// A node: one identity, any number of chats, and the only place that performs what the protocol asks for.
///
/// The actor runs on the event loop of its socket. Between an input to the protocol and the draining of its outputs
/// nothing suspends, so datagrams leave and events arrive in the order that the protocol decided.
public actor Node {
    /// The event loop of the socket.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// This node's user ID.
    public nonisolated let user: UserID
    /// This node's static public key in base64url, 43 characters.
    public nonisolated let key: String
    /// This node's display name, in NFC.
    public nonisolated let name: String
    /// The fingerprint of this node's key.
    public nonisolated let fingerprint: Fingerprint
    /// The UDP port.
    public nonisolated let port: UInt16
    /// Whether the identity ends with this node.
    public nonisolated let isTemporary: Bool

    private nonisolated let executor: any NIOSerialEventLoopExecutor
    nonisolated let eventLoop: any EventLoop
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

    var joined: [JoinedChat] = []
    var observers = Observers()
    var readers = EventReaders()
    nonisolated let ownKey: PublicKey
    var met: [String: [PublicKey: MetPeer]] = [:]
    /// The people this user's nodes know, in all chats and runs.
    var knownPeers = KnownPeers()
    var knownPeersFile = KnownPeersState.none
    /// Verified people, and those met on two days at least 24 h apart: whom the protocol is to prefer to strangers.
    package var preferredPeers: Set<PublicKey> { Set(endpoint.standings.keys) }
    /// The bytes of text that wait for readers of events, as they count (M-20).
    package var heldText: Int { endpoint.heldText }
    /// Those who are there, in any chat.
    var stays: [PublicKey: Stay] = [:]
    var countingTimer: Scheduled<Void>?
    /// Those whose block is kept, as the protocol was told of it.
    var keptBlocks: Set<UserID> = []
    /// What discovery lists, by chat and instance.
    var found: [ChatTag: [String: FoundInstance]] = [:]
    var sendErrors: [String: Int] = [:]
    /// How many datagrams arrived over an interface that the node does not use.
    var datagramsElsewhere = 0
    /// Notices that came before anybody listened.
    var earlyNotices: [TimedEvent] = []
    var isStopped = false
    private var hasEnded = false
    /// Who called `stop()` while the first call was under way.
    private var awaitingEnd: [CheckedContinuation<Void, Never>] = []
    private var wake: (at: Instant, task: Scheduled<Void>)?
    private var interfaceMonitor: InterfaceMonitor?
    private var interfaces: UsedInterfaces
    /// Where the datagram that is being taken arrived: what answers it leaves from there (L-50).
    var arrival: Arrival?

    /// One chat that the node is in.
    struct JoinedChat {
        let chat: Chat
        let keys: ChatKeys
        /// The instance name that was asked for first.
        let instance: String
    }

    /// What is known of somebody in a chat, also once they went.
    struct MetPeer {
        let user: UserID
        let key: String
        var name: String
        var presence: InklingCore.Presence
        var since: Double
    }

    // MARK: Starting

    /// Starts a node: opens the state directory, binds the socket, and begins discovery. It is in no chat yet. It lives
    /// until ``stop()``, even if nothing refers to it any more.
    ///
    /// - Throws: ``NodeError`` with one line that says what to do.
    public static func start(_ configuration: Configuration, logger: Logger) async throws(NodeError) -> Node {
        let name = try configuration.checkedName()
        let peers = try configuration.peers.map { text throws(NodeError) in try Resolution.peer(text) }
        var bindAddress: Address?
        if let text = configuration.bindAddress {
            guard let address = Resolution.own(text) else { throw .bindAddress(text) }
            bindAddress = address
        }
        let interfaces = try UsedInterfaces(Node.selection(configuration), from: Interfaces.all(), isStrict: true)
        let keyStore = try Node.openKeyStore(configuration)
        var random = SystemRandomNumberGenerator()
        let identity = keyStore.flatMap { KeyPair(privateKey: $0.privateKey) } ?? KeyPair(using: &random)
        let socket = try await Node.bind(configuration, address: bindAddress)
        guard
            let executor = MultiThreadedEventLoopGroup.singleton.next() as? any NIOSerialEventLoopExecutor
        else {
            throw .socket("the event loop can't run an actor")
        }
        let node = Node(
            configuration: configuration, name: name, identity: identity, keyStore: keyStore, socket: socket,
            interfaces: interfaces, executor: executor, logger: logger)
        if configuration.lastWill { await node.startLastWill() }
        try await node.open(peers: peers.flatMap(\.self))
        return node
    }

    private init(
        configuration: Configuration, name: String, identity: KeyPair, keyStore: KeyStore?, socket: UDPSocket,
        interfaces: UsedInterfaces, executor: any NIOSerialEventLoopExecutor, logger: Logger
    ) {
        self.configuration = configuration
        self.name = name
        self.executor = executor
        self.logger = logger
        self.socket = socket
        self.keyStore = keyStore
        self.interfaces = interfaces
        eventLoop = executor
        user = identity.publicKey.userID
        ownKey = identity.publicKey
        key = identity.publicKey.base64url
        fingerprint = Fingerprint(of: identity.publicKey)
        port = socket.port
        isTemporary = keyStore?.directory == nil
        endpoint = Endpoint(
            configuration: .init(
                identity: identity, run: UInt64.random(in: .min ... .max), name: name,
                sendsTyping: configuration.sendsTyping, acceptsRouted: configuration.acceptsRouted),
            now: clock.now, random: SystemRandomNumberGenerator())
    }

    private static func openKeyStore(_ configuration: Configuration) throws(NodeError) -> KeyStore? {
        guard !configuration.isEphemeral else { return nil }
        do {
            return configuration.sharesIdentity
                ? try KeyStore.openShared(directory: configuration.stateDirectory)
                : try KeyStore.open(directory: configuration.stateDirectory)
        } catch {
            throw .stateDirectory(error)
        }
    }

    private static func bind(_ configuration: Configuration, address: Address?) async throws(NodeError) -> UDPSocket {
        let end = ContinuousClock.now + NodeLimits.portPatience
        while true {
            do {
                return try openSocket(configuration, address: address)
            } catch {
                guard case .portTaken = error, ContinuousClock.now < end, !Task.isCancelled else { throw error }
            }
            try? await Task.sleep(for: NodeLimits.portStep)
        }
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
        let selected = try Interfaces.select(selection(configuration), from: Interfaces.all())
        return selected.filter { !$0.isLoopback }.map(\.name)
    }

    private static func selection(_ configuration: Configuration) -> InterfaceSelection {
        if !configuration.interfaces.isEmpty { return .named(configuration.interfaces) }
        return configuration.excludedInterfaces.isEmpty ? .automatic : .except(configuration.excludedInterfaces)
    }

    /// Without the helper the node still runs, and says once that the helper is missing.
    private func startLastWill() {
        do {
            lastWill = try LastWill(path: configuration.lastWillHelper, socket: socket.descriptor)
            endpoint.keepsWills(now: clock.now)
        } catch {
            switch error {
            case .missing(let program): tell(.notice(.lastWillOff(.missing(path: program))))
            case .system(let reason): tell(.notice(.lastWillOff(.failed(reason: reason))))
            }
        }
        drain()
    }

    private func open(peers: [Address]) async throws(NodeError) {
        endpoint.setNetworks(interfaces.networks, port: port, now: clock.now)
        do {
            let receiver = DatagramReceiver(node: self)
            let channel = try await DatagramBootstrap(group: eventLoop)
                .channelOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: NodeLimits.receiveBufferSize)
                )
                .channelOption(.maxMessagesPerRead, value: NodeLimits.datagramsPerRead)
                .channelInitializer { $0.pipeline.addHandler(receiver) }
                .withBoundSocket(socket.descriptor).get()
            self.channel = channel
            // It looks for what the socket tells already, and can't be told so before the channel is there.
            try await channel.setOption(.receivePacketInfo, value: true).get()
        } catch {
            throw .socket("\(error)")
        }
        for peer in peers { endpoint.addPeer(peer, now: clock.now) }
        if let temporary = keyStore?.temporary {
            tell(.notice(.identityTemporary(temporary)))
        }
        if configuration.acceptsRouted {
            tell(.notice(.reachableFromAnywhere(port: port)))
        } else if configuration.port != 0 {
            tell(.notice(.reachableOnLink(port: port)))
        }
        openKnownPeers()
        if configuration.discovery {
            let loop = eventLoop
            discovery = Discovery(interfaces: Node.selection(configuration), logger: logger) { [weak self] event in
                loop.execute { [weak self] in self?.assumeIsolated { $0.discovered(event) } }
            }
        }
        watchInterfaces()
        drain()
    }

    // MARK: Interfaces

    private func watchInterfaces() {
        let loop = eventLoop
        let monitor = InterfaceMonitor { [weak self] in
            loop.execute { [weak self] in self?.assumeIsolated { $0.lookAtInterfaces() } }
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
        guard let current = try? UsedInterfaces(Node.selection(configuration), from: all, isStrict: false) else {
            return
        }
        let networks = current.networks
        let isChange = networks != interfaces.networks
        interfaces = current
        guard isChange else { return }
        logger.info("the networks of this host changed", metadata: ["networks": "\(networks.count)"])
        endpoint.setNetworks(networks, port: port, now: clock.now)
        drain()
    }

    // MARK: Inputs

    /// A datagram came. Without knowing where it arrived, or over an interface that is not used, it is nothing (D-15).
    func received(_ bytes: [UInt8], from address: Address, at arrival: Arrival?) {
        guard !isStopped else { return }
        guard let arrival, interfaces.take(arrival) else {
            datagramsElsewhere += 1
            return
        }
        self.arrival = arrival
        defer { self.arrival = nil }
        let isNamedTunnel = interfaces.isNamedTunnel(arrival)
        endpoint.receive(bytes, from: address, overNamedTunnel: isNamedTunnel, now: clock.now)
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
        case .found(let subtype, let instance, let txt, let addresses):
            guard let chat = joined.first(where: { $0.keys.tag.hex == subtype }) else { return }
            do {
                let key = try ServiceRecord.parse(txt, for: chat.keys)
                found[chat.keys.tag, default: [:]][instance] = FoundInstance(key: key, addresses: addresses)
                endpoint.found(
                    instance, chat: chat.keys.tag, key: key, addresses: addresses, now: clock.now)
            } catch {
                logger.debug("an instance was ignored", metadata: ["reason": "\(error)"])
            }
        case .lost(let subtype, let instance):
            guard let chat = joined.first(where: { $0.keys.tag.hex == subtype }) else { return }
            found[chat.keys.tag]?[instance] = nil
            endpoint.lost(instance, chat: chat.keys.tag, now: clock.now)
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
        guard var deadline = endpoint.nextDeadline else {
            wake?.task.cancel()
            wake = nil
            return
        }
        if joined.contains(where: { !endpoint.typing(in: $0.keys.tag).isEmpty }) {
            deadline = min(deadline, clock.now + NodeLimits.longestSleepWhileTyping)
        }
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
        guard !isStopped else {
            if !hasEnded { await withCheckedContinuation { awaitingEnd.append($0) } }
            return
        }
        noteWhoIsThere()
        endpoint.quit(now: clock.now)
        drain()
        isStopped = true
        interfaceMonitor = nil
        let discovery = discovery
        self.discovery = nil
        async let ended: Void = Node.end(discovery)
        await waitForFarewells()
        await ended
        wake?.task.cancel()
        wake = nil
        countingTimer?.cancel()
        countingTimer = nil
        try? await channel?.close()
        channel = nil
        if let lastWill { await Node.block { lastWill.dismiss() } }
        lastWill = nil
        await saveKnownPeers()
        keyStore?.close()
        stopObserving()
        hasEnded = true
        for waiting in awaitingEnd { waiting.resume() }
        awaitingEnd = []
    }

    /// Returns when the copies of all farewells went out.
    func waitForFarewells() async {
        while endpoint.hasFarewells {
            try? await eventLoop.scheduleTask(in: NodeLimits.farewellStep) {}.futureResult.get()
        }
    }

    private static func end(_ discovery: Discovery?) async {
        guard let discovery else { return }
        await block { _ = discovery.stop() }
    }

    /// Does what takes a moment where nobody waits for the thread, also in a task that was cancelled.
    private static func block(_ body: @escaping @Sendable () -> Void) async {
        await Task { try? await NIOThreadPool.singleton.runIfActive(body) }.value
    }
}

/// Monotonic time that runs through suspend, as the protocol counts it.
struct NodeClock: Sendable {
    private let origin = ContinuousClock.now

    var now: Instant { .zero + origin.duration(to: .now) }
}

/// Monotonic time that stands still in suspend.
struct AwakeClock: Sendable {
    private let origin = SuspendingClock.now

    var now: Instant { .zero + origin.duration(to: .now) }
}

/// Hands what the socket received to the node, on the event loop that both run on.
private final class DatagramReceiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let node: Node

    init(node: Node) { self.node = node }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let address = envelope.remoteAddress.withSockAddr({ name, _ in Address(name, port: nil) }) else { return }
        let bytes = Array(envelope.data.readableBytesView)
        let arrival = envelope.metadata?.packetInfo.flatMap { info in
            info.destinationAddress.withSockAddr { name, _ in Address(name, port: 0) }
                .map { Arrival(address: $0, interface: UInt32(info.interfaceIndex)) }
        }
        node.assumeIsolated { $0.received(bytes, from: address, at: arrival) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        node.assumeIsolated { $0.readCompleted() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The channel stays open: what a socket reports asynchronously is not a reason to stop.
    }
}
