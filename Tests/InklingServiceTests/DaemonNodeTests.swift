import Inkling
import InklingService
import InklingModel
import Logging
import NIOCore
import NIOPosix
import ProcessSupport
import Testing

/// A daemon over a real node on the loopback interface, with another node that sees the daemon as one person.
@Suite("A daemon and its node", .serialized, .timeLimit(.minutes(2)))
struct DaemonNodeTests {
    private static let quiet = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }

    private static func configuration(_ name: String, peers: [UInt16] = []) -> Configuration {
        var configuration = Configuration(name: name)
        configuration.isEphemeral = true
        configuration.discovery = false
        configuration.lastWill = false
        configuration.bindAddress = "127.0.0.1"
        configuration.peers = peers.map { "127.0.0.1:\($0)" }
        return configuration
    }

    /// Starts a node on the daemon's event loop.
    private static func startNode(
        _ loop: any EventLoop, in folder: TemporaryFolder? = nil
    ) async throws -> NIOLoopBound<ServedNode> {
        let started = loop.makePromise(of: NIOLoopBound<ServedNode>.self)
        var configuration = configuration("Alice")
        configuration.isEphemeral = folder == nil
        configuration.stateDirectory = folder?.path
        loop.execute { [configuration] in
            ServedNode.start(configuration, on: loop, logger: quiet) { result in
                started.completeWith(result.map { NIOLoopBound($0, eventLoop: loop) }.mapError { $0 as any Error })
            }
        }
        return try await started.futureResult.get()
    }

    /// Starts a daemon over that node with two front ends, and Bob's node in the lobby.
    private static func begin(
        _ local: NIOLoopBound<ServedNode>, on loop: any EventLoop,
        keepName: @escaping @Sendable (String, @escaping (Notice?) -> Void) -> Void = { $1(nil) }
    ) async throws -> (DaemonStage, Node, AttachedStage, AttachedStage) {
        let port = try await loop.submit { local.value.identity.port }.get()
        let stage = try await DaemonStage(on: loop, keepName: keepName) { local.value }
        let bob = try await Node.start(configuration("Bob", peers: [port]), logger: quiet)
        try await bob.join(try Chat("lobby"))
        return (stage, bob, try await stage.attach(), try await stage.attach())
    }

    private static func wait(_ what: String, _ condition: () async throws -> Bool) async throws {
        for _ in 0..<1_000 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("it did not come to that: \(what)")
    }

    //
    @Test("two front ends are one person: who types, what is sent, and what waited (R34, R35)")
    func onePerson() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let local = try await Self.startNode(loop)
        let (stage, bob, first, second) = try await Self.begin(local, on: loop)
        let lobby = try Chat("lobby")
        _ = try await first.ask(.join(lobby, isKept: true))
        try await first.wait("Bob") { frontEnd in
            frontEnd.events.contains {
                if case .peer(let change) = $0 { change.why == .hello && change.peer.user == bob.user } else { false }
            }
        }
        try await Self.wait("Alice is there") { await bob.peers(in: "lobby").contains { $0.presence == .online } }
        guard case .joined(lobby, let peers) = try await second.ask(.join(lobby)) else {
            Issue.record("not joined")
            return
        }
        #expect(peers.map(\.user) == [bob.user] && peers.first?.presence == .online)

        // At this time no front end shows the chat.
        _ = try await bob.send("early", to: "lobby")
        try await first.wait("the message") { $0.texts == ["early"] }
        _ = try await second.ask(.open(chat: "lobby"))
        try await second.wait("it is told once, as it comes to a member") { $0.texts == ["early"] && $0.unread.isEmpty }
        let third = try await stage.attach()
        _ = try await third.ask(.join(lobby))
        _ = try await third.ask(.open(chat: "lobby"))
        try await third.wait("what waited") { $0.unread.count == 1 }

        // Both front ends type, and then one of them is killed.
        let typing = await bob.typing(in: "lobby")
        let counts = Task { () -> [Int] in
            var counts: [Int] = []
            for await people in typing {
                counts.append(people.count)
                if counts.suffix(2) == [1, 0] { break }
            }
            return counts
        }
        _ = try await first.ask(.compose("a", chat: "lobby"))
        _ = try await second.ask(.compose("b", chat: "lobby"))
        try await second.run { $0.service.stop {} }
        try await Task.sleep(for: .milliseconds(200))
        let begin = ContinuousClock.now
        try await first.run { $0.service.stop {} }
        #expect(await counts.value == [0, 1, 0])
        #expect(begin.duration(to: .now) < .seconds(1), "sooner than it ends by itself")

        // The other front ends also see messages that one front end sends.
        let fourth = try await stage.attach()
        _ = try await fourth.ask(.join(lobby))
        let answer = try await third.ask(.send("hello", chat: "lobby"))
        #expect(answer == .sent(message: 1, recipients: 1))
        try await third.wait("delivery") {
            $0.events.last == .delivered(.init(chat: "lobby", message: 1, user: bob.user))
        }
        try await fourth.wait("own") { $0.own == ["hello"] }
        try await fourth.wait("delivery") {
            $0.events.last == .delivered(.init(chat: "lobby", message: 1, user: bob.user))
        }
        await bob.stop()
        try await third.wait("Bob goes") { frontEnd in
            guard case .peer(let change) = frontEnd.events.last else { return false }
            return change.why == .bye && change.peer.presence == .offline
        }
        try await stage.end()
        // The daemon has written the end by now, but the front end may not have read it yet.
        try await third.wait("the end") { $0.end != nil }
        #expect(try await third.run { $0.end } == .stopped)
    }

    //
    @Test("while the disk stands still for 3 s, others type, send and join; the one that waits gets its answer first")
    func stillDisk() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let folder = try TemporaryFolder()
        let local = try await Self.startNode(loop, in: folder)
        let disk = NIOLoopBoundBox<[() -> Void]>.makeBoxSendingValue([], eventLoop: loop)
        let (stage, bob, first, second) = try await Self.begin(local, on: loop) { _, completion in
            disk.value.append { completion(nil) }
        }
        let lobby = try Chat("lobby")
        for frontEnd in [first, second] { _ = try await frontEnd.ask(.join(lobby)) }
        try await second.wait("Bob") { !$0.events.isEmpty }
        try await Self.wait("Alice is there") { await bob.peers(in: "lobby").contains { $0.presence == .online } }

        let began = ContinuousClock.now
        try await first.run { frontEnd in
            frontEnd.forget()
            _ = frontEnd.ask(.rename("Alicia"))
            _ = frontEnd.ask(.chats)
        }
        try await Self.wait("the disk has the name to write") { try await loop.submit { disk.value.count == 1 }.get() }
        let typing = await bob.typing(in: "lobby")
        _ = try await second.ask(.compose("h", chat: "lobby"))
        for await people in typing where people.count == 1 { break }
        #expect(try await second.ask(.send("hello", chat: "lobby")) == .sent(message: 1, recipients: 1))
        try await second.wait("delivery") {
            $0.events.contains(.delivered(.init(chat: "lobby", message: 1, user: bob.user)))
        }
        guard case .joined = try await second.ask(.join(try Chat("kitchen"))) else {
            Issue.record("not joined")
            return
        }
        _ = try await bob.send("hi", to: "lobby")
        try await second.wait("Bob's message") { $0.texts == ["hi"] }
        try await Task.sleep(until: began + .seconds(3))
        #expect(try await first.run { $0.outputs } == [])

        try await loop.submit { for complete in disk.value { complete() } }.get()
        try await first.wait("both answers") { $0.answers.count == 2 && $0.texts == ["hi"] }
        let outputs = try await first.run { $0.outputs }
        guard case .answer(.done, _) = outputs.first else {
            Issue.record("the answer is not the first output: \(outputs)")
            return
        }
        await bob.stop()
        try await stage.end()
    }
}
