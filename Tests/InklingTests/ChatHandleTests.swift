import Dispatch
import Inkling
import InklingModel
import Synchronization
import Testing

/// Nodes of this process on the loopback interface, used through handles on their chats.
@Suite("A handle on a chat", .serialized, .timeLimit(.minutes(1)))
struct ChatHandleTests {
    /// Runs a body with the handles of Alice and Bob on the chat "kitchen", where they see each other.
    private static func withPair(_ body: (ChatHandle, ChatHandle) async throws -> Void) async throws {
        let alice = try await NodeTests.node("Alice", chats: [])
        let bob = try await NodeTests.node("Bob", peers: [alice], chats: [])
        let (own, other) = (try await alice.join("kitchen"), try await bob.join("kitchen"))
        for (handle, peer) in [(own, bob), (other, alice)] {
            _ = await NodeTests.first(of: handle.node.presence(in: "kitchen")) { $0.contains { $0.user == peer.user } }
        }
        try await body(own, other)
        await alice.stop()
        await bob.stop()
    }

    private static func text(_ event: Event) -> String? {
        if case .message(let message) = event { message.text } else { nil }
    }

    @Test("what is composed shows in the typing of the other, which each reader has from the present list on")
    func typing() async throws {
        try await Self.withPair { alice, bob in
            var lists = bob.typing.makeAsyncIterator()
            #expect(await lists.next() == [])
            await alice.compose("h")
            #expect(await lists.next()?.map(\.user) == [alice.node.user])
            var late = bob.typing.makeAsyncIterator()
            #expect(await late.next()?.map(\.user) == [alice.node.user])
            try await alice.send("hello")
            #expect(await lists.next() == [])
            #expect(await late.next() == [])
        }
    }

    @Test("calls on typing begin with the present list, come after the node's turn, and end by cancel")
    func calls() async throws {
        try await Self.withPair { alice, bob in
            let (lists, told) = AsyncStream<(users: [UserID], isIdle: Bool)>.makeStream()
            let observation = bob.onTyping { people in
                #expect(bob.node.eventLoop.inEventLoop)
                told.yield((people.map(\.user), bob.node.atOnce { _ in true } ?? false))
            }
            var calls = lists.makeAsyncIterator()
            #expect(await calls.next()! == ([], true))
            await alice.compose("h")
            #expect(await calls.next()! == ([alice.node.user], true))
            await alice.compose("")
            #expect(await calls.next()! == ([], true))
            observation.cancel()
            await alice.compose("h")
            #expect(await NodeTests.first(of: bob.typing) { !$0.isEmpty } != nil)
            await alice.compose("")
            #expect(await NodeTests.first(of: bob.typing) { $0.isEmpty } != nil)
            told.finish()
            #expect(await calls.next() == nil)
        }
    }

    @Test("a task on the node's executor gets what a stream has on the node's thread, and may call the node")
    func task() async throws {
        try await Self.withPair { alice, bob in
            let task = Task(executorPreference: bob.node.taskExecutor) {
                for await people in bob.typing where !people.isEmpty {
                    #expect(bob.node.eventLoop.inEventLoop)
                    await bob.compose("h")
                    #expect(bob.node.eventLoop.inEventLoop)
                    return people.map(\.user)
                }
                return []
            }
            await alice.compose("h")
            #expect(await task.value == [alice.node.user])
            #expect(await NodeTests.first(of: alice.typing) { !$0.isEmpty }?.map(\.user) == [bob.node.user])
        }
    }

