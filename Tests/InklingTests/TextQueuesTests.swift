import Inkling
import InklingModel
import InklingWire
import Synchronization
import Testing

/// Which texts wait, go out and go to disk. No network, no disk and no clock.
@Suite("Queues of texts")
struct TextQueuesTests {
    private static let now: Timestamp = 1_000_000
    private static let bob = key(1)
    private static let carol = key(2)

    private static func key(_ number: UInt8) -> PublicKey {
        var random = SystemRandomNumberGenerator()
        return keys.withLock { keys in
            if let key = keys[number] { return key }
            let key = KeyPair(using: &random).publicKey
            keys[number] = key
            return key
        }
    }

    private static let keys = Mutex<[UInt8: PublicKey]>([:])

    private static func person(_ key: PublicKey = bob) -> TextQueues.Person { .init(chat: "team", key: key) }

    /// Queues with the steps that a node takes.
    private struct Stage {
        var queues = TextQueues { 7 }
        var message: UInt64 = 0
        var toStore: [TextQueues.Text] = []
        var refused: [TextQueues.Text] = []
        /// How well the user knows people. Others are verified.
        var ranks: [PublicKey: SenderRank] = [:]

        /// Sends a text. The protocol sends at once to those of the plan.
        @discardableResult
        mutating func send(
            _ text: String, there: [PublicKey] = [], away: [PublicKey] = [], down: [PublicKey] = [],
            in chat: String = "team", at now: Timestamp = TextQueuesTests.now, age: Age = .zero
        ) -> TextQueues.Plan {
            message += 1
            let plan = queues.plan(size: text.utf8.count, in: chat, linked: there + down, now: now)
            let recipients =
                there.map { TextQueues.Recipient(key: $0, name: "x", isThere: true) }
                + (down + away).map { .init(key: $0, name: "x", isThere: false) }
            apply(
                queues.add(
                    text, MessageID(rawValue: message), in: chat, to: recipients, plan, now: now, age: age,
                    rank: { [ranks] in ranks[$0.key] ?? .verified }))
            return plan
        }

        mutating func becameAbsent(_ key: PublicKey = TextQueuesTests.bob) -> TextQueues.Changes {
            queues.becameAbsent(TextQueuesTests.person(key)) { [ranks] in ranks[$0.key] ?? .verified }
        }

        mutating func apply(_ changes: TextQueues.Changes) {
            toStore += changes.toStore
            refused += changes.refused
        }

        /// Writes all that is due to disk.
        @discardableResult
        mutating func store(isKept: Bool = true) -> [TextQueues.Text] {
            defer { toStore = [] }
            return queues.stored(toStore, isKept: isKept)
        }

        /// Sends what is due to a person.
        mutating func sendDue(_ person: TextQueues.Person, again: Bool = false) -> [String] {
            queues.due(for: person, again: again).map { text in
                message += 1
                queues.sent(text, as: text.sending ?? message)
                return text.content.text
            }
        }
    }

    //
    @Test("a text for somebody who is away goes to disk at once, and one for somebody there stays in memory")
    func places() {
        var stage = Stage()
        let plan = stage.send("tea", there: [Self.bob], away: [Self.carol])
        #expect(plan.ids == [Self.bob: TextID(run: 7, number: 1, written: 1_000_000_000)] && plan.queued.isEmpty)
        #expect(stage.toStore.map(\.content.key) == [Self.carol])
        #expect(stage.queues.waiting().isEmpty, "not before it is on disk")
        #expect(stage.store().map(\.content.text) == ["tea"])
        let waiting = stage.queues.waiting(in: "team")
        #expect(waiting.map(\.content.key) == [Self.carol] && waiting.first?.message == 1)
        #expect(stage.queues.waiting(in: "other").isEmpty)
        let delivered = stage.queues.delivered(1, to: Self.person())
        #expect(delivered?.place == .memory && stage.queues.people() == [Self.person(Self.carol)])
        #expect(stage.queues.delivered(1, to: Self.person()) == nil, "one outcome")
    }

