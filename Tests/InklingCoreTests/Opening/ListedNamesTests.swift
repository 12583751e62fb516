import InklingWire
import Testing

@testable import InklingCore

@Suite("Names that discovery lists")
struct ListedNamesTests {
    static func names() -> ListedNames {
        var names = ListedNames(random: Seeded(3))
        names.join(World.lobby)
        return names
    }

    @Test("D-4, D-21: a name is known by its first 26 characters, in either case, and for each interface that lists it")
    func recognised() {
        var names = Self.names()
        let name = World.lobby.instanceName(nonce: 5).uppercased() + " (2)"
        let before = [names.added(name, on: 1), names.added(name, on: 1), names.added(name, on: 2)]
        #expect(before == [nil, nil, nil])
        let found = names.next(.zero)
        #expect(found?.name == name && found?.chat == World.chat && found?.interfaces == [1, 1, 2])
        let after = names.added(name, on: 2)
        #expect(after == World.chat)
        let removed = names.removed(name, on: 1)
        #expect(removed == World.chat)
        #expect(names.next(.zero) == nil)
    }

    @Test("D-4: the name of another chat is nobody's until that chat is joined, and nobody's again once it is left")
    func otherChats() {
        var names = Self.names()
        let name = World.other.instanceName(nonce: 6)
        _ = names.added(name, on: 1)
        #expect(names.next(.zero) == nil)
        names.join(World.other)
        let found = names.next(.zero)
        #expect(found?.name == name && found?.chat == World.other.id)
        names.leave(World.other.id)
        let removed = names.removed(name, on: 1)
        #expect(removed == nil)
    }

    @Test("D-25: at most 1,000 names are tried within any second, the newest first; the others wait")
    func rate() {
        var names = Self.names()
        let friend = World.lobby.instanceName(nonce: 7)
        _ = names.added(friend, on: 1)
        for number in 0..<3_000 { _ = names.added("forged \(number)", on: 1) }
        var now = Instant.zero
        var found: [Instant] = []
        var steps = 0
        while found.isEmpty, steps < 100 {
            if names.next(now) != nil { found.append(now) }
            guard let next = names.nextDeadline else { break }
            now = max(now, next)
            steps += 1
        }
        // The list tries 500 names in each period. Any second overlaps two periods.
        #expect(found == [.zero + .seconds(6)])
        _ = names.added("forged", on: 1)
        let newest = World.lobby.instanceName(nonce: 8)
        _ = names.added(newest, on: 1)
        #expect(names.next(now)?.name == newest)
    }

    @Test("D-25: forged names push out forged names, and never one of a chat")
    func room() {
        var names = Self.names()
        let friend = World.lobby.instanceName(nonce: 9)
        _ = names.added(friend, on: 1)
        #expect(names.next(.zero)?.name == friend)
        for number in 0..<3 * ListedNames.capacity { _ = names.added("forged \(number)", on: 1) }
        let again = names.added(friend, on: 2)
        #expect(again == World.chat)
    }

    @Test("D-27: after an outage of discovery a name is new, whatever listed it before")
    func outage() {
        var names = Self.names()
        let name = World.lobby.instanceName(nonce: 10)
        for interface: UInt32 in [1, 2] { _ = names.added(name, on: interface) }
        #expect(names.next(.zero)?.interfaces == [1, 2])
        _ = names.added(World.lobby.instanceName(nonce: 11), on: 1)
        names.removeAll()
        #expect(names.next(.zero) == nil)
        let removed = names.removed(name, on: 1)
        let added = names.added(name, on: 2)
        #expect(removed == nil && added == nil)
        #expect(names.next(.zero)?.interfaces == [2])
    }
}
