import InklingWire
import Testing

@testable import InklingCore

/// The cases of epochs.json.
@Suite("Vectors of epochs")
struct EpochVectorTests {
    struct State: Decodable, Sendable {
        let state: String
        let own: UInt32
        let peer: UInt32
        var pair: EpochPair { EpochPair(own: own, peer: peer) }
    }

    struct Result: Decodable, Sendable {
        let decision: String?
        let epoch: UInt32?
        let pair: [UInt32]?
        let newRun: Bool?
    }

    struct Row<Outcome: Decodable & Sendable>: Decodable, Sendable {
        let link: State?
        let keyEpoch: UInt32?
        let epoch: UInt32?
        let named: UInt32?
        let isSecond: Bool?
        let own: UInt32?
        let peer: UInt32?
        let downLinks: [State]?
        let state: String?
        let result: Outcome
    }

    struct Case<Outcome: Decodable & Sendable>: Decodable, Sendable {
        let name: String
        let rows: [Row<Outcome>]
    }

    struct Step: Decodable, Sendable {
        let `do`: String
        let chat: String
        let key: String
        let result: Result
    }

    struct CounterCase: Decodable, Sendable {
        let name: String
        let counter: UInt32
        let steps: [Step]
    }

    struct File: Decodable, Sendable {
        let answers: [Case<Result>]
        let initiations: [Case<UInt32>]
        let responses: [Case<Result>]
        let joins: [Case<Result>]
        let others: [Case<String>]
        let counters: [CounterCase]
    }

    static let file = VectorFile.read("epochs", as: File.self)

    private func name(_ joining: EpochRules.Joining) -> String {
        switch joining {
        case .make: "make"
        case .join: "join"
        case .replace: "replace"
        case .drop: "drop"
        }
    }

    @Test("The file is read")
    func read() throws {
        let file = try #require(Self.file)
        #expect(!file.answers.isEmpty && !file.responses.isEmpty && !file.joins.isEmpty && !file.counters.isEmpty)
    }

    @Test("Answers name the link's epoch, or the key's, and drop old initiations (L-62, L-63)")
    func answers() {
        for test in Self.file?.answers ?? [] {
            for row in test.rows {
                let epoch = EpochRules.answer(
                    link: row.link?.pair, keyEpoch: row.keyEpoch ?? 0, epoch: row.epoch ?? 0)
                #expect(epoch == row.result.epoch, "\(test.name)")
                #expect((epoch == nil) == (row.result.decision == "drop"), "\(test.name)")
            }
        }
    }

    @Test("Responses make, join, replace, are dropped, or cause a handshake (L-65, L-66, L-68, L-95)")
    func responses() {
        for test in Self.file?.responses ?? [] {
            for row in test.rows {
                let decision = EpochRules.response(
                    link: row.link.map { ($0.pair, $0.state == "down") }, keyEpoch: row.keyEpoch ?? 0,
                    named: row.named ?? 0, peer: row.epoch ?? 0, isFollowUp: row.isSecond ?? false)
                switch decision {
                case .joining(let joining): #expect(name(joining) == row.result.decision, "\(test.name)")
                case .handshake(let epoch):
                    #expect(row.result.decision == "handshake" && row.result.epoch == epoch, "\(test.name)")
                case .forget: #expect(row.result.decision == "forget", "\(test.name)")
                case .drop: #expect(row.result.decision == "drop", "\(test.name)")
                }
            }
        }
    }

    @Test("Sessions that join make, join or replace a state, or are dropped (L-68, L-69)")
    func joins() {
        for test in Self.file?.joins ?? [] {
            for row in test.rows {
                let pair = EpochPair(own: row.own ?? 0, peer: row.peer ?? 0)
                #expect(name(EpochRules.join(link: row.link?.pair, pair)) == row.result.decision, "\(test.name)")
            }
        }
    }

    @Test("Initiations name the epoch of their link, of the newest down link, or of the key (L-64)")
    func initiations() {
        for test in Self.file?.initiations ?? [] {
            for row in test.rows where row.link == nil {
                var stage = LinkStage()
                stage.endpoint.forget(stage.id, .quit, .bye, .zero)
                stage.endpoint.epochs[World.chat] = Epochs(run: 1, counter: row.keyEpoch ?? 0)
                for link in (row.downLinks ?? []).reversed() {
                    _ = stage.endpoint.make(
                        World.person(1), run: UInt64(link.own) + 100, link.pair, at: World.address(9), .zero)
                }
                #expect(stage.endpoint.openingEpoch(of: World.person(1)) == row.result, "\(test.name)")
            }
        }
    }

    @Test("A new link of a key makes the key's other up links suspect, and leaves down ones (L-31)")
    func others() {
        for row in Self.file?.others.flatMap(\.rows) ?? [] {
            var stage = LinkStage(isShown: row.state != "down")
            if row.state == "suspect" { stage.endpoint.links[stage.id].liveness.doubt(.zero) }
            _ = stage.endpoint.make(
                World.person(1), run: 10, EpochPair(own: 0, peer: 0), at: World.address(3), .zero)
            let state = stage.link.map { $0.isDown ? "down" : $0.liveness.isSuspect ? "suspect" : "up" }
            #expect(state == row.result)
        }
    }

    @Test("The counter of a chat gives epochs that never go back (L-59, L-60)")
    func counters() {
        for test in Self.file?.counters ?? [] {
            var epochs: [String: Epochs] = [:]
            let keys = ["A": World.key(1), "B": World.key(2), "C": World.key(3)]
            for step in test.steps {
                guard let key = keys[step.key] else { continue }
                var chat = epochs[step.chat] ?? Epochs(run: 1, counter: test.counter)
                switch step.do {
                case "deal": #expect(chat.epoch(of: key) == step.result.epoch, "\(test.name)")
                case "replace": #expect(chat.epoch(of: key) == step.result.epoch, "\(test.name)")
                case "drop": chat.drop { $0 == key }
                case "forget":
                    let isLeft = chat.forget(key)
                    #expect(isLeft != (step.result.newRun ?? false), "\(test.name)")
                    if isLeft { #expect(chat.epoch(of: key) == step.result.epoch, "\(test.name)") }
                default: Issue.record("unknown step \(step.do)")
                }
                epochs[step.chat] = chat
            }
        }
    }
}
