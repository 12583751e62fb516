import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Last will")
struct LastWillTests {
    private struct Kept: Equatable {
        let session: UInt32
        let bytes: [UInt8]
        let address: Address
    }

    private func kept(_ lan: VirtualLAN, _ index: Int) -> [Kept] {
        lan.hosts[index].log.compactMap { entry in
            guard case .keepWill(let session, let bytes, let address) = entry.output else { return nil }
            return Kept(session: session, bytes: bytes, address: address)
        }
    }

    private func dropped(_ lan: VirtualLAN, _ index: Int) -> [UInt32] {
        lan.hosts[index].log.compactMap { entry in
            if case .dropWill(let session) = entry.output { session } else { nil }
        }
    }

    private func willing() -> VirtualLAN {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice")
        lan.add(identity: 1, name: "Bob")
        lan.perform(0) { $0.keepsWills(now: $1) }
        lan.discoverAll()
        lan.run(for: .seconds(1))
        return lan
    }

    @Test("a will clears a dead peer's typing and presence at once, however often it comes (L-33, R7)")
    func death() throws {
        let lan = willing()
        lan.compose(0, "half a sent")
        lan.run(for: .milliseconds(200))
        #expect(lan.typing(1).last?.names == ["Alice"])
        let will = try #require(kept(lan, 0).last)
        lan.kill(0)
        for _ in 0..<3 { lan.inject(will.bytes, into: 1, from: lan.hosts[0].address) }
        #expect(lan.typing(1).last?.names == [])
        #expect(lan.presences(1).last?.why == .will)
        #expect(lan.presences(1).count == 2)
    }

    @Test("a will is sealed once a session, under the reserved counter, and is 27 bytes (L-33, W-21)")
    func sealed() throws {
        let lan = willing()
        let wills = kept(lan, 0)
        #expect(wills.count == 1)
        let will = try #require(wills.first)
        #expect(will.bytes.count == 27)
        #expect(Array(will.bytes[5..<9]) == [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(will.address == lan.hosts[1].address)
        lan.run(for: .seconds(60))
        #expect(kept(lan, 0) == wills)
    }

    @Test("a peer that moved gets the very same will at its new address (L-33, L-24)")
    func moved() throws {
        let lan = willing()
        let before = try #require(kept(lan, 0).last)
        lan.move(1, to: VirtualLAN.address(77))
        lan.run(for: .seconds(3))
        let after = try #require(kept(lan, 0).last)
        #expect(after.bytes == before.bytes)
        #expect(after.address == VirtualLAN.address(77))
    }

    @Test("with a new session comes a new will, and the one before is taken back (L-33, L-37)")
    func renewed() throws {
        let lan = willing()
        let first = try #require(kept(lan, 0).last)
        lan.run(for: .seconds(3_700))
        let second = try #require(kept(lan, 0).last)
        #expect(second.session != first.session)
        #expect(dropped(lan, 0) == [first.session])
    }

    @Test("after a farewell of either side no will is left (L-33, L-32)", arguments: [0, 1])
    func farewell(_ leaver: Int) throws {
        let lan = willing()
        lan.perform(leaver) { $0.quit(now: $1) }
        lan.run(for: .seconds(1))
        #expect(dropped(lan, 0) == kept(lan, 0).map(\.session))
    }

    @Test("nobody who keeps wills, no wills")
    func nobody() {
        let lan = willing()
        #expect(kept(lan, 1).isEmpty && dropped(lan, 1).isEmpty)
    }
}
