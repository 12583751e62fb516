import Foundation
import Glibc
import Inkling
import Logging
import Synchronization
import Testing

/// Nodes of this process on the loopback interface, with real sockets in real time and no daemon.
@Suite("Node", .serialized, .timeLimit(.minutes(2)))
struct NodeTests {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func node(
        _ name: String, peers: [Node] = [], chats: [String] = ["lobby"], logger: Logger = quiet,
        _ change: (inout Configuration) -> Void = { _ in }
    ) async throws -> Node {
        var configuration = Configuration(name: name)
        configuration.isEphemeral = true
        configuration.discovery = false
        configuration.bindAddress = "127.0.0.1"
        configuration.peers = peers.map { "127.0.0.1:\($0.port)" }
        change(&configuration)
        let node = try await Node.start(configuration, logger: logger)
        for chat in chats { try await node.join(Chat(chat)) }
        return node
    }

    /// Runs a body with Alice and Bob, who see each other.
    static func withPair(
        logger: Logger = quiet, _ change: (inout Configuration) -> Void = { _ in },
        _ body: (Node, Node) async throws -> Void
    ) async throws {
        let alice = try await node("Alice", logger: logger, change)
        let bob = try await node("Bob", peers: [alice], logger: logger)
        for (node, other) in [(alice, bob), (bob, alice)] {
            for await peers in await node.presence(in: "lobby") where peers.contains(where: { $0.user == other.user }) {
                break
            }
        }
        try await body(alice, bob)
        await alice.stop()
        await bob.stop()
    }

    /// Returns the first element that matches.
    static func first<Elements: AsyncSequence>(
        of elements: Elements, where fits: (Elements.Element) -> Bool
    ) async -> Elements.Element? where Elements.Failure == Never {
        for await element in elements where fits(element) { return element }
        return nil
    }

    // L-33
    @Test(
        "a node whose helper can't be started says so once, and goes on",
        arguments: ["/nowhere/helper", "/etc/passwd", "/"])
    func noHelper(_ path: String) async throws {
        let alice = try await NodeTests.node("Alice") { $0.lastWillHelper = path }
        let events = await alice.events()
        let bob = try await NodeTests.node("Bob", peers: [alice])
        _ = await NodeTests.first(of: bob.presence(in: "lobby")) { $0.contains { $0.user == alice.user } }
        _ = try await bob.send("hello", to: "lobby")
        var notices: [Notice] = []
        for await event in events {
            if case .notice(let notice) = event.event { notices.append(notice) }
            if case .message = event.event { break }
        }
        await alice.stop()
        await bob.stop()
        #expect(notices.count == 1)
        guard case .lastWillOff? = notices.first else {
            Issue.record("\(notices)")
            return
        }
    }

    // R27
    @Test("who is typing comes as a sequence that begins with the current state")
    func typingSequence() async throws {
        try await NodeTests.withPair { alice, bob in
            await alice.compose("h", in: "lobby")
            _ = await NodeTests.first(of: bob.typing(in: "lobby")) { $0.map(\.name) == ["Alice"] }
            // A second observer begins with the current state.
            var late = await bob.typing(in: "lobby").makeAsyncIterator()
            #expect(await late.next()?.map(\.name) == ["Alice"])
            await alice.stopTyping(in: "lobby")
            #expect(await late.next()?.isEmpty == true)
            await alice.startTyping(in: "lobby")
            #expect(await late.next()?.map(\.name) == ["Alice"])
            await bob.stopObserving()
            #expect(await late.next() == nil)
        }
    }

    // R22, R27
    @Test("presence can be observed, fetched for one and for many, and ends with the peer's farewell")
    func presence() async throws {
        try await NodeTests.withPair { alice, bob in
            #expect(await alice.peer(bob.user, in: "lobby")?.presence == .online)
            #expect(await alice.peers([bob.user, alice.user], in: "lobby").map(\.name) == ["Bob"])
            let changes = await alice.presence(in: "lobby")
            await bob.setAway(true)
            #expect(await NodeTests.first(of: changes) { $0.first?.presence == .away } != nil)
            await bob.setAway(false)
            await bob.stop()
            let gone = await NodeTests.first(of: alice.presence(in: "lobby")) { $0.first?.presence == .offline }
            #expect(gone?.first?.lastSeen != nil && gone?.first?.onlineSince == nil)
        }
    }

