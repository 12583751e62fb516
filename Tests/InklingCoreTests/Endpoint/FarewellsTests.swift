import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Copies of farewells")
struct FarewellsTests {
    /// What goes out, by its address.
    private func sent(_ effects: inout Effects) -> [Address] {
        effects.drain().compactMap { if case .send(_, let address, .bye) = $0 { address } else { nil } }
    }

    @Test("a farewell goes out at once, and again after 30 and 120 ms, under counters of their own (L-32)")
    func copies() {
        var effects = Parts.effects()
        var farewells = Farewells()
        #expect(farewells.isEmpty)
        #expect(farewells.nextDeadline == nil)
        var session = Parts.session(1)
        farewells.say(.quit, on: &session, to: Parts.there, &effects, now: .at(100))
        #expect(session.nextCounter == 3)
        var datagrams = effects.drain()
        #expect(datagrams.count == 1)
        for (due, isEmpty) in [(130, false), (220, true)] {
            #expect(farewells.nextDeadline == .at(due))
            farewells.advance(&effects, now: .at(due - 1))
            #expect(effects.drain().isEmpty)
            farewells.advance(&effects, now: .at(due))
            datagrams += effects.drain()
            #expect(farewells.isEmpty == isEmpty)
        }
        #expect(farewells.nextDeadline == nil)
        let bytes: [[UInt8]] = datagrams.compactMap {
            if case .send(let bytes, to: Parts.there, .bye) = $0 { bytes } else { nil }
        }
        #expect(bytes.count == 3)
        #expect(Set(bytes).count == 3)
    }

    @Test("copies go out in the order in which they are due, those of one instant as they were said")
    func order() {
        var effects = Parts.effects()
        var farewells = Farewells()
        for (address, now) in [(Parts.here, 0), (Parts.there, 0), (Parts.elsewhere, 90)] {
            var session = Parts.session(1)
            farewells.say(.quit, on: &session, to: address, &effects, now: .at(now))
        }
        #expect(sent(&effects) == [Parts.here, Parts.there, Parts.elsewhere])
        #expect(farewells.nextDeadline == .at(30))
        farewells.advance(&effects, now: .at(119))
        #expect(sent(&effects) == [Parts.here, Parts.there])
        farewells.advance(&effects, now: .at(500))
        #expect(sent(&effects) == [Parts.here, Parts.there, Parts.elsewhere, Parts.elsewhere])
        #expect(farewells.isEmpty)
    }
}
