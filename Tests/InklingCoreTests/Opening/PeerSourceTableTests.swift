import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Table of sources")
struct PeerSourceTableTests {
    /// One source in a state, whose handshake, if it has one, is number 7.
    private func table(
        _ state: OpeningState, _ effects: inout Effects
    ) throws -> (table: PeerSourceTable, id: PeerSourceID) {
        var table = PeerSourceTable()
        let id = table.add(.discovered("a"), chat: Parts.chat, key: Parts.key(1), addresses: [Parts.here])
        table.move(id, to: try state.opening(7, &effects))
        return (table, id)
    }

    @Test(
        "the index of an attempt leads to its source, and nowhere once the source has moved on",
        arguments: OpeningState.allCases, OpeningState.allCases)
    func move(_ before: OpeningState, _ after: OpeningState) throws {
        var effects = Parts.effects()
        var (table, id) = try table(before, &effects)
        #expect(table.id(ofAttempt: 7) == (before == .attempting ? id : nil))
        #expect(table.attemptCount == (before == .attempting ? 1 : 0))
        table.move(id, to: try after.opening(8, &effects))
        #expect(OpeningState(table[id].opening) == after)
        #expect(table.id(ofAttempt: 7) == nil)
        #expect(table.id(ofAttempt: 8) == (after == .attempting ? id : nil))
        #expect(table.attemptCount == (after == .attempting ? 1 : 0))
        #expect(table.countAttempting { $0.id == id } == (after == .attempting ? 1 : 0))
        #expect(table.mostAttempted { $0.id == id } == (after == .attempting ? id : nil))
        #expect(table.mostAttempted { _ in false } == nil)
    }

    @Test("the same attempt again keeps its index", arguments: OpeningState.allCases)
    func sameAttempt(_ state: OpeningState) throws {
        var effects = Parts.effects()
        var (table, id) = try table(state, &effects)
        table.move(id, to: table[id].opening)
        #expect(OpeningState(table[id].opening) == state)
        #expect(table.id(ofAttempt: 7) == (state == .attempting ? id : nil))
    }

    @Test("cancelling gives up an attempt, and nothing else", arguments: OpeningState.allCases)
    func cancel(_ state: OpeningState) throws {
        var effects = Parts.effects()
        var (table, id) = try table(state, &effects)
        table.cancelAttempt(id)
        #expect(OpeningState(table[id].opening) == (state == .attempting ? .idle : state))
        #expect(table.id(ofAttempt: 7) == nil)
        table.cancelAttempt(PeerSourceID(value: 99))
    }

    @Test("nothing leads to a source that was removed", arguments: OpeningState.allCases)
    func remove(_ state: OpeningState) throws {
        var effects = Parts.effects()
        var (table, id) = try table(state, &effects)
        table.remove(PeerSourceID(value: 99))
        #expect(table.count == 1)
        table.remove(id)
        #expect(table.count == 0)
        #expect(table.find(id) == nil)
        #expect(table.id(of: .discovered("a"), in: Parts.chat) == nil)
        #expect(table.sources(of: Parts.person()).isEmpty)
        #expect(table.id(ofAttempt: 7) == nil)
        #expect(table.attemptCount == 0)
    }

    @Test("another key makes it another person's source, which no link covers", arguments: OpeningState.allCases)
    func setKey(_ state: OpeningState) throws {
        var effects = Parts.effects()
        var (table, id) = try table(state, &effects)
        table[id].link = LinkID(value: 4)
        table.setKey(of: id, to: Parts.key(1))
        #expect(table[id].link == LinkID(value: 4))
        table.setKey(of: id, to: Parts.key(2))
        #expect(table[id].link == nil)
        #expect(table.sources(of: Parts.person(1)).isEmpty)
        #expect(table.sources(of: Parts.person(2)).map(\.id) == [id])
        table.setKey(of: id, to: nil)
        #expect(table.sources(of: Parts.person(2)).isEmpty)
        #expect(table[id].person == nil)
        #expect(OpeningState(table[id].opening) == state)
    }

    @Test("an origin is one source in each chat")
    func origins() {
        var table = PeerSourceTable()
        let origins: [PeerSource.Origin] = [
            .discovered("a"), .discovered("b"), .byHand(Parts.here), .byHand(Parts.there), .rekey(LinkID(value: 1)),
            .rekey(LinkID(value: 2)), .lastKnown(expires: .at(1)),
        ]
        var ids: [PeerSourceID] = []
        for chat in [Parts.chat, Parts.otherChat] {
            for origin in origins {
                #expect(table.id(of: origin, in: chat) == nil)
                let id = table.add(origin, chat: chat, key: Parts.key(1), addresses: [])
                #expect(table.id(of: origin, in: chat) == id)
                ids.append(id)
            }
        }
        #expect(ids == ids.sorted())
        #expect(table.sortedIDs == ids)
        #expect(table.sources(of: Parts.person()).map(\.id) == Array(ids.prefix(origins.count)))
        #expect(Set(ids.map { table[$0].isByHand }) == [true, false])
        #expect(ids.filter { table[$0].isDiscovered }.count == 4)
    }

    @Test("the later of two last known addresses of one instant keeps the origin when the earlier goes")
    func sameOrigin() {
        var table = PeerSourceTable()
        let origin = PeerSource.Origin.lastKnown(expires: .at(1))
        let first = table.add(origin, chat: Parts.chat, key: Parts.key(1), addresses: [])
        let second = table.add(origin, chat: Parts.chat, key: Parts.key(2), addresses: [])
        table.remove(first)
        #expect(table.id(of: origin, in: Parts.chat) == second)
    }

    @Test("a last known address is due when it expires, or earlier", arguments: OpeningState.allCases)
    func deadline(_ state: OpeningState) throws {
        var effects = Parts.effects()
        for expires in [1, 90_000] {
            var table = PeerSourceTable()
            let id = table.add(
                .lastKnown(expires: .at(expires)), chat: Parts.chat, key: Parts.key(1), addresses: [])
            let opening = try state.opening(7, &effects)
            table.move(id, to: opening)
            let earlier = min(opening.nextDeadline ?? .at(expires), .at(expires))
            #expect(table[id].nextDeadline == earlier)
        }
        let (table, id) = try table(state, &effects)
        #expect(table[id].nextDeadline == table[id].opening.nextDeadline)
    }
}
