import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Time")
struct TimeTests {
    @Test(
        "a node that is called each millisecond does what one does that is called at its deadlines (T-18)",
        arguments: 1...6)
    func onlyDeadlines(_ seed: Int) throws {
        let idle = try ScriptedPeer.linked()
        func transcript(everyMillisecond: Bool) -> [String] {
            var generator = SeededGenerator(seed: UInt64(seed))
            var endpoint = idle.lan.hosts[0].endpoint
            var (lines, counter): ([String], UInt64) = ([], 0)
            for millisecond in idle.now + 1...idle.now + 9_000 {
                let now = Instant.at(millisecond)
                if everyMillisecond || endpoint.nextDeadline.map({ $0 <= now }) == true { endpoint.advance(to: now) }
                switch Int.random(in: 0..<400, using: &generator) {
                case 0: try? endpoint.compose("\(millisecond)", in: idle.chat.tag, now: now)
                case 1: try? endpoint.compose("", in: idle.chat.tag, now: now)
                case 2: _ = try? endpoint.send("\(millisecond)", to: idle.chat.tag, now: now)
                case 3: endpoint.setAway(Bool.random(using: &generator), now: now)
                case 4...6:
                    counter += 1
                    let status = Status(isTyping: Bool.random(using: &generator), isAway: false)
                    endpoint.receive(idle.seal([.typing(status)], counter: counter), from: idle.address, now: now)
                default: break
                }
                while let output = endpoint.nextOutput() { lines.append("\(millisecond) \(output)") }
                #expect(endpoint.nextDeadline.map { $0 > now } != false, "nothing that is due is left")
            }
            return lines
        }
        let lines = transcript(everyMillisecond: false)
        #expect(lines.count > 30)
        #expect(lines == transcript(everyMillisecond: true))
    }

    @Test("instants and durations convert to whole nanoseconds")
    func instants() {
        #expect((Instant.zero + .microseconds(1_500)).nanoseconds == 1_500_000)
        #expect(Instant.at(5) - Instant.at(7) == .milliseconds(-2))
        #expect(Duration.seconds(3).nanoseconds == 3_000_000_000)
        #expect(
            Duration(secondsComponent: -1, attosecondsComponent: -500_000_000_000_000_000).nanoseconds == -1_500_000_000
        )
    }

    @Test("the same inputs make the same outputs, to the byte (T-18)")
    func deterministic() {
        func transcript() -> [[UInt8]] {
            let lan = twoNodes()
            for step in 0..<20 {
                lan.compose(step % 2, "\(step)")
                lan.run(for: .milliseconds(333))
                if step % 5 == 0 { lan.send(step % 2, "message \(step)") }
            }
            return lan.hosts.flatMap(\.sent).map(\.bytes)
        }
        let one = transcript()
        #expect(one.count > 50)
        #expect(one == transcript())
    }

    @Test("every input runs the deadlines that have passed before it does anything (T-18)")
    func inputsRunDeadlines() throws {
        let peer = try ScriptedPeer.linked()
        peer.send(typing: true)
        let idle = peer.lan.hosts[0].endpoint
        let chat = peer.chat.tag
        let late = Instant.at(peer.now + 3_000)
        let inputs: [(String, (inout Endpoint) -> Void)] = [
            ("advance", { $0.advance(to: late) }),
            ("socketDrained", { $0.socketDrained(now: late) }),
            ("receive", { $0.receive([1, 2, 3], from: peer.address, now: late) }),
            ("compose", { try? $0.compose("h", in: chat, now: late) }),
            ("startTyping", { try? $0.startTyping(in: chat, now: late) }),
            ("stopTyping", { try? $0.stopTyping(in: chat, now: late) }),
            ("send", { _ = try? $0.send("h", to: chat, now: late) }),
            ("setAway", { $0.setAway(true, now: late) }),
            ("found", { $0.found("n", chat: chat, key: peer.identity.publicKey, addresses: [], now: late) }),
            ("lost", { $0.lost("n", chat: chat, now: late) }),
            ("doubt", { $0.doubt(peer.address, now: late) }),
            ("setNetworks", { $0.setNetworks([], port: 1, now: late) }),
            ("join", { try? $0.join(ChatKeys(openName: "other"), now: late) }),
            ("measureRoundTrip", { $0.measureRoundTrip(in: chat, now: late) }),
        ]
        for (name, input) in inputs {
            var endpoint = idle
            #expect(!endpoint.typing(in: chat).isEmpty)
            input(&endpoint)
            #expect(endpoint.typing(in: chat).isEmpty, "\(name)")
        }
    }
}
