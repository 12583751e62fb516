import InklingWire
import Testing

@testable import InklingCore

/// The choice of links to make and to evict on a full node.
@Suite("Room for links")
struct LinkRoomTests {
    private let keys: [PublicKey] = {
        var generator = Seeded(91)
        return (0..<300).map { _ in KeyPair(using: &generator).publicKey }
    }()

    private func surroundings() -> Surroundings {
        var configuration = Endpoint.Configuration(identity: World.identities[0], name: "")
        configuration.isOwnUsers = { $0.port == 4_001 }
        var surroundings = Surroundings(configuration: configuration)
        surroundings.networks = [World.network(1)]
        return surroundings
    }

    private func add(
        _ person: PersonID, at address: Address, isUp: Bool = true, to table: inout LinkTable,
        _ surroundings: Surroundings
    ) -> LinkID {
        let id = table.nextID()
        var link = Link(
            id: id, personID: person, run: id.value, epochs: EpochPair(own: 0, peer: 0), at: address, surroundings,
            now: .zero)
        if isUp { link.liveness.comeUp(.zero) }
        table.add(link)
        return id
    }

    private func person(_ index: Int, in chat: ChatID = World.chat) -> PersonID {
        PersonID(chat: chat, key: keys[index])
    }

    @Test("A ninth link of a key replaces its oldest down link, or is not made (L-53)")
    func ninth() {
        let surroundings = surroundings()
        var table = LinkTable()
        var ids: [LinkID] = []
        for index in 0..<8 {
            ids.append(
                add(person(0), at: World.address(20 + index), isUp: index != 3 && index != 5, to: &table, surroundings))
        }
        let room = table.room(for: person(0), at: World.address(60), chatCount: 1, surroundings)
        #expect(room == .inPlace(of: ids[3]))
        table[ids[3]].liveness.comeUp(.zero)
        table[ids[5]].liveness.comeUp(.zero)
        #expect(table.room(for: person(0), at: World.address(60), chatCount: 1, surroundings) == .none)
    }

    @Test("A source has 64 links, besides verified people's; a higher rank replaces a lower there (L-53)")
    func source() {
        var surroundings = surroundings()
        surroundings.standings = [keys[200]: .met, keys[201]: .verified]
        var table = LinkTable()
        var ids: [LinkID] = []
        for index in 0..<64 { ids.append(add(person(index), at: World.address(9), to: &table, surroundings)) }
        #expect(table.room(for: person(100), at: World.address(9), chatCount: 1, surroundings) == .none)
        #expect(table.room(for: person(100), at: World.address(10), chatCount: 1, surroundings) == .free)
        #expect(table.room(for: person(200), at: World.address(9), chatCount: 1, surroundings) == .inPlace(of: ids[63]))
        #expect(table.room(for: person(201), at: World.address(9), chatCount: 1, surroundings) == .free)
        // A node that was killed and started again replaces its own down link, but no link at another source.
        let elsewhere = add(person(10), at: World.address(12), isUp: false, to: &table, surroundings)
        #expect(table.room(for: person(10), at: World.address(9), chatCount: 1, surroundings) == .none)
        #expect(table[elsewhere].isDown)
        table[ids[10]].liveness.goDown(.zero)
        #expect(table.room(for: person(10), at: World.address(9), chatCount: 1, surroundings) == .inPlace(of: ids[10]))
    }

    @Test("Other users of the host have 256 links, and the own user's sockets are no source (L-78)")
    func host() {
        let surroundings = surroundings()
        var table = LinkTable()
        for index in 0..<256 {
            _ = add(
                person(index), at: Address(ipv4: 0x7F00_0001, port: UInt16(6_000 + index)), to: &table, surroundings)
        }
        #expect(table.room(for: person(280), at: World.address(1, port: 9_000), chatCount: 1, surroundings) == .none)
        #expect(table.room(for: person(280), at: World.address(1, port: 4_001), chatCount: 1, surroundings) == .free)
    }

    /// Returns a full table. For each source in `counts`, it has that number of strangers' links in a chat.
    private func full(_ counts: [Int], in chats: [ChatID], _ surroundings: Surroundings) -> LinkTable {
        var table = LinkTable()
        var index = 0
        for (source, count) in counts.enumerated() {
            for _ in 0..<count {
                let key = keys[index % 290]
                let chat = chats[index % chats.count]
                _ = add(
                    PersonID(chat: chat, key: key), at: World.address(2 + source, port: UInt16(1_000 + index)),
                    to: &table,
                    surroundings)
                index += 1
            }
        }
        return table
    }

    @Test(
        "A full node evicts the key's oldest down link first, then the newest of the lowest rank, down ones first (L-52)"
    )
    func rank() throws {
        var surroundings = surroundings()
        surroundings.standings = [keys[295]: .verified, keys[296]: .met]
        var table = full(Array(repeating: 16, count: 64), in: [World.chat], surroundings)
        #expect(table.count == 1_024)
        let newest = try #require(table.sortedIDs.last)
        let some = table.sortedIDs[500]
        let verified = PersonID(chat: World.chat, key: keys[295])
        #expect(table.room(for: verified, at: World.address(200), chatCount: 1, surroundings) == .inPlace(of: newest))
        table[some].liveness.goDown(.zero)
        #expect(table.room(for: verified, at: World.address(200), chatCount: 1, surroundings) == .inPlace(of: some))
        let owner = table[table.sortedIDs[7]].personID
        table[table.sortedIDs[7]].liveness.goDown(.zero)
        #expect(
            table.room(for: owner, at: World.address(200), chatCount: 1, surroundings)
                == .inPlace(of: table.sortedIDs[7]))
    }

    @Test("Among equals the source with the most gives up its newest, if it has two more (L-99)")
    func equals() {
        let surroundings = surroundings()
        let stranger = PersonID(chat: World.chat, key: keys[299])
        let table = full([64] + Array(repeating: 15, count: 64), in: [World.chat], surroundings)
        let largest = table.sortedIDs[63]
        #expect(table.room(for: stranger, at: World.address(200), chatCount: 1, surroundings) == .inPlace(of: largest))
        let even = full(Array(repeating: 1, count: 1_024 / 8).map { _ in 8 }, in: [World.chat], surroundings)
        #expect(even.count == 1_024)
        #expect(even.room(for: stranger, at: World.address(2), chatCount: 1, surroundings) == .none)
    }

    @Test("Failing that, the chat furthest over its share gives up a link to one below its own (L-99)")
    func shares() {
        let surroundings = surroundings()
        let table = full(Array(repeating: 1, count: 128).map { _ in 8 }, in: [World.chat], surroundings)
        let stranger = PersonID(chat: World.other.id, key: keys[299])
        let room = table.room(for: stranger, at: World.address(2), chatCount: 2, surroundings)
        #expect(room == table.sortedIDs.last.map { .inPlace(of: $0) })
    }
}