    //
    @Test("a text goes to disk when its delivery fails or the person goes, with its ID")
    func failures() {
        var stage = Stage()
        let plan = stage.send("one", there: [Self.bob])
        stage.send("two", there: [Self.bob])
        stage.apply(stage.becameAbsent())
        #expect(stage.toStore.map(\.content.text) == ["one", "two"])
        #expect(stage.toStore.first?.content.id == plan.ids[Self.bob])
        stage.store()
        #expect(stage.queues.due(for: Self.person()).isEmpty, "the links still have both")
        #expect(stage.queues.failed(1, to: Self.person())?.content.text == "one")
        stage.apply(stage.becameAbsent())
        #expect(stage.toStore.isEmpty, "on disk already")
        #expect(stage.sendDue(Self.person()) == ["one"])
        #expect(stage.sendDue(Self.person(), again: true) == ["one", "two"], "a new link gets all, in order (M-86)")
    }

    // M-84, A-63
    @Test("newer texts wait while an older one waits")
    func order() {
        var stage = Stage()
        stage.send("old", away: [Self.bob])
        stage.store()
        let plan = stage.send("new", there: [Self.bob, Self.carol])
        #expect(plan.queued == [Self.bob] && Array(plan.ids.keys) == [Self.carol])
        #expect(stage.toStore.isEmpty, "the person is there")
        #expect(stage.sendDue(Self.person()) == ["old", "new"])
        #expect(stage.send("newest", there: [Self.bob]).queued.isEmpty, "nothing waits any more")
    }

