import InklingWire
import Testing

@testable import InklingCore

/// The cases of timelines.json.
@Suite("Vectors of typing")
struct TypingVectorTests {
    struct Text: Decodable, Sendable {
        let name: String
        let text: String
        let counts: Bool
    }

    struct Interval: Decodable, Sendable {
        struct Row: Decodable, Sendable {
            let links: Int
            let interval: UInt8
            let idle: [Int]
            let typing: Int
        }
        let rows: [Row]
    }

    struct File: Decodable, Sendable {
        let texts: [Text]
        let sender: [VectorCase]
        let receiver: [VectorCase]
        let intervals: [Interval]
    }

    /// The time of the stage at which a vector begins, in milliseconds.
    private let base = 10_000

    static let file = VectorFile.read("timelines", as: File.self)
    static let senders = file?.sender ?? []
    static let receivers = file?.receiver ?? []

    @Test("Texts count as typing (T-3)")
    func texts() throws {
        let file = try #require(Self.file)
        #expect(!file.texts.isEmpty && !file.sender.isEmpty && !file.receiver.isEmpty)
        for text in file.texts { #expect(countsAsTyping(text.text) == text.counts, "\(text.name)") }
    }

    @Test("The sender's frames", arguments: senders)
    func sender(_ test: VectorCase) {
        var stage = LinkStage(at: .ms(base - 2_000), isShown: true)
        stage.acknowledges = true
        // This heartbeat announces a long interval, so the link stays up without further ones.
        stage.receive([.longBeat])
        stage.run(until: .ms(base - 1))
        let before = stage.seen.count
        for input in test.inputs {
            stage.run(until: .ms(base + input.at))
            stage.with { endpoint, now in
                switch input.do {
                case "compose": try? endpoint.compose(input.text ?? "", in: World.chat, now: now)
                case "send": _ = try? endpoint.send("text", to: World.chat, now: now)
                case "away": endpoint.setAway(true, now: now)
                case "back": endpoint.setAway(false, now: now)
                default: Issue.record("unknown input \(input)")
                }
            }
        }
        stage.run(until: .ms(base + test.until))
        let changes = Set(test.inputs.filter { $0.do == "away" || $0.do == "back" }.map(\.at))
        let seen = stage.seen[before...].compactMap { datagram -> String? in
            let hasRecord = datagram.frames.contains { if case .record = $0 { true } else { false } }
            for frame in datagram.frames {
                switch frame {
                case .typing(let status): return mark(datagram.at.ms - base, "typing", status, hasRecord)
                case .heartbeat(let heartbeat):
                    guard heartbeat.status.isTyping || changes.contains(datagram.at.ms - base) else { return nil }
                    return mark(datagram.at.ms - base, "heartbeat", heartbeat.status, hasRecord)
                case .record, .ack, .ping, .pong, .bye, .forward, .textID, .unknown: continue
                }
            }
            return nil
        }
        let expected = test.expect.map { entry in
            let status = Status(isTyping: entry.typing ?? false, isAway: entry.away ?? false)
            return mark(entry.at, entry.frame ?? "", status, entry.with == "record")
        }
        #expect(seen == expected)
    }

    private func mark(_ at: Int, _ frame: String, _ status: Status, _ hasRecord: Bool) -> String {
        "\(at) \(frame) \(status.byte)\(hasRecord ? " record" : "")"
    }

    @Test("What the receiver shows", arguments: receivers)
    func receiver(_ test: VectorCase) {
        var stage = LinkStage(at: .ms(base - 1_000), isShown: true)
        stage.receive([.longBeat])
        stage.run(until: .ms(base - 1))
        for input in test.inputs {
            stage.run(until: .ms(base + input.at))
            switch input.do {
            case "status":
                // The start of the test has already used the lower counters.
                let counter = input.counter.map { $0 + 10 }
                stage.receive([.typing(Status(isTyping: input.typing ?? false))], counter: counter)
            case "bye": stage.receive([.bye(.quit)])
            case "block": stage.with { $0.block(World.key(1).userID, now: $1) }
            default: Issue.record("unknown input \(input)")
            }
        }
        stage.run(until: .ms(base + test.until))
        let shown = stage.lists.map { "\($0.at.ms - base) \($0.isTyping)" }
        #expect(shown == test.expect.map { "\($0.at) \($0.shown ?? false)" })
    }

    @Test("Intervals stretch with the number of links (T-8, T-11, T-23, T-24)")
    func intervals() {
        for row in Self.file?.intervals.flatMap(\.rows) ?? [] {
            var stage = LinkStage(isShown: true)
            for _ in 1..<max(row.links, 1) { stage.endpoint.links.count(isUp: true) }
            #expect(stage.endpoint.heartbeat(of: stage.id).interval == row.interval)
            for _ in 0..<50 {
                let wait = stage.endpoint.nextHeartbeat(of: stage.id, stage.now) - stage.now
                #expect(wait >= .ms(row.idle[0]) && wait <= .ms(row.idle[1]))
            }
            stage.with { try? $0.startTyping(in: World.chat, now: $1) }
            #expect(stage.endpoint.nextHeartbeat(of: stage.id, stage.now) - stage.now == .ms(row.typing))
        }
    }
}
