import Glibc
import InklingService
import InklingModel
import NIOCore
import NIOPosix
import ProcessSupport
import Synchronization
import Testing

@testable import Inkling

/// The histories of a state directory, over several runs.
private final class HistoryStage: Sendable {
    static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    let folder: TemporaryFolder
    let notices = Mutex<[Notice]>([])
    /// The time for which the last start held the event loop.
    let start = Mutex(Duration.zero)
    /// The first chats of chats that have moved.
    let first = Mutex<[Chat: Chat]>([:])
    private let loop = MultiThreadedEventLoopGroup.singleton.next()
    private let history: NIOLoopBoundBox<MessageHistory?>
    private let database: NIOLoopBoundBox<TextDatabase?>

    init() async throws {
        folder = try TemporaryFolder()
        database = NIOLoopBoundBox.makeEmptyBox(eventLoop: loop)
        history = NIOLoopBoundBox.makeEmptyBox(eventLoop: loop)
        try await restart()
    }

    /// Starts another run when the last one is done, and returns when it has done its first work.
    func restart() async throws {
        try await idle()
        loop.execute { [self] in
            let begun = ContinuousClock.now
            let database = TextDatabase(
                in: folder.path, merging: MessageHistory.merging, on: loop, threads: Self.threads)
            let history = MessageHistory(database) { chat in (self.first.withLock { $0[chat] } ?? chat).logID }
            (self.database.value, self.history.value) = (database, history)
            history.begin { notice in self.notices.withLock { $0.append(notice) } }
            start.withLock { $0 = ContinuousClock.now - begun }
        }
        try await idle()
    }

    /// Returns the longest time for which the event loop did not come back to a timer of 1 ms.
    func longestPause(_ body: () async throws -> Void) async throws -> Duration {
        let longest = Mutex(Duration.zero)
        let last = Mutex(ContinuousClock.now)
        let timer = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(1)) { _ in
            let now = ContinuousClock.now
            let pause = last.withLock { last in
                defer { last = now }
                return now - last - .milliseconds(1)
            }
            longest.withLock { $0 = max($0, pause) }
        }
        try await body()
        timer.cancel()
        return longest.withLock(\.self)
    }

    /// Lets the file grow to a number of pages, or not beyond its size.
    func setRoom(pages: Int) async throws {
        let done = loop.makePromise(of: String?.self)
        loop.execute { [self] in
            database.value?.perform { tables throws(Database.Failure) in
                try tables.database.run("PRAGMA max_page_count=\(pages)")
            } _: { (_: Void?, reason) in
                done.succeed(reason)
            }
        }
        #expect(try await done.futureResult.get() == nil)
    }

    private func idle() async throws {
        let done = loop.makePromise(of: Void.self)
        loop.execute { [self] in
            if let database = database.value { database.whenIdle { done.succeed() } } else { done.succeed() }
        }
        try await done.futureResult.get()
    }

    /// Replaces a file.
    func put(_ bytes: [UInt8], at name: String) throws {
        let file = open("\(folder.path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        #expect(write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    func set(_ isOn: Bool, for chat: Chat) async throws -> String? {
        let done = loop.makePromise(of: String?.self)
        loop.execute { self.history.value?.set(isOn, for: chat) { done.succeed($0) } }
        return try await done.futureResult.get()
    }

    func add(_ messages: [RecentMessage], isOutcome: Bool = false, in chat: Chat) async throws {
        let node = FakeNode().identity
        try await loop.submit {
            for message in messages {
                self.history.value?.add(message, isOutcome: isOutcome, of: node, in: chat)
            }
        }.get()
    }

    func addMissing(_ messages: [RecentMessage], in chat: Chat) async throws {
        let node = FakeNode().identity
        try await loop.submit { self.history.value?.addMissing(messages, of: node, in: chat) }.get()
    }

    func list(_ query: HistoryQuery = HistoryQuery(), in chat: Chat) async throws -> [RecentMessage] {
        let done = loop.makePromise(of: [RecentMessage].self)
        loop.execute { self.history.value?.list(query, in: chat) { done.succeed($0.messages) } }
        return try await done.futureResult.get()
    }

    func texts(_ query: HistoryQuery = HistoryQuery(), in chat: Chat) async throws -> [String] {
        try await list(query, in: chat).map(\.text)
    }

    func fault() async throws -> Notice? { try await loop.submit { self.history.value?.fault }.get() }

    func keeps(_ chat: Chat) async throws -> Bool {
        try await loop.submit { self.history.value?.keeps(chat) == true }.get()
    }
}

