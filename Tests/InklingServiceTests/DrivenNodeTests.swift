import Foundation
import Glibc
import Inkling
import InklingService
import InklingModel
import Logging
import NIOCore
import NIOPosix
import ProcessSupport
import Synchronization
import Testing

/// A front end and its node on their own event loop.
private final class TestFrontEnd: Sendable {
    private final class State {
        let node: any ChatService
        var outputs: [ServiceOutput] = []
        var react: ((any ChatService, ServiceOutput) -> Void)?
        /// The current and the highest number of nested calls of the sink.
        var depth = 0
        var deepest = 0

        init(_ local: ServedNode, _ refusal: @escaping (Chat, Bool) -> NodeError?) {
            node = local.driven(refusal: refusal)
        }
    }

    let loop: any EventLoop
    /// The node, for use on other threads.
    let node: Node
    private let state: NIOLoopBoundBox<State?>

    init(
        _ configuration: Configuration, refusal: @escaping @Sendable (Chat, Bool) -> NodeError? = { _, _ in nil }
    ) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        self.loop = loop
        let state = NIOLoopBoundBox<State?>.makeEmptyBox(eventLoop: loop)
        self.state = state
        let started = loop.makePromise(of: Node.self)
        loop.execute {
            ServedNode.start(configuration, on: loop, logger: TestNodes.quiet) { result in
                loop.assertInEventLoop()
                switch result {
                case .success(let node):
                    state.value = State(node, refusal)
                    started.succeed(node.node)
                case .failure(let error): started.fail(error)
                }
            }
        }
        node = try await started.futureResult.get()
    }

    /// Makes a front end in the lobby, without discovery.
    static func inLobby(
        _ name: String, peers: [UInt16] = [], _ change: (inout Configuration) -> Void = { _ in },
        refusal: @escaping @Sendable (Chat, Bool) -> NodeError? = { _, _ in nil }
    ) async throws -> TestFrontEnd {
        let frontEnd = try await TestFrontEnd(configuration(name, peers: peers, change), refusal: refusal)
        try await frontEnd.attach()
        try await frontEnd.run { node in node.ask(.join(try Chat("lobby"))) }
        return frontEnd
    }

    static func configuration(
        _ name: String, peers: [UInt16] = [], _ change: (inout Configuration) -> Void = { _ in }
    ) -> Configuration {
        var configuration = Configuration(name: name)
        configuration.isEphemeral = true
        configuration.discovery = false
        configuration.lastWill = false
        configuration.bindAddress = "127.0.0.1"
        configuration.peers = peers.map { "127.0.0.1:\($0)" }
        change(&configuration)
        return configuration
    }

    func attach() async throws {
        try await run { [state] node in
            node.attach { output in
                guard let state = state.value else { return }
                state.depth += 1
                state.deepest = max(state.deepest, state.depth)
                state.outputs.append(output)
                state.react?(node, output)
                state.depth -= 1
            }
        }
    }

    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (any ChatService) throws -> Value) async throws -> Value {
        try await loop.submit { [state] in try body(state.value.unsafelyUnwrapped.node) }.get()
    }

    /// Sets the front end's reaction to each output.
    func react(_ body: @escaping @Sendable (any ChatService, ServiceOutput) -> Void) async throws {
        try await loop.submit { [state] in state.value?.react = body }.get()
    }

    /// The front end's outputs so far. Call this on its event loop.
    var told: [ServiceOutput] { state.value?.outputs ?? [] }

    var outputs: [ServiceOutput] { get async throws { try await loop.submit { self.told }.get() } }

    var deepest: Int {
        get async throws { try await loop.submit { [state] in state.value?.deepest ?? 0 }.get() }
    }

    func forget() async throws { try await loop.submit { [state] in state.value?.outputs = [] }.get() }

    /// Waits for at most 10 s, because a node that said bye opens no link for 5 s (L-35).
    func wait(_ condition: @escaping @Sendable ([ServiceOutput]) -> Bool) async throws {
        for _ in 0..<2_000 {
            if condition(try await outputs) { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("it did not come: \(try await outputs)")
    }

    /// Waits until this node and another one show each other online.
    func meet(_ other: Node) async throws {
        try await wait { $0.contains { $0.peer?.user == other.user && $0.peer?.presence == .online } }
        try await TestNodes.wait { await other.others(in: "lobby").contains { $0.user == node.user } }
    }

    func stop() async throws {
        let stopped = loop.makePromise(of: Void.self)
        try await run { node in node.stop { stopped.succeed() } }
        try await stopped.futureResult.get()
        try await loop.submit { [state] in state.value?.react = nil }.get()
    }
}

extension ServiceOutput {
    fileprivate var text: String? {
        if case .event(let timed) = self, case .message(let message) = timed.event { message.text } else { nil }
    }

    /// The name of the chat of an event.
    fileprivate var chat: String? { if case .event(let timed) = self { timed.event.chat } else { nil } }

    fileprivate var peer: Peer? {
        if case .event(let timed) = self, case .peer(let change) = timed.event { change.peer } else { nil }
    }

    fileprivate var typists: Int? {
        if case .event(let timed) = self, case .typing(_, let people) = timed.event { people.count } else { nil }
    }

    fileprivate var answer: ServiceAnswer? {
        if case .answer(let answer, _) = self { answer } else { nil }
    }
}

/// The nodes of the others.
private enum TestNodes {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func node(_ name: String, peers: [Node] = [], chats: [String] = ["lobby"]) async throws -> Node {
        let configuration = TestFrontEnd.configuration(name, peers: peers.map(\.port)) { _ in }
        let node = try await Node.start(configuration, logger: quiet)
        for chat in chats { try await node.join(Chat(chat)) }
        return node
    }

    static func wait(until holds: () async -> Bool) async throws {
        for _ in 0..<2_000 {
            if await holds() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("it did not come to that in 20 s")
    }
}

@Suite("A driven node and its front end on one event loop", .serialized, .timeLimit(.minutes(2)))
struct DrivenNodeTests {
    @Test("on the calling thread all of it happens on that thread, and within the calls")
    func currentThread() async {
        let told: [String] = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var told: [String] = []
                let thread = pthread_self()
                MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
                    let configuration = TestFrontEnd.configuration("Alice")
                    ServedNode.start(configuration, on: loop, logger: TestNodes.quiet) { result in
                        guard let local = try? result.get(), let chat = try? Chat("lobby") else {
                            return loop.shutdownGracefully { _ in }
                        }
                        let node = local.driven()
                        node.attach { output in
                            #expect(pthread_equal(pthread_self(), thread) != 0)
                            switch output {
                            case .answer(let answer, _): told.append("\(answer)")
                            case .event, .unread, .own, .user: told.append("event")
                            case .ended: told.append("ended")
                            }
                        }
                        node.ask(.join(chat))
                        node.ask(.send("hello", chat: "lobby"))
                        told.append("asked")
                        node.stop {
                            #expect(pthread_equal(pthread_self(), thread) != 0)
                            told.append("stopped")
                            loop.shutdownGracefully { _ in }
                        }
                        told.append("stopping")
                    }
                }
                continuation.resume(returning: told)
            }
        }
        #expect(
            told == [
                "joined(InklingModel.Chat(name: \"lobby\", secret: nil, owner: nil, partner: nil), [])",
                "sent(message: 1, recipients: 0)", "asked", "stopping", "ended", "stopped",
            ])
    }

    //
    @Test("each request has one answer, in the order of the requests; a bad one says why")
    func answers() async throws {
        let alice = try await TestFrontEnd.inLobby("Alice")
        let key = try await alice.run { $0.identity.key }
        let bob = try await TestNodes.node("Bob", chats: [])
        let requests: [(ServiceRequest, ServiceAnswer)] = [
            (.peers(chat: "lobby"), .peers([])),
            (.join(try Chat("lobby")), .failed(.chatExists("lobby"))),
            (.compose("x", chat: "lobby"), .done),
            (.compose("x", chat: "attic"), .failed(.unknownChat("attic"))),
            (.startTyping(chat: "lobby"), .done),
            (.startTyping(chat: "attic"), .failed(.unknownChat("attic"))),
            (.stopTyping(chat: "lobby"), .done),
            (.stopTyping(chat: "attic"), .failed(.unknownChat("attic"))),
            (.open(chat: "lobby"), .done),
            (.open(chat: "attic"), .failed(.unknownChat("attic"))),
            (.read(chat: "lobby"), .done),
            (.read(chat: "attic"), .failed(.unknownChat("attic"))),
            (
                .join(try Chat("lobby"), isKept: true),
                .failed(.other(code: "unsupported", text: "This node ends with its front end, and keeps no chat."))
            ),
            (.invite(chat: "lobby"), .invite(nil)),
            (.invite(chat: "attic"), .failed(.unknownChat("attic"))),
            (.sightings(chat: "lobby"), .sightings(instance: nil, [])),
            (.sightings(chat: "attic"), .failed(.unknownChat("attic"))),
            (.chats, .chats([ChatStatus("lobby", isLooking: true)])),
            (.peers(chat: "attic"), .failed(.unknownChat("attic"))),
            (.send("", chat: "lobby"), .failed(.messageEmpty)),
            (.send("x", chat: "lobby"), .sent(message: 1, recipients: 0)),
            (.setAway(true), .done),
            (.rename(""), .failed(.name(.empty))),
            (.rename("  Alicia "), .done),
            (.setVerified(true, key: key), .failed(.unknownPeer("\(key)"))),
            (.fingerprint(key: bob.key), .fingerprint(alice.node.fingerprint(with: bob.key).groups)),
            (.setBlocked(true, .key(bob.key)), .done),
            (.knownPeers(areBlocked: true), .knownPeers(await alice.node.allKnownPeers)),
            (.setBlocked(false, .key(bob.key)), .done),
            (.knownPeers(areBlocked: true), .knownPeers([])),
            (.leave(chat: "lobby"), .done),
            (.leave(chat: "lobby"), .failed(.unknownChat("lobby"))),
        ]
        try await alice.forget()
        let (asked, expected) = (requests.map(\.0), requests.map(\.1))
        let ids = try await alice.run { node in asked.map { node.ask($0) } }
        let outputs = try await alice.outputs
        for (place, output) in outputs.enumerated() where place < asked.count {
            guard case .answer(let answer, let id) = output else {
                Issue.record("\(output)")
                continue
            }
            #expect(id == ids[place])
            if case .knownPeers(let people) = answer, place == 27 {
                #expect(people.map(\.key) == [bob.key])
            } else {
                #expect(answer == expected[place], "\(asked[place])")
            }
        }
        #expect(outputs.count == asked.count)
        #expect(try await alice.run { $0.identity.name } == "Alicia")
        try await alice.forget()
        try await alice.run { node in for request in [.status, .statistics] as [ServiceRequest] { node.ask(request) } }
        guard case .status(let status) = try await alice.outputs.first?.answer,
            case .statistics(let statistics) = try await alice.outputs.last?.answer
        else {
            Issue.record("\(try await alice.outputs)")
            return
        }
        #expect(status.isAway && status.frontEnds == 1 && status.chats.isEmpty && status.since > 1_000_000_000)
        #expect(statistics.messagesSent == 1)
        await bob.stop()
        try await alice.stop()
        try await alice.forget()
        try await alice.run { $0.ask(.setAway(true)) }
        #expect(try await alice.outputs.isEmpty, "nothing comes after the end")
    }

    @Test("what a sink causes comes after it has returned, in its order, each answer before what follows from it")
    func neverWithinItself() async throws {
        let alice = try await TestFrontEnd.inLobby("Alice")
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await alice.meet(bob)
        try await alice.forget()
        try await alice.react { node, output in
            guard output.text != nil else { return }
            node.ask(.setBlocked(true, .key(bob.key)))
            node.ask(.peers(chat: "lobby"))
            node.ask(.setBlocked(false, .key(bob.key)))
        }
        _ = try await bob.send("hello", to: "lobby")
        try await alice.wait { $0.filter { $0.answer != nil }.count == 3 }
        let outputs = try await alice.outputs.prefix(5)
        #expect(outputs.count == 5)
        let kinds = outputs.map { output -> String in
            if let text = output.text { return text }
            if let peer = output.peer { return peer.presence.rawValue }
            if case .peers(let peers) = output.answer { return "peers \(peers.map(\.presence.rawValue))" }
            return output.answer == .done ? "done" : "\(output)"
        }
        #expect(kinds == ["hello", "done", "offline", "peers [\"offline\"]", "done"])
        #expect(try await alice.deepest == 1)
        await bob.stop()
        try await alice.stop()
    }

    //
    @Test("who is verified or blocked is on disk before the answer, which the next one does not overtake")
    func decisionsOnDisk() async throws {
        let directory = try TemporaryFolder()
        let bob = try await TestNodes.node("Bob", chats: [])
        let alice = try await TestFrontEnd.inLobby("Alice") {
            $0.isEphemeral = false
            $0.stateDirectory = directory.path
        }
        try await alice.forget()
        let written = NIOLoopBoundBox<[Bool?]>.makeBoxSendingValue([], eventLoop: alice.loop)
        try await alice.react { _, output in
            guard output.answer == .done else { return }
            let people = StateTables(in: directory.path, isHeld: false).contents.people
            written.value.append(people[bob.key]?.isBlocked)
        }
        try await alice.run { node in
            node.ask(.setBlocked(true, .key(bob.key)))
            node.ask(.chats)
        }
        try await alice.wait { $0.filter { $0.answer != nil }.count == 2 }
        let outputs = try await alice.outputs
        #expect(outputs.first?.answer == .done)
        #expect(try await alice.loop.submit { written.value }.get() == [true])
        await bob.stop()
        try await alice.stop()
    }

    // M-91
    @Test("a member's node has a move on disk before it leaves the old chat")
    func followOnDisk() async throws {
        let directory = try TemporaryFolder()
        let bob = try await TestNodes.node("Bob")
        let team = try Chat("team", secret: .random(), owner: bob.key)
        try await bob.join(team)
        let alice = try await TestFrontEnd.inLobby("Alice", peers: [bob.port]) {
            $0.isEphemeral = false
            $0.stateDirectory = directory.path
        }
        try await alice.run { $0.ask(.join(team)) }
        try await alice.wait { $0.contains { $0.peer?.user == bob.user && $0.chat == "team" } }
        try await alice.forget()
        let found = NIOLoopBoundBox<[Chat?]>.makeBoxSendingValue([], eventLoop: alice.loop)
        try await alice.react { _, output in
            // The owner's bye may come while the node writes. The node reports the move when it leaves the old chat.
            guard output.isMove else { return }
            found.value.append(StateTables(in: directory.path, isHeld: false).contents.moves.present(team))
        }
        let chat = try await bob.move("team", choosing: [alice.node.key])
        try await alice.wait { $0.contains(where: \.isMove) }
        #expect(try await alice.loop.submit { found.value }.get().first == chat)
        await bob.stop()
        try await alice.stop()
    }

    //
    @Test("a move is on disk before its answer, and the answer comes before the events of the move")
    func moveOnDisk() async throws {
        let directory = try TemporaryFolder()
        let refuses = Mutex(false)
        let refusal: @Sendable (Chat, Bool) -> NodeError? = { _, _ in
            refuses.withLock { $0 } ? .other(code: "similar-name", text: "") : nil
        }
        let alice = try await TestFrontEnd.inLobby(
            "Alice",
            {
                $0.isEphemeral = false
                $0.stateDirectory = directory.path
            }, refusal: refusal)
        let team = try Chat("team", secret: .random(), owner: alice.node.key)
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await bob.join(team)
        try await alice.run { $0.ask(.join(team)) }
        try await alice.wait { $0.contains { $0.peer?.user == bob.user && $0.chat == "team" } }
        try await alice.forget()
        let written = NIOLoopBoundBox<[Moves]>.makeBoxSendingValue([], eventLoop: alice.loop)
        try await alice.react { _, output in
            guard case .answer(.moved, _) = output else { return }
            written.value.append(StateTables(in: directory.path, isHeld: false).contents.moves)
        }
        // A move asks for no confirmation of the name.
        refuses.withLock { $0 = true }
        try await alice.run { node in
            node.ask(.move(chat: "team", keys: [], removed: [bob.key]))
            node.ask(.chats)
        }
        try await alice.wait { $0.contains(where: \.isMove) }
        let outputs = try await alice.outputs
        guard case .moved(let chat)? = outputs.first?.answer else {
            Issue.record("\(outputs)")
            return
        }
        let gone = outputs.firstIndex { $0.peer?.presence == .offline && $0.chat == "team" } ?? outputs.count
        let notice = outputs.firstIndex(where: \.isMove) ?? 0
        #expect(gone < notice, "the people leave before the notice")
        let texts = try await alice.loop.submit { written.value }.get()
        #expect(texts.count == 1 && texts.first?.present(team) == chat)
        try await alice.forget()
        try await alice.run { $0.ask(.join(team)) }
        #expect(try await alice.outputs.first?.answer == .failed(.chatExists("team")))
        await bob.stop()
        try await alice.stop()
        // A user may have only the old invite at the next start, and a chat that the user left stays closed.
        let prompt = try await TestFrontEnd.inLobby("Alice") {
            $0.isEphemeral = false
            $0.stateDirectory = directory.path
        }
        try await prompt.forget()
        try await prompt.run { node in
            node.ask(.join(team))
            node.ask(.leave(chat: "team"))
            node.ask(.join(team))
        }
        // The disk has each change of the moves before the answer.
        try await prompt.wait { $0.compactMap(\.answer).count == 3 }
        let answers = try await prompt.outputs.compactMap(\.answer)
        #expect(answers.contains { if case .joined(chat, _) = $0 { true } else { false } })
        #expect(answers.last == .failed(.chatMoved("team")))
        try await prompt.stop()
    }

    @Test(
        "a front end gets what it subscribes to, from the present state on; messages that it does not get hold up nobody"
    )
    func subscribing() async throws {
        let alice = try await TestFrontEnd.inLobby("Alice")
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await alice.meet(bob)
        await bob.startTyping(in: "lobby")
        try await alice.wait { $0.last?.typists == 1 }
        try await alice.run { $0.ask(.subscribe(Subscription(kinds: [.typing], chats: .all))) }
        try await alice.forget()
        _ = try await bob.send("hello", to: "lobby")
        try await alice.wait { $0.last?.typists == 0 }
        try await TestNodes.wait { await alice.node.statistics().messagesReceived == 1 }
        #expect(await alice.node.heldText == 0)
        await bob.startTyping(in: "lobby")
        try await alice.wait { $0.last?.typists == 1 }
        try await alice.run { $0.ask(.subscribe(Subscription(kinds: [.peer, .message], chats: .named(["lobby"])))) }
        let outputs = try await alice.outputs
        #expect(outputs.allSatisfy { $0.text == nil })
        #expect(outputs.suffix(2).first?.answer == .done)
        #expect(outputs.last?.peer?.user == bob.user && outputs.last?.peer?.presence == .online)
        try await alice.run { $0.ask(.subscribe(Subscription())) }
        #expect(try await alice.outputs.last?.typists == 1)
        await bob.stop()
        try await alice.stop()
    }

    @Test("while a front end takes nothing, state is replaced and messages wait; its answers come, and then all (M-20)")
    func takesNothing() async throws {
        let alice = try await TestFrontEnd.inLobby("Alice")
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await alice.meet(bob)
        try await alice.run { $0.takesEvents = false }
        try await alice.forget()
        for number in 0..<20 {
            _ = try await bob.send("\(number)", to: "lobby")
            await bob.setAway(number % 2 == 0)
        }
        try await TestNodes.wait { await alice.node.statistics().messagesReceived == 20 }
        try await alice.run { $0.ask(.setAway(false)) }
        #expect(try await alice.outputs.map(\.answer) == [.done])
        #expect(await alice.node.heldText > 0)
        try await alice.forget()
        try await alice.run { $0.takesEvents = true }
        let outputs = try await alice.outputs
        let texts = (0..<20).map { "\($0)" }
        #expect(outputs.compactMap(\.text) == texts)
        #expect(outputs.count <= 22)
        #expect(await alice.node.heldText == 0)
        await bob.stop()
        try await alice.stop()
    }

    @Test("a front end that takes nothing for too long holds up nobody, and is told what it missed (M-20)")
    func patience() async throws {
        let alice = try await TestFrontEnd.inLobby("Alice") { $0.readerPatience = .milliseconds(300) }
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await alice.meet(bob)
        try await alice.run { $0.takesEvents = false }
        try await alice.forget()
        for number in 0..<3 { _ = try await bob.send("\(number)", to: "lobby") }
        try await TestNodes.wait { await alice.node.heldText > 0 }
        try await TestNodes.wait { await alice.node.heldText == 0 }
        _ = try await bob.send("3", to: "lobby")
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await alice.outputs.isEmpty)
        try await alice.run { $0.takesEvents = true }
        _ = try await bob.send("4", to: "lobby")
        try await alice.wait { $0.compactMap(\.text) == ["4"] }
        guard case .event(let first)? = try await alice.outputs.first else {
            Issue.record("nothing came")
            return
        }
        #expect(first.event == .missed(.init(chat: "lobby", messages: 4, outcomes: 0)))
        await bob.stop()
        try await alice.stop()
    }

    @Test("notices of the start wait for the sink; the end comes last, also where events wait")
    func beginningAndEnd() async throws {
        let alice = try await TestFrontEnd(
            TestFrontEnd.configuration("Alice") {
                $0.lastWill = true
                $0.lastWillHelper = "/nowhere/helper"
            })
        try await alice.attach()
        guard case .event(let notice)? = try await alice.outputs.first, case .notice(.lastWillOff) = notice.event else {
            Issue.record("\(try await alice.outputs)")
            return
        }
        try await alice.run { $0.ask(.join(try Chat("lobby"))) }
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await alice.meet(bob)
        try await alice.run { node in
            node.takesEvents = false
            node.ask(.send("too late", chat: "lobby"))
        }
        try await alice.forget()
        try await alice.stop()
        #expect(try await alice.outputs.isEmpty)
        try await alice.run { $0.takesEvents = true }
        let outputs = try await alice.outputs
        #expect(outputs.last == .ended(.stopped) && outputs.count >= 2)
        #expect(
            outputs.contains { output in
                guard case .event(let timed) = output else { return false }
                return switch timed.event {
                case .failed(let failure): failure.message == 1 && failure.user == bob.user && failure.why == .quit
                case .delivered(let receipt): receipt.message == 1 && receipt.user == bob.user
                default: false
                }
            })
        await bob.stop()
    }

    @Test("a port that is not free yet is waited for, by a timer; one that stays taken is an error")
    func takenPort() async throws {
        let holder = try await TestNodes.node("Holder", chats: [])
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let configuration = TestFrontEnd.configuration("Alice") { $0.port = holder.port }
        let begin = ContinuousClock.now
        let refused = loop.makePromise(of: NodeError?.self)
        let ticks = Mutex((last: ContinuousClock.now, longest: Duration.zero))
        let ticking = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(5)) { _ in
            ticks.withLock { $0 = (.now, max($0.longest, $0.last.duration(to: .now))) }
        }
        loop.execute {
            ServedNode.start(configuration, on: loop, logger: TestNodes.quiet) { result in
                if case .failure(let error) = result { refused.succeed(error) } else { refused.succeed(nil) }
            }
        }
        #expect(try await refused.futureResult.get() == .portTaken(holder.port))
        #expect(begin.duration(to: .now) >= .milliseconds(500))
        #expect(ticks.withLock { $0.longest } < .milliseconds(250), "the event loop was not held up")
        ticking.cancel()
        try await group.shutdownGracefully()

        async let alice = TestFrontEnd(configuration)
        try await Task.sleep(for: .milliseconds(50))
        await holder.stop()
        #expect(try await alice.run { $0.identity.port } == holder.port)
        try await alice.stop()
    }

    @Test("a node that is suspended is gone for others until it resumes; the completion comes on the event loop")
    func suspended() async throws {
        let alice = try await TestFrontEnd.inLobby("Alice")
        let bob = try await TestNodes.node("Bob", peers: [alice.node])
        try await alice.meet(bob)
        let suspended = alice.loop.makePromise(of: Void.self)
        try await alice.run { node in
            node.suspend {
                alice.loop.assertInEventLoop()
                suspended.succeed()
            }
        }
        try await suspended.futureResult.get()
        try await TestNodes.wait { await bob.others(in: "lobby").isEmpty }
        try await alice.run { $0.resume() }
        try await TestNodes.wait { await bob.others(in: "lobby").count == 1 }
        await bob.stop()
        try await alice.stop()
    }
}

extension ServedNode {
    /// Returns the front end of this node, as a program's own node has it.
    func driven(
        refusal: @escaping (Chat, Bool) -> NodeError? = { _, _ in nil }
    ) -> any ChatService {
        let service = Service(
            self, level: .driven,
            Service.Surroundings(
                steady: { 0 }, awake: { 0 }, wall: Node.wallClock, keep: { $2(nil) },
                refusal: { $3(refusal($0, $1)) },
                rank: { _, _ in .verified },
                chat: { [unowned self] source, name throws(NodeError) in try chats(of: source, named: name)[0] },
                present: { [unowned self] in present($0) }, shutDown: { [unowned self] in stop {} }))
        guard let frontEnd = service.attach(isPatient: true) else { preconditionFailure("it is the first") }
        service.begin()
        return frontEnd
    }
}

extension ServiceOutput {
    /// Whether the output is the notice of a move.
    fileprivate var isMove: Bool {
        if case .event(let timed) = self, case .notice(.moved) = timed.event { true } else { false }
    }
}
