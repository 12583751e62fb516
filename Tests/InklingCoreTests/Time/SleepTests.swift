import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// A machine that sleeps, or a program that is stopped: its clock jumps, and others have given it up.
@Suite("Sleep")
struct SleepTests {
    /// What becomes of the datagrams that are sent to the sleeper.
    enum Meanwhile: String, CaseIterable, CustomStringConvertible {
        case lost, waiting
        var description: String { rawValue }
    }

    /// A chat of which one member sleeps; discovery forgets it as long as that, if it is long.
    private func sleep(
        _ sleeper: Int, of count: Int, for duration: Duration, _ meanwhile: Meanwhile, typing: Bool = false
    ) -> VirtualLAN {
        let lan = VirtualLAN()
        for index in 0..<count { lan.add(identity: index, name: "\(index)") }
        lan.discoverAll()
        lan.run(for: .seconds(5))
        if typing { for index in 0..<count { lan.compose(index, "typing") } }
        lan.run(for: .milliseconds(100))
        lan.stop(sleeper)
        let address = lan.hosts[sleeper].address
        if meanwhile == .lost { lan.transit = { $0.destination == address ? [] : [.microseconds(200)] } }
        lan.run(for: duration)
        for other in 0..<count where other != sleeper && duration > .seconds(3_600) {
            lan.perform(other) {
                $0.lost("instance \(sleeper)", chat: VirtualLAN.lobby.tag, now: $1)
            }
        }
        lan.transit = { _ in [.microseconds(200)] }
        lan.forget()
        return lan
    }