/// The histories of private chats on disk (A-50 to A-54).
@Suite("Histories")
struct MessageHistoryTests {
    private static func chat(_ name: String = "team") throws -> Chat {
        try Chat(name, secret: Secret("abcdefghijklmnopqrstuvwxya"))
    }

    // A-44
    @Test("a chat that has moved has the history of the first chat, also after a restart")
    func move() async throws {
        let stage = try await HistoryStage()
        let (old, new) = (try Self.chat(), try Chat("team", secret: .random()))
        stage.first.withLock { $0[new] = old }
        #expect(try await stage.set(true, for: old) == nil)
        let early = ReceivedMessage(chat: "team", from: Somebody.bob, id: 1, text: "early")
        let late = ReceivedMessage(chat: "team", from: Somebody.bob, id: 2, text: "late")
        try await stage.add([RecentMessage(at: 1.5, .received(early, isDelayed: false))], in: old)
        #expect(try await stage.keeps(new))
        try await stage.add([RecentMessage(at: 2.5, .received(late, isDelayed: false))], in: new)
        try await stage.restart()
        #expect(try await stage.texts(in: new) == ["early", "late"])
        #expect(try await stage.set(false, for: new) == nil)
        #expect(try await stage.texts(in: old).isEmpty)
    }

    private static func received(_ text: String, at time: Timestamp = 1.5) -> RecentMessage {
        RecentMessage(
            at: time,
            .received(ReceivedMessage(chat: "team", from: Somebody.bob, id: 7, text: text), isDelayed: false))
    }

    private static func own(
        _ text: String, _ number: MessageID, at time: Timestamp = 2.5, delivered: [UserID] = [],
        failed: [RecentMessage.Failure] = []
    ) -> RecentMessage {
        let own = OwnMessage(at: time, chat: "team", message: number, recipients: 2, text: text)
        return RecentMessage(at: time, .own(own, delivered: delivered, failed: failed))
    }