    // M-85
    @Test("no number is 64 above the lowest unfinished one")
    func window() {
        var stage = Stage()
        for number in 1...64 { #expect(stage.send("\(number)", there: [Self.bob]).queued.isEmpty) }
        #expect(stage.send("65", there: [Self.bob]).queued == [Self.bob])
        #expect(stage.sendDue(Self.person()).isEmpty)
        _ = stage.queues.delivered(2, to: Self.person())
        #expect(stage.sendDue(Self.person()).isEmpty, "the first is unfinished")
        _ = stage.queues.delivered(1, to: Self.person())
        #expect(stage.sendDue(Self.person()) == ["65"])
    }

    // M-14
    @Test("no more than 4 MiB of text waits in memory for a person")
    func memory() {
        var stage = Stage()
        for _ in 1...64 { stage.send("x", there: [Self.bob]) }
        let large = String(repeating: "x", count: 65_536)
        for _ in 1...63 { stage.send(large, there: [Self.bob]) }
        #expect(stage.toStore.isEmpty)
        #expect(stage.queues.plan(size: 65_536, in: "team", linked: [Self.bob], now: 5).full == [Self.bob])
        #expect(stage.queues.plan(size: 1_000, in: "team", linked: [Self.bob], now: 5).full.isEmpty)
        _ = stage.queues.delivered(1, to: Self.person())
        _ = stage.sendDue(Self.person())
        #expect(stage.queues.plan(size: 65_536, in: "team", linked: [Self.bob], now: 5).full.isEmpty)
    }

    //
    @Test("200 texts wait for a key, 1,000 and 8 MiB in all, and others are refused")
    func limits() {
        var stage = Stage()
        for _ in 1...200 { stage.send("x", away: [Self.bob]) }
        #expect(stage.refused.isEmpty)
        stage.send("x", away: [Self.bob])
        #expect(stage.refused.map(\.content.key) == [Self.bob] && stage.toStore.count == 200)
        for number in UInt8(10)...13 { for _ in 1...200 { stage.send("x", away: [Self.key(number)]) } }
        #expect(stage.toStore.count == 1_000 && stage.refused.count == 1)
        stage.send("x", away: [Self.carol])
        #expect(stage.refused.count == 2)
        stage.store()
        #expect(stage.queues.giveUp { $0.content.key == Self.bob }.count == 200)
        stage.send("x", away: [Self.carol])
        #expect(stage.toStore.count == 1)

        var bytes = Stage()
        let large = String(repeating: "x", count: 65_536)
        for _ in 1...128 { bytes.send(large, away: [Self.bob]) }
        #expect(bytes.toStore.count == 128 && bytes.refused.isEmpty)
        bytes.send("x", away: [Self.bob])
        #expect(bytes.refused.count == 1)
        // A text on its way needs no room until its delivery fails.
        #expect(bytes.send("x", down: [Self.carol]).ids.count == 1 && bytes.refused.count == 1)
        _ = bytes.queues.failed(bytes.message, to: Self.person(Self.carol))
        bytes.apply(bytes.becameAbsent(Self.carol))
        #expect(bytes.refused.count == 2)
    }

    /// Returns the number of one-letter texts, of many people of a rank, that find a place.
    private static func fill(_ stage: inout Stage, _ rank: SenderRank, in chat: String = "team") -> Int {
        let before = stage.toStore.count
        let people = people.dropFirst(5 * rank.rawValue).prefix(5)
        for person in people { stage.ranks[person] = rank }
        for _ in 1...200 { stage.send("x", away: Array(people), in: chat) }
        return stage.toStore.count - before
    }

    /// Five people for each rank.
    private static let people = (UInt8(20)...39).map { key($0) }

    //
    @Test("one chat's members take a quarter of the places, its newcomers an eighth, and all unverified three quarters")
    func shares() {
        var stage = Stage()
        #expect(Self.fill(&stage, .member) == 125, "newcomers of one chat")
        #expect(Self.fill(&stage, .met) == 125, "the rest of its quarter, whoever comes first")
        #expect(Self.fill(&stage, .member) == 0 && Self.fill(&stage, .met) == 0)
        var others = Stage()
        #expect(Self.fill(&others, .met) == 250 && Self.fill(&others, .member) == 1, "each part has at least one")
        #expect(Self.fill(&others, .member, in: "two") == 125 && Self.fill(&others, .met, in: "two") == 125)
        #expect(Self.fill(&others, .met, in: "three") == 249, "all chats have three quarters")
        #expect(Self.fill(&others, .met, in: "four") == 1 && Self.fill(&others, .member, in: "five") == 1)
        #expect(Self.fill(&others, .verified) == 248, "the last quarter is for verified people")
        #expect(Self.fill(&others, .met, in: "six") == 0, "nothing is left")
        var strangers = Stage()
        for number in 1...4 { #expect(Self.fill(&strangers, .stranger, in: "open \(number)") == 125) }
        #expect(Self.fill(&strangers, .stranger, in: "open 5") == 1, "a half, and one in each chat")
        #expect(Self.fill(&strangers, .met, in: "team") == 249)
    }

    //
    @Test("a text of the greatest size waits in each empty share", arguments: SenderRank.allCases)
    func greatest(_ rank: SenderRank) {
        var stage = Stage()
        stage.ranks[Self.bob] = rank
        stage.send(String(repeating: "x", count: 65_536), away: [Self.bob])
        #expect(stage.toStore.count == 1)
    }

    //
    @Test("the number of a text from the disk is no trap")
    func highestNumber() {
        var stage = Stage()
        let texts = [UInt64.max, 1, .max - 1].enumerated().map { index, number in
            WaitingText(
                entry: UInt64(index + 1), key: Self.bob, name: "Bob", id: TextID(run: 1, number: number, written: .max),
                at: Self.now, text: "\(index)")
        }
        stage.queues.restore(texts, in: "team", highestEntry: (1 << 53) - 1)
        #expect(stage.queues.due(for: Self.person()).map(\.content.text) == ["0", "1", "2"])
        stage.send("x", away: [Self.carol])
        #expect(stage.toStore.first?.content.entry == 1 << 53)
    }

    //
    @Test("what the disk refuses is lost, unless a link still has it")
    func disk() {
        var stage = Stage()
        stage.send("away", away: [Self.bob])
        #expect(stage.store(isKept: false).map(\.content.text) == ["away"] && stage.queues.isEmpty)
        stage.send("down", down: [Self.bob])
        #expect(stage.store(isKept: false).isEmpty && !stage.queues.isEmpty)
        #expect(stage.queues.waiting().isEmpty)
        stage.apply(stage.becameAbsent())
        #expect(stage.toStore.map(\.content.text) == ["down"], "once more")
        for _ in 1...200 { stage.send("x", away: [Self.carol]) }
        #expect(stage.refused.isEmpty, "refused writes take no room")
    }

    //
    @Test("a text is given up after 7 days of its age, whatever the time of day (R52)", arguments: [0, -1e9, 1e9])
    func expiry(step: Double) {
        var stage = Stage()
        let first = Age.zero + .seconds(500)
        stage.send("first", away: [Self.bob], age: first)
        stage.send(
            "second", away: [Self.bob], at: Timestamp(rawValue: Self.now.rawValue + step), age: first + .seconds(1))
        stage.store()
        #expect(stage.queues.expire(at: first + .seconds(7 * 86_400 - 1)).isEmpty)
        #expect(stage.queues.expire(at: first + .seconds(7 * 86_400)).map(\.content.text) == ["first"])
        #expect(stage.queues.waiting().map(\.content.text) == ["second"])
    }

    // M-84
    @Test("after a restart texts keep entry and ID, come before new ones, and no number comes again")
    func restart() {
        var before = Stage()
        before.send("one", away: [Self.bob])
        before.send("two", away: [Self.bob])
        before.store()
        let kept = before.queues.waiting().map(\.content)
        #expect(Set(kept.map(\.entry)).count == 2)

        var after = Stage()
        after.queues = TextQueues { 8 }
        // Those that are here stay as they are.
        for _ in 0..<2 {
            after.queues.restore(kept, in: "team", highestEntry: (kept.last?.entry ?? 0) + 5)
        }
        // The clock is set back meanwhile.
        after.send("three", there: [Self.bob], at: 5)
        #expect(after.queues.waiting().map(\.content) == kept)
        #expect(after.queues.waiting().allSatisfy { $0.message == nil })
        let due = after.queues.due(for: Self.person())
        #expect(due.map(\.content.text) == ["one", "two", "three"])
        #expect(due.map(\.content.id.run) == [7, 7, 8] && due.map(\.content.id.number) == [1, 2, 1])
        #expect(due.last.map { $0.content.entry > (kept.last?.entry ?? 0) + 5 } == true)
    }

    //
    @Test("a text that was given up is gone")
    func givingUp() {
        var stage = Stage()
        stage.send("one", away: [Self.bob, Self.carol])
        stage.store()
        let given = stage.queues.giveUp { $0.content.key == Self.bob }
        #expect(given.map(\.content.key) == [Self.bob] && stage.queues.waiting().count == 1)
        #expect(stage.queues.stored(given, isKept: true).isEmpty, "a late write changes nothing")
        #expect(stage.sendDue(Self.person()).isEmpty)
    }

    // M-96
    @Test("each chat has a run of its own, which ends when the node leaves the chat")
    func runs() {
        let next = Mutex<UInt64>(0)
        var queues = TextQueues {
            next.withLock { number in
                number += 1
                return number
            }
        }
        func id(in chat: String) -> TextID? {
            let plan = queues.plan(size: 1, in: chat, linked: [Self.bob], now: Self.now)
            let bob = TextQueues.Recipient(key: Self.bob, name: "x", isThere: true)
            _ = queues.add("x", 1, in: chat, to: [bob], plan, now: Self.now, age: .zero) { _ in .verified }
            return plan.ids[Self.bob]
        }
        let ids = ["team", "other", "team"].map { id(in: $0) }
        #expect(ids.map { $0?.run } == [1, 2, 1] && ids.map { $0?.number } == [1, 1, 2])
        queues.forgetRun(in: "team")
        let later = ["team", "other"].map { id(in: $0) }
        #expect(later.map { $0?.run } == [3, 2] && later.map { $0?.number } == [1, 2])
    }
}
