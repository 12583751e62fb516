import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Streams of links that are over")
struct LostLinkTests {
    /// Two nodes that have sent each other messages, so that both streams are past record 0.
    private func talked() -> VirtualLAN {
        let lan = pair()
        for step in 0..<5 {
            for index in 0...1 { lan.send(index, "\(step) of \(index)") }
            lan.run(for: .milliseconds(50))
        }
        return lan
    }

    @Test("a link made again does not hold the stream of one that the peer did not notice the end of (M-7, M-6, R26)")
    func unnoticed() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        var session = try peer.link()
        lan.run(for: .zero)
        func send(_ number: UInt32, _ text: String) {
            let record = Record(stream: peer.stream, number: number, isFirst: true, isLast: true, text: text)
            peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: session)
        }
        for number in 0..<3 { send(UInt32(number), "\(number)") }
        lan.run(for: .milliseconds(3_100))
        #expect(lan.offline(0) == [.silence])
        let before = peer.heldStream
        session = try peer.open()
        peer.send([peer.heartbeat(), peer.hello], on: session)
        let hello = try #require(peer.receive(on: session).last?.hello)
        #expect(hello.stream != before)
        #expect(hello.heldStream == 0, "the peer's stream is past record 0")
        send(2, "2")
        send(0, "0")
        #expect(lan.messages(0) == ["0", "1", "2"], "nothing is shown again")
        // That is how the peer learns that it has to begin another.
        peer.stream = 78
        peer.heldStream = hello.stream
        peer.send([peer.heartbeat(), peer.hello], on: session)
        #expect(peer.receive(on: session).last?.hello?.heldStream == 78)
        send(0, "3")
        #expect(lan.messages(0) == ["0", "1", "2", "3"])
    }

    @Test("a stream named in this link is known to it: a hello that holds it is believed (M-7)")
    func known() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        var streams = [peer.heldStream]
        // Each message that the peer has lost makes the node begin another stream.
        for step in 0..<8 {
            lan.send(0, "x")
            peer.heldStream = 0
            peer.send([peer.heartbeat(), peer.hello], on: session)
            let named = peer.receive(on: session).compactMap(\.hello?.stream).last
            peer.heldStream = try #require(named, "step \(step)")
            peer.send([peer.heartbeat(), peer.hello], on: session)
            streams.append(peer.heldStream)
            _ = peer.arrived()
        }
        #expect(Set(streams).count == 9)
        func isTaken(_ held: UInt32) -> Bool {
            peer.stream += 1
            peer.heldStream = held
            peer.send([peer.heartbeat(), peer.hello], on: session)
            let text = "of stream \(peer.stream)"
            let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: text)
            peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: session)
            return lan.messages(0).contains(text)
        }
        #expect(!isTaken(12_345))
        #expect(!isTaken(streams[0]), "the last eight are remembered")
        #expect(streams.dropFirst().allSatisfy { isTaken($0) })
        #expect(isTaken(0))
    }

    @Test("a stream that was given up for another is not begun again, whatever a late hello says (M-7, R26)")
    func givenUp() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        func send(_ text: String) {
            let record = Record(stream: peer.stream, number: 0, isFirst: true, isLast: true, text: text)
            peer.send([.typing(Status(isTyping: false, isAway: false)), .message(record)], on: session)
        }
        send("first")
        peer.stream = 78
        peer.send([peer.heartbeat(), peer.hello], on: session)
        send("second")
        peer.stream = 77
        peer.send([peer.heartbeat(), peer.hello], on: session)
        #expect(peer.receive(on: session).last?.hello?.heldStream != 77)
        send("first")
        #expect(lan.messages(0) == ["first", "second"])
    }

    @Test(
        "after one node gave the other up, which did not notice, messages go both ways, once (M-7, L-42, R26)",
        arguments: [0, 1])
    func stopped(_ stopped: Int) {
        let lan = talked()
        lan.stop(stopped)
        lan.run(for: .seconds(10))
        lan.resume(stopped)
        lan.run(for: .seconds(2))
        lan.forget()
        for index in 0...1 { lan.send(index, "new of \(index)") }
        lan.run(for: .seconds(1))
        #expect(lan.messages(0) == ["new of 1"])
        #expect(lan.messages(1) == ["new of 0"])
        #expect(lan.outcomes(0).map(\.failure) == [nil] && lan.outcomes(1).map(\.failure) == [nil])
        lan.expectWorking(0, 1)
    }

    @Test("two nodes that begin new streams at once, each holding the other's old one, find together again (M-7, M-19)")
    func bothReplaced() {
        let lan = talked()
        // Messages get lost, all else arrives, until both give their streams up in the same instant.
        lan.transit = { $0.bytes.count > 200 ? [] : [.microseconds(200)] }
        let text = String(repeating: "x", count: 300)
        for index in 0...1 { lan.send(index, text) }
        lan.run(for: .seconds(32))
        for index in 0...1 { #expect(lan.outcomes(index).last?.failure == .stalled) }
        lan.repair()
        lan.forget()
        for index in 0...1 { lan.send(index, "new of \(index)") }
        lan.run(for: .seconds(1))
        #expect(lan.messages(0) == ["new of 1"])
        #expect(lan.messages(1) == ["new of 0"])
        #expect(lan.offline(0).isEmpty && lan.offline(1).isEmpty)
        let hellos = lan.hosts.map { $0.endpoint.counters.sent[.hello] ?? 0 }
        lan.run(for: .seconds(5))
        #expect(lan.hosts.map { $0.endpoint.counters.sent[.hello] ?? 0 } == hellos, "nothing is left to be said")
    }
}