    // A-50, A-51, A-52
    @Test("received and own messages come back in the next run, with outcomes and numbers")
    func conversation() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        try await stage.add([Self.received("before")], in: chat)
        #expect(try await stage.set(true, for: chat) == nil)
        let failure = RecentMessage.Failure(user: Somebody.carol.user, why: .bye)
        let outcome = Self.own("mine", 1, delivered: [Somebody.bob.user], failed: [failure])
        try await stage.add([Self.received("hi"), Self.own("mine", 1)], in: chat)
        try await stage.add([outcome], isOutcome: true, in: chat)
        // Numbers of own messages begin again with each run.
        try await stage.restart()
        try await stage.add([Self.own("again", 1, at: 3.5)], in: chat)
        var expected = [Self.received("hi"), outcome, Self.own("again", 1, at: 3.5)]
        for index in expected.indices { expected[index].entry = UInt64(index + 1) }
        #expect(try await stage.list(in: chat) == expected)
        #expect(try await stage.keeps(chat))
        #expect(try await !stage.keeps(Self.chat("other")))
        #expect(try await stage.list(in: Self.chat("other")).isEmpty)
        #expect(stage.notices.withLock(\.self).isEmpty)
    }

    // A-52
    @Test("pages go back to the beginning, and a search looks through all of them")
    func pages() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        _ = try await stage.set(true, for: chat)
        try await stage.add((1...1_200).map { Self.received($0 % 100 == 0 ? "Café \($0)" : "\($0)") }, in: chat)
        var before: UInt64?
        var texts: [String] = []
        while case let page = try await stage.list(HistoryQuery(before: before, count: 170), in: chat), !page.isEmpty {
            #expect(page.count == 170 || texts.count + page.count == 1_200)
            texts = page.map(\.text) + texts
            before = page.first?.entry
        }
        #expect(texts.count == 1_200 && texts.first == "1" && texts.last == "Café 1200")
        #expect(try await stage.list(in: chat).count == 50)
        let found = try await stage.list(HistoryQuery(text: FoldedText("CAFE\u{301}")), in: chat)
        #expect(found.map(\.text) == (1...12).map { "Café \($0)00" } && found.map(\.entry) == (1...12).map { $0 * 100 })
        #expect(try await stage.texts(HistoryQuery(before: 300, text: FoldedText("café")), in: chat).count == 2)
        #expect(try await stage.texts(HistoryQuery(text: FoldedText("nothing")), in: chat).isEmpty)
        // A page has one message at least, and at most 256 KiB.
        let long = String(repeating: "\u{1}", count: 65_536)
        try await stage.add((1...5).map { _ in Self.received(long) }, in: chat)
        #expect(try await stage.texts(in: chat).map(\.utf8.count) == [65_536, 65_536, 65_536])
    }

    // A-51
    @Test("an outcome that comes long after its message is added to it")
    func lateOutcome() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        _ = try await stage.set(true, for: chat)
        try await stage.add((1...511).map { Self.received("\($0)") } + [Self.own("mine", 3)], in: chat)
        try await stage.add([Self.received("later")], in: chat)
        let outcome = Self.own("mine", 3, delivered: [Somebody.bob.user, Somebody.carol.user])
        try await stage.add([outcome], isOutcome: true, in: chat)
        _ = try await stage.list(in: chat)
        let message = try await stage.list(HistoryQuery(before: 513, count: 1), in: chat).first
        #expect(message?.content == outcome.content && message?.entry == 512)
    }

    // A-51
    @Test("an outcome whose message is lost is not that of an earlier run's message of the same number")
    func strayOutcome() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        _ = try await stage.set(true, for: chat)
        try await stage.add([Self.own("mine", 1)], in: chat)
        try await stage.add([Self.own("lost", 1, at: 9, delivered: [Somebody.bob.user])], isOutcome: true, in: chat)
        #expect(try await stage.list(in: chat).map(\.content) == [Self.own("mine", 1).content])
    }

    // A-51
    @Test("a run adds the messages that the last one received and did not add, once")
    func missing() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        let messages = (1...4).map {
            Self.received("\($0)", at: Timestamp(rawValue: 1_764_430_000.123_456 + Double($0) / 1_000))
        }
        _ = try await stage.set(true, for: chat)
        try await stage.addMissing(messages, in: chat)
        #expect(try await stage.texts(in: chat).isEmpty, "those are of the time before the history")
        try await stage.add(Array(messages.prefix(2)), in: chat)
        for _ in 0..<2 {
            try await stage.restart()
            try await stage.addMissing(messages, in: chat)
            #expect(try await stage.texts(in: chat) == ["1", "2", "3", "4"])
        }
    }

    // A-53
    @Test("the end of a history removes it, and not that of another chat")
    func end() async throws {
        let stage = try await HistoryStage()
        let (chat, other) = (try Self.chat(), try Self.chat("other"))
        _ = try await stage.set(true, for: chat)
        _ = try await stage.set(true, for: other)
        try await stage.add([Self.received("hi")], in: chat)
        try await stage.add([Self.received("there")], in: other)
        #expect(try await stage.set(false, for: chat) == nil)
        try await stage.add([Self.received("late")], in: chat)
        #expect(try await stage.list(in: chat).isEmpty)
        _ = try await stage.set(true, for: chat)
        #expect(try await stage.list(in: chat).isEmpty)
        try await stage.restart()
        #expect(try await stage.texts(in: other) == ["there"])
    }

    // A-54
    @Test("damage is reported once, by what happened and what to do, and ends nothing")
    func damage() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        _ = try await stage.set(true, for: chat)
        try await stage.add([Self.received("hi")], in: chat)
        #expect(try await stage.texts(in: chat) == ["hi"])
        try stage.put(Array("This is a shopping list.".utf8), at: "texts.db")
        try await stage.restart()
        for _ in 0..<2 { #expect(try await stage.list(in: chat).isEmpty) }
        try await stage.add([Self.received("again")], in: chat)
        #expect(try await stage.texts(in: chat) == ["again"])
        try stage.put(Array("nothing".utf8), at: "keys")
        try await stage.restart()
        #expect(try await !stage.keeps(chat))
        #expect(try await stage.set(true, for: chat)?.contains("keys can't be used: it is damaged") == true)
        let texts = stage.notices.withLock { $0.map(\.fact) }
        #expect(texts.count == 2)
        #expect(texts.first?.contains("texts.db was damaged. Inkling saved the part that it could read.") == true)
        #expect(texts.last?.contains("Repair or remove the file, and start Inkling again.") == true)
    }

    // A-54
    @Test("messages that can't be written are missing, and reported")
    func unwritable() async throws {
        let stage = try await HistoryStage()
        let chat = try Self.chat()
        _ = try await stage.set(true, for: chat)
        try await stage.setRoom(pages: 1)
        let long = String(repeating: "x", count: 20_000)
        try await stage.add([Self.received(long), Self.received(long)], in: chat)
        #expect(try await stage.list(in: chat).isEmpty)
        let notices = stage.notices.withLock(\.self)
        guard case .other("history-not-kept", let text) = notices.first else { throw SystemError("no notice") }
        #expect(notices.count == 1 && text.contains("No space left on device."), "\(text)")
        #expect(text.hasPrefix("New messages are not kept. "))
        #expect(try await stage.fault() == notices[0])
        try await stage.setRoom(pages: 1 << 20)
        try await stage.add([Self.received("kept")], in: chat)
        #expect(try await stage.texts(in: chat) == ["kept"])
        #expect(try await stage.fault() == nil)
    }

    // A-51, A-54
    @Test("a start with full histories takes at most 30 ms longer")
    func start() async throws {
        let stage = try await HistoryStage()
        func time() async throws -> Duration {
            var best = Duration.seconds(9)
            for _ in 0..<5 {
                try await stage.restart()
                best = min(best, stage.start.withLock(\.self))
            }
            return best
        }
        let empty = try await time()
        let chats = try (1...8).map { try Self.chat("chat \($0)") }
        for chat in chats {
            _ = try await stage.set(true, for: chat)
            for part in 0..<10 {
                try await stage.add((1...1_000).map { Self.received("message \(part) \($0)") }, in: chat)
                #expect(try await stage.list(HistoryQuery(count: 1), in: chat).count == 1)
            }
        }
        let full = try await time()
        let clock = ContinuousClock()
        let begun = clock.now
        #expect(try await stage.list(HistoryQuery(count: 20), in: chats[0]).count == 20)
        let page = clock.now
        let pause = try await stage.longestPause { () async throws in
            let found = try await stage.list(HistoryQuery(text: FoldedText("nowhere")), in: chats[0])
            #expect(found.isEmpty)
        }
        print("figure: start without histories \(empty), with 8 of 10,000 messages \(full)")
        print(
            "figure: a page of 20 messages \(page - begun), a search of 10,000 \(clock.now - page), the event loop held for \(pause)"
        )
        #expect(full - empty <= .milliseconds(30))
    }
}

