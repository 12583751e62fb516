import InklingWire
import Testing

@testable import InklingCore

@Suite("Texts that their recipient's node keeps")
struct KeptTextTests {
    private static func stage() -> LinkStage {
        var stage = LinkStage(isShown: true)
        stage.with { try? $0.setKeepsTexts(true, in: World.chat, now: $1) }
        return stage
    }

    private static func id(_ number: UInt64, run: UInt64 = 1) -> TextID {
        TextID(run: run, number: number, written: 1_000 + number)
    }

    /// The number and ID of each message that the node put out.
    private static func messages(_ stage: LinkStage) -> [(number: UInt64, id: TextID?)] {
        stage.outputs.compactMap {
            if case .message(_, _, let number, _, let id) = $0.output { (number, id) } else { nil }
        }
    }

    private static func acks(_ stage: LinkStage) -> [Ack] {
        stage.seen.flatMap(\.frames).compactMap { if case .ack(let ack) = $0 { ack } else { nil } }
    }

    /// Receives a text of one record with an ID.
    private static func receive(_ number: UInt32, _ id: TextID, _ stage: inout LinkStage, _ text: String = "x") {
        stage.receive([.typingOff, .textID(id), .text(text, number: number)])
    }

    private static func keepAll(_ stage: inout LinkStage) {
        let numbers = messages(stage).map(\.number)
        stage.with { $0.textsKept(numbers, now: $1) }
    }

    // MARK: As the recipient

    @Test("M-82: a text is acknowledged once it is kept, unprompted; later texts come meanwhile, and count from it")
    func waitsForDisk() {
        var stage = Self.stage()
        for number in 1...16 as ClosedRange<UInt32> {
            Self.receive(number, Self.id(UInt64(number)), &stage, "\(number)")
            #expect(Self.acks(stage).last == Ack(next: 1))
        }
        #expect(Self.messages(stage).map(\.id) == (1...16).map { Self.id($0) })
        // Record 17 is 16 above the first one that is not acknowledged. Record 1 comes again.
        Self.receive(17, Self.id(17), &stage)
        Self.receive(1, Self.id(1), &stage, "1")
        #expect(stage.texts.count == 16 && Self.acks(stage).last == Ack(next: 1))
        let numbers = Self.messages(stage).map(\.number)
        stage.with { $0.textsKept([numbers[1], numbers[2]], now: $1) }
        #expect(Self.acks(stage).last == Ack(next: 1))
        let before = Self.acks(stage).count
        stage.with { $0.textsKept([numbers[0], numbers[4]], now: $1) }
        #expect(Self.acks(stage).dropFirst(before) == [Ack(next: 4)])
        Self.receive(17, Self.id(17), &stage)
        #expect(stage.texts.count == 17)
        Self.keepAll(&stage)
        #expect(Self.acks(stage).last == Ack(next: 18))
    }

    @Test("M-82: of a text of several records only the last waits; a forward past the text is acknowledged")
    func severalRecords() {
        var stage = Self.stage()
        stage.receive([
            .typingOff, .textID(Self.id(1)), .record(Record(number: 1, type: .text, isLast: false, body: [0x61])),
        ])
        #expect(Self.acks(stage).last == Ack(next: 2))
        stage.receive([
            .typingOff, .textID(Self.id(9)), .record(Record(number: 2, type: .text, isFirst: false, body: [0x62])),
        ])
        #expect(Self.acks(stage).last == Ack(next: 2) && stage.texts == ["ab"])
        #expect(Self.messages(stage).map(\.id) == [Self.id(1)])
        stage.receive([.forward(4)])
        #expect(Self.acks(stage).last == Ack(next: 4))
        Self.keepAll(&stage)
        #expect(Self.acks(stage).last == Ack(next: 4))
    }