    // R27
    @Test("an unknown chat gives empty sequences and typed errors, never a crash")
    func unknownChat() async throws {
        let node = try await NodeTests.node("Alice")
        var typing = await node.typing(in: "nowhere").makeAsyncIterator()
        #expect(await typing.next() == nil)
        var presence = await node.presence(in: "nowhere").makeAsyncIterator()
        #expect(await presence.next() == nil)
        await node.compose("x", in: "nowhere")
        await node.startTyping(in: "nowhere")
        await node.stopTyping(in: "nowhere")
        #expect(await node.peers(in: "nowhere").isEmpty)
        await #expect(throws: NodeError.unknownChat("nowhere")) { try await node.send("x", to: "nowhere") }
        await #expect(throws: NodeError.unknownChat("nowhere")) { try await node.leave("nowhere") }
        await #expect(throws: NodeError.chatExists("lobby")) { try await node.join(Chat("lobby")) }
        await #expect(throws: NodeError.messageEmpty) { try await node.send("", to: "lobby") }
        await #expect(throws: NodeError.messageTooLong(bytes: 65_537)) {
            try await node.send(String(repeating: "x", count: 65_537), to: "lobby")
        }
        await node.stop()
        await #expect(throws: NodeError.stopped) { try await node.send("x", to: "lobby") }
        await #expect(throws: NodeError.stopped) { try await node.setName("Bob") }
        var ended = await node.events().makeAsyncIterator()
        #expect(await ended.next() == nil)
    }

    // R29, R30
    @Test("what can't be started fails with one line that says what to do")
    func failures() async throws {
        let node = try await NodeTests.node("Alice")
        await #expect(throws: NodeError.portTaken(node.port)) {
            try await NodeTests.node("Bob") { $0.port = node.port }
        }
        await #expect(throws: NodeError.bindAddress("192.0.2.1")) {
            try await NodeTests.node("Bob") { $0.bindAddress = "192.0.2.1" }
        }
        for address in ["fe80::1", "fe80::1%lo", "fe80::1%4000000000", "fe80::1%nothing0"] {
            let fault: NodeError =
                address == "fe80::1" ? .bindAddressWithoutInterface(address) : .bindAddress(address)
            let error = await #expect(throws: fault) { try await NodeTests.node("Bob") { $0.bindAddress = address } }
            #expect(error?.description.contains("as fe80::1%eth0.") == (address == "fe80::1"))
        }
        for address in ["nobody", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "::1:5000", ":5000", "[::1]5000"] {
            do {
                _ = try await NodeTests.node("Bob") { $0.peers = [address] }
                Issue.record("\(address) was taken")
            } catch let error as NodeError {
                guard case .peerAddress(address, _) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(!error.description.contains("\n"))
            }
        }
        for name in ["", "   ", "a\u{7}b", String(repeating: "n", count: 65)] {
            await #expect(throws: NodeError.self) { try await NodeTests.node(name) }
        }
        await #expect(throws: NodeError.self) { try await NodeTests.node("Bob") { $0.interfaces = ["nothing0"] } }
        await node.stop()
    }

    // R9
    @Test("a user can switch off sending the own typing, and showing the others'")
    func privacy() async throws {
        try await NodeTests.withPair({
            $0.sendsTyping = false
            $0.showsTyping = false
        }) { alice, bob in
            await bob.compose("hello", in: "lobby")
            await alice.compose("hello", in: "lobby")
            let received = await bob.events()
            _ = try await alice.send("hello", to: "lobby")
            for await timed in received {
                if case .typing = timed.event { Issue.record("Alice's typing was shown") }
                if case .message = timed.event { break }
            }
            #expect(await bob.statistics().typingStartsReceived == 0)
            // Bob's typing may come after Alice's message.
            try await NodeEventsTests.wait { await alice.statistics().typingStartsReceived == 1 }
            var typing = await alice.typing(in: "lobby").makeAsyncIterator()
            #expect(await typing.next()?.isEmpty == true)
        }
    }

    // R28
    @Test("statistics are counters that JSON can hold")
    func statistics() async throws {
        try await NodeTests.withPair { alice, bob in
            await alice.compose("x", in: "lobby")
            _ = await NodeTests.first(of: bob.typing(in: "lobby")) { !$0.isEmpty }
            let received = await bob.events()
            _ = try await alice.send("x", to: "lobby")
            _ = await NodeTests.first(of: received) { if case .message = $0.event { true } else { false } }
            let statistics = await bob.statistics()
            #expect(statistics.messagesReceived == 1 && statistics.indicatedShare == 1 && statistics.links == 1)
            #expect(statistics.datagramsReceived[.sealed, default: 0] > 2)
            let data = try JSONEncoder().encode(statistics)
            #expect(try JSONDecoder().decode(Statistics.self, from: data) == statistics)
        }
    }

    // R33, S-2, T-1
    @Test("the text of a draft is not logged, even at the finest level")
    func drafts() async throws {
        let log = LogCollector()
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = .trace
        logger.info("the collector works")
        try await NodeTests.withPair(logger: logger) { alice, bob in
            await alice.compose("unmistakable draft", in: "lobby")
            _ = await NodeTests.first(of: bob.typing(in: "lobby")) { !$0.isEmpty }
        }
        #expect(log.text.contains("the collector works"))
        #expect(!log.text.contains("unmistakable"))
    }

    // R27
    @Test("1,000 chats joined and left leave no descriptor, thread or sequence behind")
    func joinAndLeave() async throws {
        try await NodeTests.withPair { alice, bob in
            let usage = Usage()
            for round in 0..<1_000 {
                let chat = "chat \(round)"
                try await alice.join(Chat(chat))
                if round % 10 == 0 { try await bob.join(Chat(chat)) }
                var typing = await alice.typing(in: chat).makeAsyncIterator()
                _ = await typing.next()
                await alice.compose("x", in: chat)
                try await alice.leave(chat)
                #expect(await typing.next() == nil)
                if round % 10 == 0 { try await bob.leave(chat) }
            }
            let after = Usage()
            #expect(after.descriptors <= usage.descriptors)
            #expect(after.threads <= usage.threads + 2, "the runtime may add a worker")
            #expect(after.kilobytes < usage.kilobytes + 20_000)
            #expect(await alice.chats.map(\.name) == ["lobby"])
            #expect(await alice.statistics().links == 1)
        }
    }

    // R27
    @Test("a second stop waits for the first: then the state directory is free, and the farewells are out")
    func stoppedTwice() async throws {
        let directory = try TemporaryFolder()
        let bob = try await NodeTests.node("Bob")
        let alice = try await NodeTests.keeping("Alice", in: directory, peers: [bob])
        await NodeTests.meet(alice, bob)
        async let first: Void = alice.stop()
        await alice.stop()
        let store = try KeyStore.open(directory: directory.path)
        #expect(store.temporary == nil)
        store.close()
        await first
        await alice.stop()
        await bob.stop()
    }

    @Test("an error says the same to whoever asks for its localized description")
    func localized() {
        let error: any Error = NodeError.messageEmpty
        #expect(error.localizedDescription == NodeError.messageEmpty.description)
    }

    @Test(
        "an error ends with what to do",
        arguments: [
            (NodeError.chatName(.empty), "Choose another."),
            (.chatExists("kitchen"), "Use that one, or leave it first."),
            (.messageEmpty, "Write some text."), (.socket("no"), "permissions of this process."),
            (.stopped, "Start another."),
        ])
    func whatToDo(_ error: NodeError, _ end: String) {
        #expect(error.description.hasSuffix(end), "\(error)")
    }

    @Test("neither a secret nor a chat tells the secret when it is printed")
    func secretsAreKept() throws {
        let secret = Secret.random()
        let chat = try Chat("kitchen", secret: secret)
        for text in ["\(secret)", "\(chat)", String(reflecting: secret), String(reflecting: chat)] {
            #expect(!text.contains(secret.text) && !text.contains("bytes"), "\(text)")
        }
        var dumped = ""
        dump(chat, to: &dumped)
        #expect(!dumped.contains(secret.text) && !dumped.contains("bytes"))
        #expect(throws: NodeError.self) { try Chat("inkling:kitchen#\(secret.text)") }
        #expect(try Chat(invite: "  INKLING:kitchen#\(secret.text)\n") == chat)
    }

    @Test("100 nodes started and stopped leave no descriptor behind, and are freed")
    func startAndStop() async throws {
        try await NodeTests.node("first").stop()
        let usage = Usage()
        weak var last: Node?
        for _ in 0..<100 {
            let node = try await NodeTests.node("Alice")
            last = node
            await node.stop()
        }
        #expect(Usage().descriptors <= usage.descriptors)
        for _ in 0..<100 where last != nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(last == nil)
    }
}

/// The resources that this process holds.
private struct Usage {
    let descriptors: Int
    let threads: Int
    let kilobytes: Int

    init() {
        descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        kilobytes = pages * Int(sysconf(CInt(_SC_PAGESIZE))) / 1_024
    }
}

/// A log handler that keeps all lines.
private final class LogCollector: LogHandler {
    private let lines = Mutex<[String]>([])
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
    }
}