    @Test(
        "a sleeper takes nobody for gone who is there, is back for all within 3 s, and shows nothing old (L-30, L-42, R10, R22)",
        arguments: [2, 3, 4, 10, 60, 600, 3_599, 3_700, 7_300, 8 * 3_600], Meanwhile.allCases)
    func sleeps(_ seconds: Int, _ meanwhile: Meanwhile) {
        // Of hours each datagram costs time: then the one that is awake is alone.
        let count = seconds > 600 ? 2 : 3
        for sleeper in 0..<count {
            let lan = sleep(sleeper, of: count, for: .seconds(seconds), meanwhile, typing: true)
            let woken = lan.now
            lan.resume(sleeper)
            if seconds > 3 { #expect(lan.hosts[sleeper].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty) }
            lan.run(for: .milliseconds(1_000))
            #expect(lan.presences(sleeper).isEmpty, "nobody went for what \(sleeper) did not hear in \(seconds) s")
            for index in 0..<count {
                #expect(lan.online(index).count == count - 1, "\(index) after \(seconds) s of \(sleeper)")
                let typing = [count - 1] + lan.typing(index).map(\.names.count)
                #expect(zip(typing, typing.dropFirst()).allSatisfy { $0 > $1 }, "nothing old comes up again")
                #expect(lan.hosts[index].endpoint.typing(in: VirtualLAN.lobby.tag).isEmpty)
                guard index != sleeper else { continue }
                #expect(lan.offline(index).isEmpty && lan.presences(index).count <= 1)
            }
            #expect(lan.now - woken <= .seconds(3))
            for other in 0..<count where other != sleeper { lan.expectWorking(sleeper, other) }
        }
    }

    @Test(
        "who left while a node slept is gone for it within 3 s of its waking (L-30, L-42, R22)",
        arguments: [10, 8 * 3_600], Meanwhile.allCases)
    func leftMeanwhile(_ seconds: Int, _ meanwhile: Meanwhile) {
        let lan = VirtualLAN()
        for index in 0..<3 { lan.add(identity: index, name: "\(index)") }
        lan.discoverAll()
        lan.run(for: .seconds(5))
        lan.stop(1)
        let address = lan.hosts[1].address
        if meanwhile == .lost { lan.transit = { $0.destination == address ? [] : [.microseconds(200)] } }
        lan.perform(0) { $0.quit(now: $1) }
        lan.run(for: .seconds(1))
        lan.kill(0)
        lan.kill(2)
        lan.run(for: .seconds(seconds))
        lan.forget()
        lan.resume(1)
        lan.run(for: .seconds(3))
        #expect(lan.presences(1).map(\.name).sorted() == ["0", "2"])
        #expect(lan.online(1).isEmpty)
    }

    @Test("two that slept for hours meet again within 3 s of the later waking (L-42, R22)", arguments: [0, 1])
    func both(_ first: Int) {
        let lan = pair()
        lan.stop(0)
        lan.stop(1)
        lan.transit = { _ in [] }
        lan.run(for: .seconds(8 * 3_600))
        lan.transit = { _ in [.microseconds(200)] }
        lan.resume(first)
        lan.run(for: .seconds(20))
        lan.resume(1 - first)
        lan.run(for: .seconds(3))
        #expect(lan.online(0) == ["Bob"] && lan.online(1) == ["Alice"])
        #expect(lan.offline(1 - first).isEmpty, "the later one takes nobody for gone")
        lan.expectWorking(0, 1)
    }

    @Test(
        "who slept under another address is back within 3 s all the same (L-40, L-42, R24)", arguments: [20, 8 * 3_600])
    func movedAsleep(_ seconds: Int) {
        for sleeper in 0...1 {
            let lan = pair()
            lan.stop(sleeper)
            lan.run(for: .seconds(seconds))
            lan.forget()
            lan.resume(sleeper)
            lan.move(sleeper, to: VirtualLAN.address(60))
            lan.run(for: .seconds(3))
            #expect(lan.presences(sleeper).isEmpty)
            lan.expectWorking(0, 1)
        }
    }

    @Test(
        "a message that was under way when the machine fell asleep arrives, or is told to have failed (R26)",
        arguments: [2, 10, 8 * 3_600])
    func messages(_ seconds: Int) {
        for sleeper in 0...1 {
            let lan = pair()
            let awake = 1 - sleeper
            lan.transit = { _ in [] }
            lan.send(sleeper, "going to sleep")
            lan.stop(sleeper)
            lan.transit = { _ in [.microseconds(200)] }
            lan.run(for: .seconds(seconds))
            lan.resume(sleeper)
            lan.run(for: .seconds(10))
            let ends = lan.hosts[sleeper].log.filter {
                switch $0.output {
                case .delivered, .failed: true
                default: false
                }
            }
            #expect(ends.count == 1)
            let isDelivered = ends.contains { if case .delivered = $0.output { true } else { false } }
            #expect(lan.messages(awake) == (isDelivered ? ["going to sleep"] : []))
            lan.expectWorking(0, 1)
        }
    }

    /// When a user sends, after the machine woke.
    enum Sending: String, CaseIterable, CustomStringConvertible {
        /// Before anything was read that waited in the socket.
        case first
        case afterReading
        /// While the pings and the handshake are under way.
        case later
        var description: String { rawValue }
    }

    @Test(
        "a message that is sent on waking waits for the link to recover, and arrives (M-22, M-6, L-42)",
        arguments: [2, 4, 20, 600, 8 * 3_600], Sending.allCases)
    func sentOnWaking(_ seconds: Int, _ sending: Sending) {
        for sleeper in 0...1 {
            for meanwhile in Meanwhile.allCases {
                let lan = sleep(sleeper, of: 2, for: .seconds(seconds), meanwhile)
                if sending == .first { #expect(lan.send(sleeper, "awake") == 1) }
                lan.resume(sleeper)
                if sending == .later { lan.run(for: .microseconds(500)) }
                if sending != .first { #expect(lan.send(sleeper, "awake") == 1) }
                lan.run(for: .seconds(3))
                #expect(lan.messages(1 - sleeper) == ["awake"], "\(sleeper) after \(seconds) s, \(meanwhile)")
                #expect(lan.outcomes(sleeper).map(\.failure) == [nil])
            }
        }
    }

    @Test(
        "a hello that waited in the socket says nothing of the stream: the message still arrives (M-22)",
        arguments: [0, 1])
    func oldHello(_ sleeper: Int) {
        let lan = pair()
        lan.run(for: .seconds(5))
        lan.stop(sleeper)
        lan.perform(1 - sleeper) { $0.rename("Another", now: $1) }
        lan.run(for: .seconds(20))
        lan.forget()
        #expect(lan.send(sleeper, "awake") == 1)
        lan.resume(sleeper)
        lan.run(for: .seconds(3))
        #expect(lan.messages(1 - sleeper) == ["awake"])
        #expect(lan.outcomes(sleeper).map(\.failure) == [nil])
    }

    @Test("to a peer that is gone a message that is sent on waking fails with the link (M-22, M-18)")
    func sentToNobody() {
        let lan = pair()
        lan.run(for: .seconds(5))
        lan.stop(0)
        lan.kill(1)
        lan.run(for: .seconds(20))
        #expect(lan.send(0, "awake") == 1)
        lan.resume(0)
        lan.run(for: .seconds(3))
        #expect(lan.outcomes(0).map(\.failure) == [.silence])
    }

    @Test("on waking nothing is sealed on, or opened from, a session that is older than 2 h (L-38)")
    func oldSession() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        lan.run(for: .milliseconds(100))
        _ = peer.arrived(anywhere: true)
        lan.stop(0)
        lan.run(for: .seconds(7_201))
        lan.resume(0)
        peer.send([peer.heartbeat(), .ping(7)], on: session)
        lan.run(for: .seconds(1))
        let sent = peer.arrived(anywhere: true)
        #expect(peer.open(sent, on: session).isEmpty)
        #expect(sent.contains { $0.bytes[0] == 0x11 }, "a new handshake begins")
        #expect(lan.presences(0).count == 1, "the link has its round of pings")
        lan.run(for: .seconds(1))
        #expect(lan.offline(0) == [.silence])
    }

    @Test("eleven peers of a sleeper: none is taken for gone, and it is back for all within 3 s (L-42)")
    func manyPeers() {
        let sleeper = 5
        let lan = sleep(sleeper, of: 12, for: .seconds(100), .lost)
        lan.resume(sleeper)
        lan.run(for: .seconds(3))
        #expect(lan.presences(sleeper).isEmpty)
        #expect(lan.online(sleeper).count == 11)
        for index in 0..<12 { #expect(lan.online(index).count == 11) }
    }
}
