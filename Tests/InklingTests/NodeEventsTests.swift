import Inkling
import InklingModel
import Synchronization
import Testing

/// Readers of events on their own threads, without a node.
@Suite("A reader's mailbox", .timeLimit(.minutes(1)))
struct SharedMailboxTests {
    @Test("a reader that waits has what comes at once; what it takes later is reported once until asked for")
    func taking() async {
        let reports = Mutex(0)
        let mailbox = SharedMailbox { reports.withLock { $0 += 1 } }
        for number in 1...3 {
            #expect(mailbox.put(MailboxTests.message(MailboxTests.bob, number).timed) == .waiting)
        }
        #expect(mailbox.collectTaken() == [])
        for number in 1...2 {
            #expect(await mailbox.next()?.event == MailboxTests.message(MailboxTests.bob, number))
        }
        #expect(reports.withLock { $0 } == 1)
        #expect(mailbox.collectTaken() == [1, 2])
        _ = await mailbox.next()
        #expect(reports.withLock { $0 } == 2 && mailbox.collectTaken() == [3])
        let reader = Task {
            var count = 0
            while await mailbox.next() != nil { count += 1 }
            return count
        }
        var count = 1
        while mailbox.put(MailboxTests.message(MailboxTests.bob, 3 + count).timed) != .taken {
            // The reader is not waiting yet, and takes this message from the queue later.
            count += 1
            await Task.yield()
        }
        mailbox.finish()
        #expect(await reader.value == count)
        #expect(await mailbox.next() == nil)
    }

    @Test("what waits when the node ends can be read; a task that is cancelled ends the sequence")
    func ending() async {
        let mailbox = SharedMailbox()
        _ = mailbox.put(MailboxTests.message(MailboxTests.bob, 1).timed)
        mailbox.finish()
        #expect(mailbox.put(MailboxTests.message(MailboxTests.bob, 2).timed) == .ended)
        #expect(await mailbox.next()?.event == MailboxTests.message(MailboxTests.bob, 1))
        #expect(await mailbox.next() == nil)
        let reports = Mutex(0)
        let other = SharedMailbox { reports.withLock { $0 += 1 } }
        let task = Task { await other.next() }
        task.cancel()
        #expect(await task.value == nil)
        #expect(other.isFinished && reports.withLock { $0 } == 1)
    }

