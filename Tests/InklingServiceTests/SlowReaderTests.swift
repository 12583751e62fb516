import InklingModel
import InklingService
import Testing

/// Front ends that read slowly, or not for a while: those of connections (A-29), and the prompt (M-20).
@Suite("Slow front ends")
struct SlowReaderTests {
    private static func person(_ number: Int) -> Person {
        var (rest, letters) = (number, "")
        for _ in 0..<16 {
            letters.append(Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(rest % 26))))
            rest /= 26
        }
        // The last letter of an ID has one bit.
        return Person(user: UserID(String(letters.dropLast()) + "a").unsafelyUnwrapped, name: "P\(number)")
    }

    private static func arrival(_ person: Person, _ presence: Presence) -> Event {
        .peer(.init(chat: "kitchen", Somebody.peer(person, presence), why: presence == .offline ? .bye : .hello))
    }

    private static func stage(isPatient: Bool) throws -> (ServiceStage, StageFrontEnd) {
        let stage = ServiceStage(level: .holder)
        let frontEnd = stage.frontEnd(isPatient: isPatient)
        frontEnd.ask(.join(try Chat("kitchen")))
        frontEnd.forget()
        return (stage, frontEnd)
    }

    /// Takes one output, as a reader of lines does.
    private static func takeOne(_ frontEnd: StageFrontEnd) {
        frontEnd.react = { [unowned frontEnd] _ in frontEnd.service.takesEvents = false }
        frontEnd.service.takesEvents = true
    }

    // A-29, M-20
    @Test(
        "3,000 messages of ten people in 3 s, read at 20 lines a second: all, in order, and typing within ten lines",
        arguments: [true, false])
    func flood(isPatient: Bool) throws {
        let (stage, frontEnd) = try Self.stage(isPatient: isPatient)
        frontEnd.service.takesEvents = false
        let people = (0..<10).map(Self.person)
        for person in people { stage.node.tell(Self.arrival(person, .online)) }
        let carol = Somebody.carol
        stage.node.tell(Self.arrival(carol, .online))
        var number = 0
        func tellOne() {
            number += 1
            stage.node.tell(
                .message(.init(chat: "kitchen", from: people[number % 10], id: MessageID(number), text: "\(number)")))
        }
        var typing = (begun: -1, shown: -1, ended: -1, hidden: -1)
        var taken = 0
        func takeOne() {
            Self.takeOne(frontEnd)
            taken += 1
            guard case .event(let timed)? = frontEnd.outputs.last, case .typing(_, let people) = timed.event else {
                return
            }
            if people.contains(carol), typing.shown < 0 { typing.shown = taken }
            if !people.contains(carol), typing.ended >= 0, typing.hidden < 0 { typing.hidden = taken }
        }
        // 60 rounds of 50 ms, in which 50 messages come, and one line is read.
        for _ in 0..<60 {
            for _ in 0..<50 { tellOne() }
            takeOne()
            stage.pass(50)
        }
        while frontEnd.texts.count < 1_000 {
            takeOne()
            stage.pass(50)
        }
        typing.begun = taken
        stage.node.tell(.typing(chat: "kitchen", [carol]))
        for _ in 0..<200 {
            takeOne()
            stage.pass(50)
        }
        typing.ended = taken
        stage.node.tell(.typing(chat: "kitchen", []))
        while frontEnd.texts.count < 3_000, frontEnd.end == nil, taken < 10_000 {
            takeOne()
            stage.pass(50)
        }
        #expect(frontEnd.texts == (1...3_000).map(String.init) && frontEnd.end == nil)
        #expect(typing.shown - typing.begun <= 10 && typing.hidden - typing.ended <= 10, "\(typing)")
        print(
            "figure: \(isPatient ? "prompt" : "connection"), 3,000 messages at 20 lines a second: \(taken) lines,",
            "typing after \(typing.shown - typing.begun), its end after \(typing.hidden - typing.ended)")
    }

    // A-29
    @Test("an hour's sleep of the machine cuts nobody off, and what waited comes")
    func sleep() throws {
        let (stage, frontEnd) = try Self.stage(isPatient: false)
        frontEnd.service.takesEvents = false
        stage.node.tell(Somebody.message(1))
        stage.pass(5_000)
        stage.sleep(3_600_000)
        #expect(frontEnd.end == nil, "it had no time to read")
        stage.pass(4_000)
        #expect(frontEnd.end == nil)
        frontEnd.service.takesEvents = true
        #expect(frontEnd.texts == ["hi"])
        frontEnd.service.takesEvents = false
        stage.node.tell(Somebody.message(2))
        stage.sleep(3_600_000)
        stage.pass(10_000)
        #expect(frontEnd.end == .tooSlow, "awake, it had 10 s")
    }
}