    @Test("M-83: a copy of a text that is not kept yet waits with it; a copy of a kept one is acknowledged at once")
    func copies() {
        var stage = Self.stage()
        for number in [1, 2] as [UInt32] { Self.receive(number, Self.id(1), &stage) }
        #expect(stage.texts == ["x"] && Self.acks(stage).last == Ack(next: 1))
        Self.keepAll(&stage)
        #expect(Self.acks(stage).last == Ack(next: 3))
        Self.receive(3, Self.id(1), &stage)
        #expect(stage.texts == ["x"] && Self.acks(stage).last == Ack(next: 4))
        #expect(stage.endpoint.counters.textsRepeated == 2)
        #expect(stage.endpoint.seenTexts(of: World.key(1), in: World.chat).contains(Self.id(1)))
        // The copies take no room from the user.
        let messages = Self.messages(stage)
        stage.with { endpoint, now in for message in messages { endpoint.messageTaken(message.number, now: now) } }
        #expect(stage.endpoint.heldText == 0)
    }

    @Test("M-81: an ID without effect leaves a text as it is without one")
    func noEffect() {
        var stage = Self.stage()
        let zero = Frame.unknown(type: 0x41, body: Array(repeating: 0, count: 24))
        let short = Frame.unknown(type: 0x41, body: [1, 2, 3])
        stage.receive([.typingOff, zero, .text("a", number: 1)])
        stage.receive([.typingOff, short, .text("b", number: 2)])
        stage.receive([.textID(Self.id(1)), .ping(7)])
        stage.receive([.typingOff, .text("c", number: 3)])
        #expect(Self.messages(stage).map(\.id) == [nil, nil, nil] && Self.acks(stage).last == Ack(next: 4))
        stage.receive([.typingOff, .textID(Self.id(2)), .textID(Self.id(3)), .text("d", number: 4)])
        #expect(Self.messages(stage).last?.id == Self.id(2))
    }

    @Test("M-87: a node that keeps no texts takes one with an ID as any other")
    func leftOut() {
        var stage = LinkStage(isShown: true)
        for number in [1, 2] as [UInt32] { Self.receive(number, Self.id(1), &stage) }
        #expect(stage.texts == ["x", "x"] && Self.acks(stage).last == Ack(next: 3))
        #expect(Self.messages(stage).map(\.id) == [nil, nil])
    }

    // MARK: As the writer

    @Test("M-80: the ID stands before the first record, also when it is repeated, and leaves room for 1,140 bytes")
    func writes() {
        var stage = Self.stage()
        let text = String(repeating: "y", count: 1_140 + 1_167 + 1)
        stage.with { _ = try? $0.send(text, to: World.chat, ids: [World.key(1): Self.id(5)], now: $1) }
        // The node's name went before.
        let records = stage.sent(4).dropFirst()
        #expect(records.map(\.kinds) == [[2, 0x41, 4], [2, 4], [2, 4]])
        #expect(records.first?.frames[1] == .textID(Self.id(5)))
        #expect(records.first.map { SealedDatagram.size(of: $0.frames) } == 1_200)
        stage.run(.ms(300))
        #expect(stage.sent(4).dropFirst(4).first?.kinds == [2, 0x41, 4])
    }