    @Test("who takes nothing for ten looks gets no messages until it comes again, and hears first how many it missed")
    func idle() async {
        let mailbox = SharedMailbox()
        for _ in 0..<100 { #expect(mailbox.look(patience: 10) == [], "nothing waits") }
        for number in 1...3 { _ = mailbox.put(MailboxTests.message(MailboxTests.bob, number).timed) }
        for _ in 0..<9 { #expect(mailbox.look(patience: 10) == []) }
        _ = await mailbox.next()
        for _ in 0..<10 { #expect(mailbox.look(patience: 10) == [] && mailbox.isWatched) }
        #expect(mailbox.look(patience: 10) == [2, 3])
        #expect(!mailbox.isWatched)
        #expect(mailbox.put(MailboxTests.message(MailboxTests.bob, 4).timed) == .missed)
        #expect(mailbox.put(MailboxTests.peer(MailboxTests.bob, .away).timed) == .waiting)
        #expect(await mailbox.next()?.event == .missed(.init(chat: "c", messages: 3, outcomes: 0)))
        #expect(await mailbox.next()?.event == MailboxTests.peer(MailboxTests.bob, .away))
        #expect(mailbox.put(MailboxTests.message(MailboxTests.bob, 5).timed) == .waiting)
        #expect(await mailbox.next()?.event == MailboxTests.message(MailboxTests.bob, 5))
    }

    // M-20
    @Test(
        "3,000 messages of ten people in 3 s, read at 20 events a second: all, in order, and typing within ten events")
    func slow() async {
        let mailbox = SharedMailbox()
        let people = (10..<20).map(MailboxTests.person)
        for person in people { _ = mailbox.put(MailboxTests.peer(person, .online).timed) }
        _ = mailbox.put(MailboxTests.peer(MailboxTests.carol, .online).timed)
        var (numbers, taken, given): ([MessageID], Int, [MessageID]) = ([], 0, [])
        var typing: (shown: Int?, hidden: Int?)
        // One turn of 50 ms. The node looks once a second.
        func readOne() async {
            taken += 1
            if taken % 20 == 0 { given += mailbox.look(patience: 10) }
            switch await mailbox.next()?.event {
            case .message(let message): numbers.append(message.id)
            case .typing(_, let people):
                if people.isEmpty { typing.hidden = taken } else { typing.shown = taken }
            default: break
            }
        }
        for round in 0..<60 {
            for place in 1...50 {
                let number = 50 * round + place
                #expect(mailbox.put(MailboxTests.message(people[number % 10], number).timed) == .waiting)
            }
            await readOne()
        }
        let begun = taken
        _ = mailbox.put(Event.typing(chat: "c", [MailboxTests.carol]).timed)
        for _ in 0..<200 { await readOne() }
        let ended = taken
        _ = mailbox.put(Event.typing(chat: "c", []).timed)
        while numbers.count < 3_000, taken < 10_000 { await readOne() }
        #expect(numbers == (1...3_000).map { MessageID(rawValue: $0) } && given.isEmpty)
        #expect((typing.shown ?? .max) - begun <= 10 && (typing.hidden ?? .max) - ended <= 10, "\(typing)")
        print(
            "figure: library, 3,000 messages at 20 events a second: \(taken) events,",
            "typing after \((typing.shown ?? 0) - begun), its end after \((typing.hidden ?? 0) - ended)")
    }

    // M-20
    @Test(
        "1,000 people come, type, write and go at a reader that stands still for 12 s: a number, and nobody but who stays"
    )
    func stopped() async {
        let mailbox = SharedMailbox()
        _ = mailbox.put(MailboxTests.peer(MailboxTests.bob, .online).timed)
        var (missed, given) = (0, 0)
        for number in 0..<1_000 {
            let person = MailboxTests.person(number + 10)
            _ = mailbox.put(MailboxTests.peer(person, .online).timed)
            _ = mailbox.put(Event.typing(chat: "c", [person]).timed)
            _ = mailbox.put(Event.typing(chat: "c", []).timed)
            if mailbox.put(MailboxTests.message(person, number + 1).timed) == .missed { missed += 1 }
            _ = mailbox.put(MailboxTests.peer(person, .offline).timed)
            // 84 people a second
            if number % 84 == 83 { given += mailbox.look(patience: 10).count }
        }
        #expect(given > 0 && missed > 0 && given + missed == 1_000, "after 10 s no sender waits")
        var events: [Event] = []
        mailbox.finish()
        while let timed = await mailbox.next() { events.append(timed.event) }
        #expect(
            events == [
                .missed(.init(chat: "c", messages: 1_000, outcomes: 0)), MailboxTests.peer(MailboxTests.bob, .online),
            ],
            "\(events.count) events")
    }
}

/// Nodes of this process on the loopback interface whose readers are slow, late or absent.
@Suite("Readers of a node's events", .serialized, .timeLimit(.minutes(2)))
struct NodeEventsTests {
    /// Sends a number of messages, as fast as possible.
    private static func flood(_ node: Node, _ count: Int, text: String) async throws {
        var sent = 0
        while sent < count {
            do {
                _ = try await node.send("\(sent) \(text)", to: "lobby")
                sent += 1
            } catch NodeError.queueFull {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Waits until a condition holds, up to a limit.
    static func wait(_ seconds: Double = 20, until holds: () async -> Bool) async throws {
        for _ in 0..<Int(seconds * 100) {
            if await holds() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("it did not come to that in \(seconds) s")
    }

    // M-20
    @Test("a message counts as held until the last reader took it, and one that takes nothing holds up nobody for long")
    func idleReader() async throws {
        try await NodeTests.withPair({ $0.readerPatience = .seconds(6) }) { alice, bob in
            let lively = await alice.events()
            let idle = await alice.events()
            async let heard = NodeTests.numbers(of: lively, count: 200)
            try await Self.flood(bob, 200, text: String(repeating: "x", count: 500))
            #expect(await heard == Array(0..<200))
            #expect(await alice.heldText >= 200 * 756, "the other has not taken them")
            try await Self.wait { await alice.heldText == 0 }
            // The node no longer waits for the idle reader.
            async let more = NodeTests.numbers(of: lively, count: 3)
            try await Self.flood(bob, 3, text: "more")
            #expect(await more == [0, 1, 2])
            try await Self.wait { await alice.heldText == 0 }
            // The idle reader first gets the number of missed messages, and then the new ones.
            var late = idle.makeAsyncIterator()
            #expect(await late.next()?.event == .missed(.init(chat: "lobby", messages: 203, outcomes: 0)))
            async let last = NodeTests.numbers(of: lively, count: 1)
            try await Self.flood(bob, 1, text: "last")
            #expect(await last == [0])
            #expect(await alice.heldText > 0)
            var event = await late.next()?.event
            while case .typing? = event { event = await late.next()?.event }
            guard case .message(let message)? = event, message.text == "0 last" else {
                Issue.record("\(String(describing: event))")
                return
            }
            try await Self.wait { await alice.heldText == 0 }
        }
    }

    @Test("what nobody read is told to the next reader as a number, and holds up nobody")
    func noReader() async throws {
        try await NodeTests.withPair { alice, bob in
            let outcome = try await bob.deliver("one", to: "lobby", within: .seconds(30))
            #expect(outcome.reachedAll)
            try await Self.flood(bob, 4, text: "more")
            try await Self.wait { await alice.statistics().messagesReceived == 5 }
            #expect(await alice.heldText == 0)
            var first: NodeEvents? = await alice.events()
            var iterator = first?.makeAsyncIterator()
            #expect(await iterator?.next()?.event == .missed(.init(chat: "lobby", messages: 5, outcomes: 0)))
            // The next reader also gets the number of messages that a reader left unread.
            try await Self.flood(bob, 3, text: "unread")
            try await Self.wait { await alice.heldText > 3 * 256 }
            (first, iterator) = (nil, nil)
            try await Self.wait { await alice.heldText == 0 }
            var second = await alice.events().makeAsyncIterator()
            #expect(await second.next()?.event == .missed(.init(chat: "lobby", messages: 3, outcomes: 0)))
            // The outcomes for which no call waited; `deliver` got the first.
            try await Self.wait { await bob.statistics().messagesDelivered == 8 }
            var own = await bob.events().makeAsyncIterator()
            #expect(await own.next()?.event == .missed(.init(chat: "lobby", messages: 0, outcomes: 7)))
        }
    }

    @Test("a reader whose task is cancelled is waited for no more, even if its sequence is kept")
    func cancelledReader() async throws {
        try await NodeTests.withPair { alice, bob in
            let events = await alice.events()
            let reading = Task { for await _ in events {} }
            try await Task.sleep(for: .milliseconds(50))
            reading.cancel()
            await reading.value
            try await Self.flood(bob, 3, text: "unread")
            try await Self.wait { await alice.statistics().messagesReceived == 3 }
            try await Self.wait { await alice.heldText == 0 }
            var next = await alice.events().makeAsyncIterator()
            guard case .missed(let missed)? = await next.next()?.event, missed.chat == "lobby", missed.outcomes == 0
            else {
                Issue.record("nothing was missed")
                return
            }
            withExtendedLifetime(events) {}
        }
    }

    @Test("who observes presence and takes nothing gets one list, the latest")
    func latestPresence() async throws {
        try await NodeTests.withPair { alice, bob in
            var lists = await alice.presence(in: "lobby").makeAsyncIterator()
            #expect(await lists.next()?.first?.presence == .online)
            for away in [true, false, true] {
                await bob.setAway(away)
                try await Self.wait { await alice.peer(bob.user, in: "lobby")?.presence == (away ? .away : .online) }
            }
            #expect(await lists.next()?.first?.presence == .away)
            await bob.stop()
            #expect(await lists.next()?.first?.presence == .offline)
            await alice.stopObserving()
            #expect(await lists.next() == nil)
        }
    }

    @Test("who observes typing and takes nothing gets the latest list alone")
    func latestTyping() async throws {
        try await NodeTests.withPair { alice, bob in
            var lists = await alice.typing(in: "lobby").makeAsyncIterator()
            #expect(await lists.next()?.isEmpty == true)
            for text in ["x", "", "x", ""] {
                await bob.compose(text, in: "lobby")
                _ = await NodeTests.first(of: alice.typing(in: "lobby")) { $0.isEmpty == text.isEmpty }
            }
            #expect(await lists.next()?.isEmpty == true)
            await bob.compose("x", in: "lobby")
            #expect(await lists.next()?.map(\.user) == [bob.user])
        }
    }
}

extension NodeTests {
    /// Returns the numbers at the beginning of the next messages' texts.
    static func numbers(of events: NodeEvents, count: Int) async -> [Int] {
        var numbers: [Int] = []
        for await timed in events {
            guard case .message(let message) = timed.event else { continue }
            numbers.append(Int(message.text.prefix { $0 != " " }) ?? -1)
            if numbers.count == count { break }
        }
        return numbers
    }
}
