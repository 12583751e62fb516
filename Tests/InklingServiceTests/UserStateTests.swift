import InklingService
import InklingModel
import Testing

@Suite("What front ends know of their user")
struct UserStateTests {
    private static func states(_ frontEnd: StageFrontEnd) -> [String] {
        frontEnd.take().compactMap { output in
            switch output {
            case .user(let user): "\(user.name)\(user.isAway ? ", away" : "")"
            case .answer(let answer, _): answer == .done ? "ok" : "\(answer)"
            default: nil
            }
        }
    }

    @Test("away and back are told to all front ends, to the one that asked after its answer (A-32)")
    func away() throws {
        let stage = ServiceStage(announcesAbsence: true)
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        first.ask(.setAway(true))
        #expect(Self.states(first) == ["ok", "Alice, away"] && Self.states(second) == ["Alice, away"])
        second.ask(.setAway(true))
        #expect(Self.states(first) == [] && Self.states(second) == ["ok"], "nothing changed")
        second.ask(.setAway(false))
        #expect(Self.states(first) == ["Alice"] && Self.states(second) == ["ok", "Alice"])
    }

    @Test("whoever comes while the user said that they are away is told, and nobody that nobody looks (A-32)")
    func coming() throws {
        let stage = ServiceStage(announcesAbsence: true)
        #expect(Self.states(stage.frontEnd()) == [], "away, as nobody looks")
        let first = try stage.frontEnd(in: "kitchen")
        first.ask(.setAway(true))
        first.service.stop {}
        #expect(Self.states(stage.frontEnd()) == ["Alice, away"])
    }

    @Test("a name is told to all, whoever gives it; one that is refused to nobody (A-32)")
    func name() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        first.ask(.rename("Alicia"))
        #expect(Self.states(first) == ["ok", "Alicia"] && Self.states(second) == ["Alicia"])
        stage.service.rename("Liz")
        #expect(Self.states(first) == ["Liz"] && Self.states(second) == ["Liz"])
        stage.node.answers[.rename("")] = .failed(.name(.empty))
        first.ask(.rename(""))
        #expect(Self.states(second) == [])
    }

    @Test("a front end that does not read is told the latest, and what others do does not pile up (A-29, A-32)")
    func slow() throws {
        let stage = ServiceStage()
        let (first, second) = (try stage.frontEnd(in: "kitchen"), try stage.frontEnd(in: "kitchen"))
        second.service.takesEvents = false
        for number in 0..<1_000 { first.ask(.rename("Alice \(number)")) }
        first.ask(.setAway(true))
        #expect(Self.states(second) == [])
        second.service.takesEvents = true
        #expect(Self.states(second) == ["Alice 999, away"])
    }

    @Test("an attached front end is told, and knows the name (A-32)")
    func attached() async throws {
        let stage = try await DaemonStage()
        let (first, second) = (try await stage.attach(), try await stage.attach())
        _ = try await first.ask(.rename("Alicia"))
        _ = try await first.ask(.setAway(true))
        try await second.wait { Self.last($0)?.isAway == true && Self.last($0)?.name == "Alicia" }
        #expect(try await second.run { $0.service.identity.name } == "Alicia")
        try await stage.end()
    }

    private static func last(_ frontEnd: StageFrontEnd) -> UserState? {
        frontEnd.outputs.compactMap { if case .user(let user) = $0 { user } else { nil } }.last
    }
}
