import Foundation
import Inkling
import InklingCore
import InklingModel
import InklingWire
import NIOCore
import NIOPosix
import Testing

/// A node whose texts are in its folder, on an event loop of its own, which records all events and answers.
final class TextNode: Sendable {
    private final class State: EventSink {
        let node: ServedNode
        let store: FaultyTexts
        var events: [TimedEvent] = []
        var answers: [ServiceAnswer] = []
        private var settled: [MessageID] = []

        init(_ node: ServedNode, _ store: FaultyTexts) {
            (self.node, self.store) = (node, store)
        }

        let isWatched = false

        func take(_ timed: TimedEvent) {
            events.append(timed)
            if case .message(let message) = timed.event { settled.append(message.id) }
        }

        func takeSettled() -> [MessageID] {
            defer { settled = [] }
            return settled
        }

        func flush() {}

        func look(patience: Int) {}

        func end() {}
    }

    static let chat = try? Chat("team", secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))

    let loop: any EventLoop
    let identity: NodeIdentity
    private let state: NIOLoopBoundBox<State?>

    /// Starts a node in the chat.
    init(
        _ name: String, in folder: String, peers: [UInt16] = [], port: UInt16 = 0, chat: Chat? = TextNode.chat,
        holds: [String: Bool] = [:], clocks: (@Sendable () -> AgeCounter.Reading)? = nil
    ) async throws {
        var configuration = Configuration(name: name)
        configuration.stateDirectory = folder
        configuration.discovery = false
        configuration.lastWill = false
        configuration.port = port
        configuration.bindAddress = "127.0.0.1"
        configuration.peers = peers.map { "127.0.0.1:\($0)" }
        if let clocks { configuration.clocks = clocks }
        let settings = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let state = NIOLoopBoundBox<State?>.makeEmptyBox(eventLoop: loop)
        let started = loop.makePromise(of: NodeIdentity.self)
        let joined = try #require(chat)
        loop.execute {
            ServedNode.start(settings, on: loop, logger: NodeTests.quiet) { result in
                loop.assertInEventLoop()
                switch result {
                case .success(let node):
                    let store = FaultyTexts(
                        StoredTexts(
                            TextDatabase(
                                in: folder, on: loop, threads: NIOThreadPool(numberOfThreads: 1).started())))
                    let made = State(node, store)
                    state.value = made
                    node.keepTexts(in: store, holds: holds)
                    node.attach(made)
                    node.perform(.join(joined)) { state.value?.answers.append($0) }
                    started.succeed(node.identity)
                case .failure(let error): started.fail(error)
                }
            }
        }
        identity = try await started.futureResult.get()
        (self.loop, self.state) = (loop, state)
    }

    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (ServedNode) throws -> Value) async throws -> Value {
        try await loop.submit { [state] in try body(state.value.unsafelyUnwrapped.node) }.get()
    }

    /// Sets the reason for which appends and ends fail from now on; nil for none.
    func setFailure(_ reason: String?) async throws {
        try await loop.submit { [state] in state.value?.store.failure = reason }.get()
    }

    func send(_ text: String) async throws { try await ask(.send(text, chat: "team")) }

    /// Makes a request.
    func ask(_ request: ServiceRequest) async throws {
        try await run { [state] node in node.perform(request) { state.value?.answers.append($0) } }
    }

    var answers: [ServiceAnswer] {
        get async throws { try await loop.submit { [state] in state.value?.answers ?? [] }.get() }
    }

    var events: [Event] {
        get async throws {
            try await loop.submit { [state] in state.value?.events.map(\.event) ?? [] }.get()
        }
    }

    /// The received messages.
    var messages: [ReceivedMessage] {
        get async throws {
            try await events.compactMap { if case .message(let message) = $0 { message } else { nil } }
        }
    }

    var texts: [String] { get async throws { try await messages.map(\.text) } }

    /// How many people each sent message goes to.
    var recipients: [Int] {
        get async throws {
            try await answers.compactMap { if case .sent(_, let to) = $0 { to } else { nil } }
        }
    }

    /// Whether nobody else is in the chat.
    var isAlone: Bool {
        get async throws { try await run { $0.peers(in: "team") }.allSatisfy { $0.presence == .offline } }
    }

    var waiting: [String] { get async throws { try await run { $0.waitingTexts }.map(\.text) } }

    func forget() async throws {
        try await loop.submit { [state] in
            state.value?.events = []
            state.value?.answers = []
        }.get()
    }

    func wait(_ what: String, _ condition: (TextNode) async throws -> Bool) async throws {
        for _ in 0..<2_400 {
            if try await condition(self) { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("\(identity.name): it did not come to that: \(what)")
    }

    func meet(_ other: TextNode) async throws {
        try await wait("\(other.identity.name) is there") { node in
            try await node.run { $0.peers(in: "team") }
                .contains { $0.user == other.identity.user && $0.presence == .online }
        }
    }

    func stop() async throws {
        let stopped = loop.makePromise(of: Void.self)
        try await run { node in node.stop { stopped.succeed() } }
        try await stopped.futureResult.get()
        let written = loop.makePromise(of: Void.self)
        loop.execute { [state] in
            guard let store = state.value?.store else { return written.succeed() }
            store.whenIdle { written.succeed() }
        }
        try await written.futureResult.get()
        try await loop.submit { [state] in state.value = nil }.get()
    }
}

/// A store whose appends and ends the tests can make fail.
private final class FaultyTexts: TextStore {
    private let store: StoredTexts
    var failure: String? {
        didSet { if failure != oldValue { report(failure.map { .unwritable($0) } ?? .writable) } }
    }
    private var report: (TextFault) -> Void = { _ in }

    init(_ store: StoredTexts) { self.store = store }

    var logs: Set<TextLogID> { store.logs }
    func begin(_ report: @escaping (TextFault) -> Void) {
        self.report = report
        store.begin(report)
    }
    func setStandings(_ standings: [PublicKey: Standing]) { store.setStandings(standings) }
    func state(of log: TextLogID) -> TextState { store.state(of: log) }
    func append(_ records: [TextRecord], to log: TextLogID, completion: @escaping (String?) -> Void) {
        if let failure { completion(failure) } else { store.append(records, to: log, completion: completion) }
    }
    func end(_ log: TextLogID, completion: @escaping (String?) -> Void) {
        if let failure { completion(failure) } else { store.end(log, completion: completion) }
    }
    func rekey(_ logs: [TextLogID], completion: @escaping (String?) -> Void) {
        store.rekey(logs, completion: completion)
    }
    func whenIdle(_ completion: @escaping () -> Void) { store.whenIdle(completion) }
}

extension NIOThreadPool {
    fileprivate func started() -> NIOThreadPool {
        start()
        return self
    }
}