/// The requests about histories, as front ends make them (A-50, A-52, A-53).
@Suite("Histories of a daemon")
struct ServiceHistoryTests {
    private static func secret() throws -> Chat { try Chat("team", secret: Secret("abcdefghijklmnopqrstuvwxya")) }

    private static func stage() throws -> (ServiceStage, StageFrontEnd, Chat) {
        let (stage, chat) = (ServiceStage(), try secret())
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(chat))
        frontEnd.forget()
        return (stage, frontEnd, chat)
    }

    // A-50
    @Test("only a private chat has a history, and the list of chats shows it")
    func switching() throws {
        let (stage, frontEnd, chat) = try Self.stage()
        frontEnd.ask(.join(try Chat("kitchen")))
        guard case .failed(.other("not-secret", _)) = frontEnd.ask(.history(true, chat: "kitchen")) else {
            throw SystemError("a history of an open chat")
        }
        #expect(frontEnd.ask(.history(true, chat: "attic")) == .failed(.unknownChat("attic")))
        #expect(frontEnd.ask(.messages(chat: "attic")) == .failed(.unknownChat("attic")))
        #expect(frontEnd.ask(.history(true, chat: "team")) == .done && stage.history.keeps(chat))
        guard case .chats(let chats) = frontEnd.ask(.chats) else { throw SystemError("no chats") }
        #expect(chats.map(\.keepsHistory) == [true, false])
        stage.history.failure = "no room"
        #expect(
            frontEnd.ask(.history(false, chat: "team"))
                == .failed(.other(code: "history-not-kept", text: "no room")))
    }

    // A-51
    @Test("messages are added as they come, and outcomes when all are known")
    func adding() throws {
        let (stage, frontEnd, chat) = try Self.stage()
        frontEnd.ask(.history(true, chat: "team"))
        stage.node.tell(Somebody.message(1, in: "team", "hi"))
        stage.node.recipients = 2
        frontEnd.ask(.send("hello", chat: "team"))
        stage.node.tell(.delivered(.init(chat: "team", message: 1, user: Somebody.bob.user)))
        #expect(stage.history.outcomes.isEmpty && stage.history.kept[chat]?.map(\.text) == ["hi", "hello"])
        stage.node.tell(.failed(.init(chat: "team", message: 1, user: Somebody.carol.user, why: .bye)))
        guard case .own(let own, let delivered, let failed)? = stage.history.outcomes.first?.content else {
            throw SystemError("no outcomes")
        }
        #expect(own.message == 1 && delivered == [Somebody.bob.user])
        #expect(failed == [.init(user: Somebody.carol.user, why: .bye)] && stage.history.outcomes.count == 1)
    }

    // A-51, A-52
    @Test("an own message that waits gets its outcomes in the history, however many messages follow it")
    func lateOutcomes() throws {
        let (stage, frontEnd, _) = try Self.stage()
        frontEnd.ask(.history(true, chat: "team"))
        stage.node.recipients = 2
        frontEnd.ask(.send("tea", chat: "team"))
        stage.node.tell(.delivered(.init(chat: "team", message: 1, user: Somebody.bob.user)))
        for number in 1...200 { stage.node.tell(Somebody.message(number, in: "team")) }
        stage.node.tell(.waiting(.init(chat: "team", message: 1, user: Somebody.carol.user)))
        let listed = try #require(frontEnd.messages(.messages(chat: "team", before: 2)).last)
        guard case .own(_, [Somebody.bob.user], []) = listed.content else { throw SystemError("\(listed)") }
        #expect(listed.waiting == [Somebody.carol.user] && stage.history.outcomes.isEmpty)
        stage.node.tell(.delivered(.init(chat: "team", message: 1, user: Somebody.carol.user)))
        guard case .own(let own, let delivered, _)? = stage.history.outcomes.first?.content else {
            throw SystemError("no outcomes")
        }
        #expect(own.text == "tea" && delivered == [Somebody.bob.user, Somebody.carol.user])
        #expect(stage.history.outcomes.count == 1)
    }

    // A-52
    @Test("unread messages are marked, and queries get through")
    func listing() throws {
        let (stage, frontEnd, _) = try Self.stage()
        frontEnd.ask(.history(true, chat: "team"))
        frontEnd.ask(.open(chat: "team"))
        stage.node.tell(Somebody.message(1, in: "team", "seen"), at: 1.5)
        frontEnd.ask(.open(chat: nil))
        #expect(!stage.service.isUnseen("team"))
        stage.node.tell(Somebody.message(2, in: "team", "unseen"), at: 2.5)
        #expect(stage.service.isUnseen("team"))
        let messages = frontEnd.messages(.messages(chat: "team", before: 9, count: 3))
        #expect(messages.map(\.isUnread) == [false, true])
        frontEnd.ask(.messages(chat: "team", text: "x"))
        #expect(stage.history.queries.map(\.before) == [9, .max] && stage.history.queries.map(\.count) == [3, 50])
        #expect(stage.history.queries.map { $0.text?.occurs(in: "axe") } == [nil, true])
        // Another run's message of the same number was read then.
        stage.history.kept = try [Self.secret(): [RecentMessage(at: 0.5, messages[1].content)]]
        #expect(frontEnd.messages(.messages(chat: "team", before: 2)).map(\.isUnread) == [false])
        frontEnd.ask(.open(chat: "team"))
        #expect(!stage.service.isUnseen("team"))
    }

    // A-52, A-65
    @Test("unread texts of an earlier run are marked in the history, which has their earlier numbers")
    func listingRestored() throws {
        func text(_ number: Int, _ text: String, from person: Person = Somebody.bob) -> Event {
            .message(.init(chat: "team", from: person, id: MessageID(number), text: text, written: 0.5))
        }
        let chat = try Self.secret()
        let restored = [TimedEvent(at: 2.5, event: text(11, "unread")), TimedEvent(at: 4.5, event: text(12, "too"))]
        let stage = ServiceStage(restored: ["team": restored])
        let rows: [(Timestamp, Event)] = [
            (1.5, text(11, "read")), (2.5, text(1, "unread")), (2.5, text(2, "unread", from: Somebody.carol)),
            (4.5, text(4, "other")), (4.5, text(5, "too")),
        ]
        stage.history.kept[chat] = rows.compactMap { at, event in
            guard case .message(let message) = event else { return nil }
            return RecentMessage(at: at, .received(message, isDelayed: false))
        }
        let frontEnd = stage.frontEnd()
        frontEnd.ask(.join(chat))
        #expect(frontEnd.messages(.messages(chat: "team")).map(\.isUnread) == [false, true, false, false, true])
    }

    /// Returns the text and the number of each listed message.
    private static func listed(_ frontEnd: StageFrontEnd, _ request: ServiceRequest) -> [String] {
        frontEnd.messages(request).map { "\($0.text) \($0.entry.map(String.init) ?? "-")" }
    }

    // A-52
    @Test("a list has the messages that the history lacks at their places, and outcomes so far")
    func lacking() throws {
        let (stage, frontEnd, _) = try Self.stage()
        func tell(_ number: Int) {
            stage.node.tell(Somebody.message(number, in: "team", "m\(number)"), at: Timestamp(rawValue: Double(number)))
        }
        for number in 1...2 { tell(number) }
        #expect(Self.listed(frontEnd, .messages(chat: "team")) == ["m1 1", "m2 2"], "numbers without a history")
        frontEnd.ask(.history(true, chat: "team"))
        tell(3)
        stage.history.isLosing = true
        tell(4)
        stage.history.isLosing = false
        for number in 5...6 { tell(number) }
        #expect(
            Self.listed(frontEnd, .messages(chat: "team"))
                == ["m1 -", "m2 -", "m3 1", "m4 -", "m5 2", "m6 3"])
        #expect(Self.listed(frontEnd, .messages(chat: "team", count: 2)) == ["m5 2", "m6 3"])
        #expect(Self.listed(frontEnd, .messages(chat: "team", before: 2, count: 2)) == ["m1 -", "m2 -", "m3 1"])
        #expect(Self.listed(frontEnd, .messages(chat: "team", before: 3, count: 1)) == ["m5 2"])
        #expect(Self.listed(frontEnd, .messages(chat: "team", before: 1)).isEmpty)
        #expect(Self.listed(frontEnd, .messages(chat: "team", text: "M4")) == ["m4 -"])
        stage.node.recipients = 2
        frontEnd.ask(.send("mine", chat: "team"))
        stage.node.tell(.delivered(.init(chat: "team", message: 1, user: Somebody.bob.user)))
        let last = try #require(frontEnd.messages(.messages(chat: "team", count: 1)).last)
        guard case .own(_, let delivered, _) = last.content else { throw SystemError("no own message") }
        #expect(delivered == [Somebody.bob.user] && last.entry == 4)
    }

    // A-53
    @Test("a history ends when the daemon leaves its chat by a request, and not with a front end")
    func leaving() throws {
        let (stage, frontEnd, chat) = try Self.stage()
        let other = stage.frontEnd()
        other.ask(.join(chat))
        frontEnd.ask(.history(true, chat: "team"))
        #expect(frontEnd.ask(.leave(chat: "team")) == .done && stage.history.keeps(chat))
        other.service.stop {}
        #expect(stage.history.keeps(chat))
        frontEnd.ask(.join(chat))
        stage.history.failure = "no room"
        frontEnd.ask(.leave(chat: "team"))
        #expect(frontEnd.events == [.notice(.other(code: "history-not-kept", text: "no room"))])
        stage.history.failure = nil
        frontEnd.ask(.join(chat))
        frontEnd.ask(.leave(chat: "team"))
        #expect(!stage.history.keeps(chat))
    }

    // A-54
    @Test("a notice about damage reaches the front ends")
    func notices() throws {
        let (stage, frontEnd, _) = try Self.stage()
        let notice = Notice.other(code: "history-damaged", text: "a file is damaged")
        stage.history.report(notice)
        #expect(frontEnd.events == [.notice(notice)])
        #expect(stage.frontEnd().events == [.notice(notice)], "it holds, also for one that attaches later")
    }

    // A-28, A-54, A-67
    @Test("a front end that attaches while the disk refuses messages learns of it, and none that attaches later")
    func notKept() throws {
        let (stage, _, _) = try Self.stage()
        let notices = ["history-not-kept", "waiting-not-kept"].map { Notice.other(code: $0, text: "no room") }
        (stage.history.fault, stage.textFault) = (notices[0], notices[1])
        for notice in notices { stage.node.tell(.notice(notice)) }
        #expect(stage.frontEnd().events == notices.map { .notice($0) })
        (stage.history.fault, stage.textFault) = (nil, nil)
        #expect(stage.frontEnd().events.isEmpty)
    }

    // A-52
    @Test(
        "a wrong number, switch or choice of events is a bad command",
        arguments: [
            #"{"do":"history"}"#, #"{"do":"history","on":1}"#, #"{"do":"messages","count":0}"#,
            #"{"do":"messages","count":201}"#, #"{"do":"messages","before":0}"#, #"{"do":"messages","before":1.5}"#,
            #"{"do":"messages","before":9007199254740992}"#, #"{"do":"messages","before":"1"}"#,
            #"{"do":"messages","text":1}"#, #"{"do":"subscribe","events":["x"]}"#,
            #"{"do":"subscribe","chats":[""]}"#, #"{"do":"join","chat":"x","keep":1}"#,
        ])
    func badCommands(line: String) {
        guard case .failure(.other("bad-command", _)) = JSONRequest(Array(line.utf8), openChat: "a").asked else {
            Issue.record("accepted: \(line)")
            return
        }
    }
}
