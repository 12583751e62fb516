import Inkling
import InklingCore
import InklingModel
import InklingWire
import Testing

/// The records of texts and the state that results from them.
@Suite("Records of texts")
struct TextStateTests {
    private static func records() throws -> [TextRecord] {
        let runs = [SeenTexts.Run(run: 1, highest: .max, below: 5), SeenTexts.Run(run: 2, highest: 3, below: 0)]
        return [
            try SomeText.waiting(1), try SomeText.waiting(2, size: 8_000), try SomeText.finished(1),
            try SomeText.received(3), try SomeText.read(3), .seen(try SomeText.key(), SeenTexts(runs: runs)),
            .seen(try SomeText.key(), SeenTexts()), .highestEntry(1 << 52),
            .received(KeptText(key: try SomeText.key(), name: "", id: SomeText.id(1), at: 0, text: "")),
        ]
    }

    @Test("each record is the same after its form on disk, and no part of the form is a trap")
    func roundTrip() throws {
        for record in try Self.records() {
            let bytes = record.bytes
            #expect(TextRecord(bytes) == record)
            for size in 0..<min(bytes.count, 300) { #expect(TextRecord(Array(bytes.prefix(size))) != record) }
            #expect(TextRecord([9] + bytes.dropFirst()) == nil, "a kind of a later version")
        }
    }

    @Test("a text of an earlier build, whose record has no age, waits from the beginning of the count (A-63, R52)")
    func withoutAge() throws {
        let since = Age.zero + .seconds(77)
        var text = WaitingText(
            entry: 7, key: try SomeText.key(), name: "Bob", id: SomeText.id(1), at: 1.5, since: since, text: "tea")
        let bytes = TextRecord.waiting(text).bytes
        #expect(bytes.first == 8 && TextRecord(bytes) == .waiting(text))
        text.since = .zero
        #expect(TextRecord([1] + bytes[1..<9] + bytes.dropFirst(17)) == .waiting(text))
        let damaged = bytes[..<9] + Array(repeating: 0x7F, count: 8) + bytes.dropFirst(17)
        #expect(TextRecord(Array(damaged)) == nil, "no age")
    }

    @Test("texts stay in order, and a record that comes again has no effect")
    func fold() throws {
        var state = SomeText.state([
            try SomeText.waiting(1), try SomeText.waiting(2), try SomeText.waiting(3), try SomeText.waiting(2),
            try SomeText.finished(1), try SomeText.finished(1), try SomeText.finished(9),
            try SomeText.received(4), try SomeText.received(5), try SomeText.received(6), try SomeText.received(5),
            try SomeText.read(5), try SomeText.received(5), try SomeText.read(8),
        ])
        #expect(state.entries == [2, 3] && state.unreadNumbers == [4, 6] && state.highestEntry == 3)
        #expect(
            state.waiting.first
                == WaitingText(
                    entry: 2, key: try SomeText.key(), name: "Bob", id: SomeText.id(2), at: 1.5, text: "2"))
        let seen = try #require(state.seen[try SomeText.key()])
        #expect((4...6).allSatisfy { seen.contains(SomeText.id($0)) } && !seen.contains(SomeText.id(7)))
        // Another person's text with the same ID is another text.
        state.apply(try SomeText.finished(2, for: 2))
        state.apply(try SomeText.received(4, from: 2))
        #expect(state.entries == [2, 3] && state.unreadNumbers == [4, 6, 4])
    }

    // M-83
    @Test("a state forgets the IDs of the person whose text came first, beyond 1,024 people")
    func people() throws {
        var state = TextState()
        for number in 1...Limits.peopleSeen { state.apply(try SomeText.received(1, from: number)) }
        state.apply(try SomeText.received(2, from: 1))
        state.apply(try SomeText.received(1, from: Limits.peopleSeen + 1))
        #expect(state.seen.count == Limits.peopleSeen)
        #expect(try state.seen[SomeText.key(2)] == nil)
        #expect(try state.seen[SomeText.key(1)] != nil)
        state.apply(try SomeText.received(1, from: 2))
        #expect(state.unread.count { $0.id.number == 1 } == Limits.peopleSeen + 1, "it is there and unread already")
    }

    // M-83
    @Test("strangers' texts displace no IDs of people whom the user knows, over a restart, and nobody's leaving")
    func standings() throws {
        let (verified, met) = (try SomeText.key(1), try SomeText.key(2))
        let standings: [PublicKey: Standing] = [verified: .verified, met: .met]
        var state = TextState()
        for number in 1...2 {
            state.apply(try SomeText.received(1, from: number), standings)
            state.apply(.left(try SomeText.key(number), true), standings)
        }
        for number in 3...2_000 {
            state.apply(try SomeText.received(1, from: number), standings)
            state.apply(.left(try SomeText.key(number), true), standings)
        }
        var again = TextState()
        for record in state.snapshot { again.apply(record, standings) }
        for state in [state, again] {
            #expect(state.seen.count == Limits.peopleSeen)
            for key in [verified, met] {
                #expect(state.seen[key]?.contains(SomeText.id(1)) == true && state.left.contains(key))
            }
            let (first, last) = (try SomeText.key(3), try SomeText.key(2_000))
            #expect(state.seen[first] == nil && !state.left.contains(first), "of strangers the first")
            #expect(state.seen[last] != nil && state.left.contains(last))
        }
        // Strangers find no place among people whom the user knows.
        var full = TextState()
        let keys = try (1...Limits.peopleSeen).map { try SomeText.key($0) }
        let friends = Dictionary(uniqueKeysWithValues: keys.map { ($0, Standing.met) })
        for number in 1...Limits.peopleSeen + 1 { full.apply(try SomeText.received(1, from: number), friends) }
        #expect(Set(full.seen.keys) == Set(keys) && full.unread.count == Limits.peopleSeen + 1)
    }
}
