import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// Two nodes that found each other; the first has the smaller key.
func pair(seconds: Int = 1) -> VirtualLAN {
    let lan = VirtualLAN()
    lan.add(identity: 0, name: "Alice")
    lan.add(identity: 1, name: "Bob")
    lan.discoverAll()
    lan.run(for: .seconds(seconds))
    lan.forget()
    return lan
}

@Suite("Links")
struct LinkTests {
    @Test("two nodes that discover each other are online to each other (R22)")
    func meet() {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice")
        lan.add(identity: 1, name: "Bob")
        lan.discoverAll()
        lan.run(for: .milliseconds(100))
        #expect(lan.online(0) == ["Bob"])
        #expect(lan.online(1) == ["Alice"])
        #expect(lan.presences(0).map(\.why) == [.hello])
        #expect(lan.sent(1, kind: 1).isEmpty, "the larger key waits 300 ms before it opens")
        lan.run(for: .seconds(60))
        #expect(lan.presences(0).count == 1)
        #expect(lan.presences(1).count == 1)
    }

    @Test("a first contact is one initiation, one response and three hellos")
    func firstContact() {
        let lan = VirtualLAN()
        lan.add(identity: 0)
        lan.add(identity: 1)
        lan.discoverAll()
        lan.run(for: .milliseconds(100))
        #expect(lan.hosts[0].sent.map { $0.bytes[0] } == [0x11, 0x13, 0x13])
        #expect(lan.hosts[1].sent.map { $0.bytes[0] } == [0x12, 0x13])
    }
}