    @Test("M-84: people for whom older texts wait get no newer one, and the others do")
    func overtakesNobody() {
        var stage = Self.stage()
        stage.with { endpoint, now in
            #expect(endpoint.recipients(in: World.chat) == [World.key(1)])
            let sent = try? endpoint.send("newer", to: World.chat, without: [World.key(1)], now: now)
            #expect(sent?.recipients == 0)
            let number = try? endpoint.resend("old", Self.id(1), to: World.key(1), in: World.chat, now: now)
            let again = try? endpoint.resend("old", Self.id(1), to: World.key(1), in: World.chat, now: now)
            #expect(number != nil && number == again)
            #expect(throws: CommandError.unknownPerson) {
                try endpoint.resend("old", Self.id(1), to: World.key(2), in: World.chat, now: now)
            }
        }
        #expect(stage.sent(4).dropFirst().map(\.kinds) == [[2, 0x41, 4]])
    }

    @Test("M-84: a text with an ID is not refused without room, but fails for its recipient alone")
    func noRoom() {
        var stage = Self.stage()
        let text = String(repeating: "x", count: 65_536)
        stage.with { endpoint, now in
            for _ in 1...63 { _ = try? endpoint.send(text, to: World.chat, now: now) }
            #expect(throws: CommandError.queueFull(World.key(1))) {
                try endpoint.send(text, to: World.chat, now: now)
            }
            let sent = try? endpoint.send(text, to: World.chat, ids: [World.key(1): Self.id(1)], now: now)
            #expect(sent?.recipients == 1 && sent?.message == 64)
            #expect(throws: CommandError.queueFull(World.key(1))) {
                try endpoint.resend(text, Self.id(1), to: World.key(1), in: World.chat, now: now)
            }
            let number = try? endpoint.resend("short", Self.id(1), to: World.key(1), in: World.chat, now: now)
            #expect(number == 65)
        }
        #expect(
            stage.outputs.last { if case .failed = $0.output { true } else { false } }?.output
                == .failed(message: 64, World.chat, World.key(1), .stalled))
    }

    @Test("M-83: a node remembers the texts of 1,024 senders, and forgets strangers first")
    func senders() {
        var generator = Seeded(11)
        var seen = SeenTexts()
        seen.insert(Self.id(1))
        let keys = (0..<1_030).map { _ in KeyPair(using: &generator).publicKey }.sorted()
        let friends = Set(keys[3..<13])
        var stage = LinkStage(isShown: true)
        stage.with { endpoint, now in
            endpoint.setStandings(Dictionary(uniqueKeysWithValues: friends.map { ($0, .verified) }), now: now)
            let texts = Dictionary(uniqueKeysWithValues: keys.map { ($0, seen) })
            try? endpoint.setKeepsTexts(true, in: World.chat, seen: texts, now: now)
        }
        let known = Set(keys.filter { stage.endpoint.seenTexts(of: $0, in: World.chat) == seen })
        #expect(known.count == 1_024 && known.isSuperset(of: friends))
    }

    @Test("M-83: in a secret chat too, the IDs of people whom the user knows stay, whoever's text comes later")
    func sendersByRank() {
        var generator = Seeded(12)
        var seen = SeenTexts()
        seen.insert(Self.id(1))
        let keys = (0..<1_030).map { _ in KeyPair(using: &generator).publicKey }.sorted()
        let (verified, met) = (Set(keys[..<5]), Set(keys[5..<13]))
        var surroundings = Surroundings(
            configuration: Endpoint.Configuration(identity: KeyPair(using: &generator), name: "Alice"))
        surroundings.secretChats = [World.chat]
        for key in verified { surroundings.standings[key] = .verified }
        for key in met { surroundings.standings[key] = .met }
        var texts = KeptTexts()
        texts.join(World.chat, seen: Dictionary(uniqueKeysWithValues: keys.map { ($0, seen) }), surroundings)
        let known = Set(keys.filter { texts.seen(of: PersonID(chat: World.chat, key: $0)) == seen })
        #expect(known.count == 1_024 && known.isSuperset(of: verified) && known.isSuperset(of: met))
        #expect(known.isDisjoint(with: keys[13..<19]), "of the others the first")
    }

    @Test("M-86: a new state of a link fails all its texts with an ID, in order, and keeps the others")
    func newState() {
        var stage = Self.stage()
        for number in 1...8 as ClosedRange<UInt64> {
            let ids = number == 7 ? [:] : [World.key(1): Self.id(number)]
            stage.with { _ = try? $0.send("\(number)", to: World.chat, ids: ids, now: $1) }
        }
        let id = stage.id
        stage.with {
            $0.replace(id, by: EpochPair(own: 1, peer: 1), $1)
            $0.finish()
        }
        let failed = stage.outputs.compactMap {
            if case .failed(let message, _, _, .lostState) = $0.output { message } else { nil }
        }
        #expect(failed == [1, 2, 3, 4, 5, 6, 8])
        #expect(stage.link?.sender.unfinished == [7])
    }
}