    @Test("a call to an idle node returns without its event loop, and one to a busy node waits for the turn")
    func atOnce() async throws {
        try await Self.withPair { alice, bob in
            let (loop, node) = (alice.node.eventLoop, alice.node)
            var typing = bob.typing.makeAsyncIterator()
            #expect(await typing.next() == [])
            for isBusy in [false, true] {
                let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                let isOver = Atomic(false)
                let block: @Sendable () -> Void = {
                    begun.signal()
                    _ = end.wait(timeout: .now() + 5)
                    isOver.store(true, ordering: .sequentiallyConsistent)
                }
                loop.execute { if isBusy { node.onLoop { _ in block() } } else { block() } }
                await Self.wait(for: begun)
                async let composed: Void = alice.compose(isBusy ? "" : "h")
                if isBusy {
                    try await Task.sleep(for: .milliseconds(50))
                    end.signal()
                }
                await composed
                #expect(isOver.load(ordering: .sequentiallyConsistent) == isBusy)
                if !isBusy { end.signal() }
                #expect(await typing.next()?.map(\.user) == (isBusy ? [] : [node.user]))
            }
        }
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test("messages of several tasks come whole, and each task's in its order")
    func tasks() async throws {
        try await Self.withPair { alice, bob in
            let events = bob.events
            async let received = events.prefixOfTexts(300)
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<3 {
                    group.addTask {
                        for number in 0..<100 {
                            await alice.compose("h\(number)")
                            _ = await #expect(throws: Never.self) { try await alice.send("\(task) \(number)") }
                        }
                    }
                }
            }
            let texts = await received.map { $0.split(separator: " ").compactMap { Int($0) } }
            for task in 0..<3 { #expect(texts.filter { $0[0] == task }.map { $0[1] } == Array(0..<100)) }
        }
    }

    @Test("events begin with the people and the typists there, and go on with all that happens in the chat alone")
    func events() async throws {
        try await Self.withPair { alice, bob in
            let elsewhere = (try await alice.node.join("hall"), try await bob.node.join("hall"))
            _ = await NodeTests.first(of: alice.node.presence(in: "hall")) { !$0.isEmpty }
            await bob.compose("h")
            _ = await NodeTests.first(of: alice.typing) { !$0.isEmpty }
            var events = alice.events.makeAsyncIterator()
            let first = await events.next()?.event
            guard case .peer(let change)? = first else {
                Issue.record("\(String(describing: first))")
                return
            }
            let peer = change.peer
            #expect(change.chat == "kitchen" && change.why == .hello)
            #expect(peer.user == bob.node.user && peer.presence == .online)
            #expect(await events.next()?.event == .typing(chat: "kitchen", [peer.person]))
            try await elsewhere.1.send("not here")
            let (message, recipients) = try await alice.send("hello")
            #expect(recipients == 1)
            let text = String(repeating: "é🙂x", count: 5_000)
            try await bob.send(text)
            var seen: [Event] = []
            var awaited = 2
            while awaited > 0, let event = await events.next()?.event {
                seen.append(event)
                switch event {
                case .delivered, .message: awaited -= 1
                case .peer, .typing, .failed, .notice, .missed, .waiting: break
                }
            }
            #expect(seen.contains(.delivered(.init(chat: "kitchen", message: message, user: bob.node.user))))
            #expect(seen.compactMap(Self.text) == [text])
            #expect(seen.allSatisfy { $0.chat == "kitchen" })
        }
    }

    @Test("what came while nobody read the chat is counted, and the count begins its events")
    func unread() async throws {
        try await Self.withPair { alice, bob in
            let hall = try await alice.node.join("hall")
            let elsewhere = hall.events
            for text in ["one", "two"] {
                let outcome = try await bob.node.deliver(text, to: "kitchen", within: .seconds(30))
                #expect(outcome.reachedAll)
            }
            #expect(await alice.node.heldText == 0, "the reader of another chat holds nothing")
            var events = alice.events.makeAsyncIterator()
            #expect(await events.next()?.event == .missed(.init(chat: "kitchen", messages: 2, outcomes: 0)))
            withExtendedLifetime(elsewhere) {}
        }
    }

    // M-20
    @Test("a message waits for each reader; when the chat is left they end, hold nothing, and can be read out")
    func leaving() async throws {
        try await Self.withPair { alice, bob in
            let (first, second) = (alice.events, alice.events)
            var lists = alice.typing.makeAsyncIterator()
            #expect(await lists.next() == [])
            let outcome = Task { try await bob.node.deliver("unread", to: "kitchen", within: .seconds(30)) }
            #expect(await NodeTests.first(of: first) { Self.text($0.event) == "unread" } != nil)
            #expect(await alice.node.heldText > 0, "the second has not taken it")
            try await alice.leave()
            #expect(await alice.node.heldText == 0)
            var rest: [Event] = []
            for await timed in second { rest.append(timed.event) }
            #expect(rest.compactMap(Self.text) == ["unread"])
            #expect(await lists.next() == nil)
            _ = try await outcome.value
        }
    }

    @Test("a handle whose chat was left does nothing in a chat of that name that was joined again")
    func stale() async throws {
        try await Self.withPair { alice, bob in
            await #expect(throws: NodeError.chatExists("kitchen")) { try await alice.node.join("kitchen") }
            let messages = bob.events
            try await alice.leave()
            let again = try await alice.node.join("kitchen")
            _ = await NodeTests.first(of: again.events) { if case .peer = $0.event { true } else { false } }
            await #expect(throws: NodeError.unknownChat("kitchen")) { try await alice.send("hello") }
            await #expect(throws: NodeError.unknownChat("kitchen")) { try await alice.leave() }
            var (events, lists) = (alice.events.makeAsyncIterator(), alice.typing.makeAsyncIterator())
            #expect(await events.next() == nil)
            #expect(await lists.next() == nil)
            await alice.compose("stale")
            #expect(await alice.node.chats.map(\.name) == ["kitchen"])
            try await again.send("hello")
            #expect(await NodeTests.first(of: messages) { Self.text($0.event) != nil }?.event.chat == "kitchen")
        }
    }

    @Test("the node's stop ends all sequences of a chat, and a handle says that the node was stopped")
    func stopping() async throws {
        try await Self.withPair { alice, _ in
            var (events, lists) = (alice.events.makeAsyncIterator(), alice.typing.makeAsyncIterator())
            guard case .peer? = await events.next()?.event else {
                Issue.record("nobody is there")
                return
            }
            #expect(await lists.next() == [])
            await alice.node.stop()
            while await events.next() != nil {}
            #expect(await lists.next() == nil)
            await #expect(throws: NodeError.stopped) { try await alice.send("hello") }
            var late = alice.events.makeAsyncIterator()
            #expect(await late.next() == nil)
        }
    }
}

extension NodeEvents {
    /// Takes events up to so many messages, and returns their texts.
    fileprivate func prefixOfTexts(_ count: Int) async -> [String] {
        var texts: [String] = []
        for await timed in self {
            guard case .message(let message) = timed.event else { continue }
            texts.append(message.text)
            if texts.count == count { break }
        }
        return texts
    }
}
