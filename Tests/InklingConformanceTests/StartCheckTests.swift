import InklingConformance
import Testing

@Suite("The look whether a program gets ready")
struct StartCheckTests {
    /// The behaviour of a program after its start.
    enum Behaviour {
        case getsReady, saysNothing, printsNonsense, ends, cannotStart
    }

    /// A program that only starts, in virtual time.
    private final class StartStage: Stage {
        private let behaviour: Behaviour
        private(set) var now = Duration.zero
        private var waiting: [StageEvent] = []

        init(_ behaviour: Behaviour) { self.behaviour = behaviour }

        func start(_ arguments: ProgramArguments) throws(StageError) -> ProgramID {
            let id = ProgramID(number: 0)
            switch behaviour {
            case .getsReady:
                // The number 9, which is a valid key.
                let key: JSONValue = "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                let ready: JSONValue = ["on": "ready", "port": 7_000, "key": key]
                waiting = [.line(bytes: [], value: ready, program: id, at: now)]
            case .saysNothing: break
            case .printsNonsense: waiting = [.line(bytes: Array("hello".utf8), value: nil, program: id, at: now)]
            case .ends:
                waiting = [.diagnostic("no state", program: id, at: now), .exited(.exited(3), program: id, at: now)]
            case .cannotStart: throw StageError("can't start node: No such file or directory")
            }
            return id
        }

        func next(until end: Duration) -> StageEvent? {
            if !waiting.isEmpty { return waiting.removeFirst() }
            now = end
            return nil
        }

        func bind(host: String) throws(StageError) -> UDPAddress { throw StageError("no sockets here") }
        func send(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {}
        func feed(_ line: [UInt8], to program: ProgramID) {}
        func closeInput(of program: ProgramID) {}
        func signal(_ signal: ProgramSignal, to program: ProgramID) {}
        func encode(_ value: JSONValue) -> [UInt8] { [] }
        func advertise(_ service: ServiceInstance) throws(StageError) { throw StageError("no discovery here") }
        func browse() throws(StageError) { throw StageError("no discovery here") }
    }

    /// Checks a program whose starts behave like `starts`; returns the finding, the number of starts and their time.
    private func check(_ starts: Behaviour...) -> (finding: Finding?, tries: Int, time: Duration) {
        var tries = 0
        var time = Duration.zero
        let finding = StartCheck.finding(seed: 1) { start in
            let stage = StartStage(starts[min(tries, starts.count - 1)])
            tries += 1
            defer { time += stage.now }
            return start(stage)
        }
        return (finding, tries, time)
    }

    @Test("a program that gets ready is started once")
    func ready() {
        let (finding, tries, _) = check(.getsReady)
        #expect(finding == nil && tries == 1)
    }

    @Test("one bad start does not condemn a program", arguments: [Behaviour.saysNothing, .ends, .cannotStart])
    func secondTry(_ first: Behaviour) {
        let (finding, tries, _) = check(first, .getsReady)
        #expect(finding == nil && tries == 2)
    }

    @Test(
        "a program that never gets ready is started twice, and the reason is told",
        arguments: [
            (Behaviour.saysNothing, "nothing came"), (.printsNonsense, "the first line is hello"),
            (.ends, "the program ended: exit status 3; it said: no state"),
            (.cannotStart, "can't start node: No such file or directory"),
        ])
    func never(_ behaviour: Behaviour, _ reason: String) {
        let (finding, tries, time) = check(behaviour)
        #expect(finding?.actual == reason && tries == 2)
        #expect(time <= Program.startLimit * 2)
    }
}
