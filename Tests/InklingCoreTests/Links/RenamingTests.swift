import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Another name")
struct RenamingTests {
    private func pair() -> VirtualLAN {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice")
        lan.add(identity: 1, name: "Bob")
        lan.discoverAll()
        lan.run(for: .seconds(3))
        lan.forget()
        return lan
    }

    @Test("a peer who is there sees the new name a trip later, online and by a hello (L-57, L-22)", arguments: [0, 1])
    func seen(_ index: Int) {
        let lan = pair()
        let start = lan.now.milliseconds
        lan.perform(index) { $0.rename("Zoë", now: $1) }
        lan.run(for: .seconds(5))
        let told = lan.presences(1 - index)
        #expect(told.map(\.name) == ["Zoë"] && told.first?.presence == .online && told.first?.why == .hello)
        #expect(told.first.map { $0.at - start <= 1 } == true)
        #expect(lan.online(1 - index) == ["Zoë"])
        #expect(lan.presences(index).isEmpty)
    }

    @Test("hellos of a new name end with the first that answers (L-57, L-16)")
    func ends() throws {
        let peer = try ScriptedPeer.linked()
        let lan = peer.lan
        let session = try #require(peer.sessions.first)
        peer.sign = [peer.heartbeat()]
        _ = peer.receive(on: session)
        let start = lan.now
        lan.perform(0) { $0.rename("Zoë", now: $1) }
        lan.run(for: .milliseconds(600))
        let repeated = peer.receive(on: session).filter { $0.hello != nil }
        #expect(repeated.count >= 3 && repeated.first?.at == start)
        #expect(zip(repeated.dropFirst(), repeated).allSatisfy { $0.at - $1.at <= .milliseconds(250) })
        #expect(repeated.allSatisfy { $0.hello?.name == "Zoë" && $0.heartbeat != nil })
        peer.greet(on: session)
        lan.run(for: .milliseconds(900))
        #expect(peer.receive(on: session).filter { $0.hello != nil }.isEmpty)
    }

    @Test("a lost hello of a new name comes again (L-57, L-16)", arguments: [0, 1])
    func lost(_ index: Int) {
        let lan = pair()
        let end = lan.now + .milliseconds(400)
        let transit = lan.transit
        lan.transit = { $0.at < end ? [] : transit($0) }
        lan.perform(index) { $0.rename("Zoë", now: $1) }
        lan.run(for: .seconds(1))
        #expect(lan.presences(1 - index).map(\.name) == ["Zoë"])
    }

    @Test("of many names in a second the first is told at once, and the last when it is over (L-57)")
    func flood() {
        let lan = pair()
        let start = lan.now.milliseconds
        for number in 0..<100 {
            lan.perform(0) { $0.rename("Alice \(number)", now: $1) }
            lan.run(for: .milliseconds(5))
        }
        lan.run(for: .seconds(5))
        let told = lan.presences(1)
        #expect(told.first?.name == "Alice 0" && told.last?.name == "Alice 99")
        #expect(told.last.map { 1_000...1_010 ~= $0.at - start } == true)
        // Hellos that repeat the first, or answer, have the name of their moment.
        #expect(told.count <= 5)
        #expect(lan.hosts[0].sent.count < 60)
    }

    @Test("the same name is no change")
    func same() {
        let lan = pair()
        lan.perform(0) { $0.rename("Alice", now: $1) }
        #expect(lan.hosts[0].sent.isEmpty && lan.presences(1).isEmpty)
    }

    @Test("who comes later, and who answers meanwhile, sees the new name (L-57)")
    func later() {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice")
        lan.add(identity: 1, name: "Bob")
        lan.perform(0) { $0.rename("Zoë", now: $1) }
        lan.discoverAll()
        lan.run(for: .microseconds(500))
        lan.perform(1) { $0.rename("Yan", now: $1) }
        lan.run(for: .seconds(3))
        #expect(lan.online(1) == ["Zoë"] && lan.online(0) == ["Yan"])
    }

    @Test("messages, typing and being away go on under a new name, and nobody goes (L-57)")
    func goesOn() {
        let lan = pair()
        lan.compose(0, "hello")
        lan.perform(0) { $0.rename("Zoë", now: $1) }
        #expect(lan.send(0, "hello") == 1)
        lan.perform(1) { $0.setAway(true, now: $1) }
        lan.perform(1) { $0.rename("Yan", now: $1) }
        lan.run(for: .seconds(8))
        #expect(lan.messages(1) == ["hello"])
        #expect(lan.typing(1).last?.names == [])
        #expect(lan.presences(1).map(\.presence) == [.online])
        #expect(lan.presences(0).last.map { $0.name == "Yan" && $0.presence == .away } == true)
    }
}
