import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Room for links")
struct LinkRoomTests {
    /// A node with links, each of a key of its own unless told otherwise.
    private struct Bench {
        var links = LinkTable()
        var surroundings = Parts.surroundings()
        var chats = 1
        private var made = 0

        static let newcomer = PersonID(chat: Parts.chat, key: key(0))

        /// A key that nobody has the other half of.
        static func key(_ number: Int) -> PublicKey {
            let bytes = [9, UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 1, count: 29)
            guard let key = PublicKey(bytes) else { preconditionFailure("any such number is a key") }
            return key
        }

        /// A socket of the node's own user.
        static let ownUsers = VirtualLAN.address(0, port: Parts.ownUsersPort)

        static func host(_ number: Int, port: Int = 4_000) -> Address {
            VirtualLAN.address(1 + number, port: UInt16(port))
        }

        @discardableResult
        mutating func add(
            _ count: Int = 1, in chat: ChatTag = Parts.chat, at address: Address = host(1),
            _ standing: Standing = .stranger,
            key: Int? = nil
        ) -> LinkID {
            for _ in 0..<count {
                made += 1
                let person = PersonID(chat: chat, key: Bench.key(key ?? made))
                if standing > .stranger { surroundings.standings[person.key] = standing }
                links.add(
                    Link(
                        id: LinkID(value: UInt64(made)), personID: person, hello: Parts.hello(),
                        session: Parts.session(UInt32(made), hasHello: true, at: address), stream: 60,
                        nextHeartbeat: .zero + .seconds(1), isOwnUsers: surroundings.isOwnUsers(address), now: .zero))
            }
            return LinkID(value: UInt64(made))
        }

        /// Links of strangers, as many of each source, until the table is full.
        mutating func fill(perSource: Int, in chat: ChatTag = Parts.chat) {
            var host = 10
            while links.count < Limits.linksPerNode {
                add(min(perSource, Limits.linksPerNode - links.count), in: chat, at: Bench.host(host))
                host += 1
            }
        }

        func room(
            _ standing: Standing = .stranger, in chat: ChatTag = Parts.chat, at address: Address = host(2), key: Int = 0
        ) -> LinkTable.Room {
            var surroundings = surroundings
            let person = PersonID(chat: chat, key: Bench.key(key))
            if standing > .stranger { surroundings.standings[person.key] = standing }
            return links.room(for: person, at: address, chatCount: chats, surroundings)
        }
    }

    @Test("a source has 64 links, whatever its ports, without those of verified people (L-53)")
    func source() {
        var bench = Bench()
        bench.add(63)
        bench.add(10, .verified)
        #expect(bench.room(at: Bench.host(1)) == .free)
        bench.add(1, at: Bench.host(1, port: 9))
        #expect(bench.room(at: Bench.host(1)) == .none)
        #expect(bench.room(.verified, at: Bench.host(1)) == .free)
        #expect(bench.room(at: Bench.host(2)) == .free)
        #expect(bench.room(.met, at: Bench.host(1)) == .inPlace(of: LinkID(value: 74)), "strangers give way to friends")
    }

    @Test(
        "beyond the link an IPv6 network of 64 bits is one source, and an IPv4 address; on the link each address (L-53)"
    )
    func sources() {
        var surroundings = Parts.surroundings()
        let linkLocal = Address(high: 0xFE80 << 48, low: 1, port: 0, scope: 2)
        surroundings.networks.append(LocalNetwork(address: linkLocal, prefixLength: 64))
        func source(_ high: UInt64, _ low: UInt64, _ port: UInt16 = 1) -> Source? {
            surroundings.source(of: Address(high: high, low: low, port: port, scope: 2))
        }
        #expect(source(0xFE80 << 48, 5) != source(0xFE80 << 48, 6))
        #expect(source(0xFE80 << 48, 5) == source(0xFE80 << 48, 5, 2))
        #expect(source(0xFE80 << 48, 1) == .otherUsers)
        #expect(source(0xFE80 << 48, 1, Parts.ownUsersPort) == nil, "a socket of the node's own user")
        #expect(source(0x2001 << 48, 5) == source(0x2001 << 48, 6))
        #expect(source(0x2001 << 48, 5) != source(0x2002 << 48, 5))
        func source(ipv4: UInt32) -> Source? { surroundings.source(of: Address(ipv4: ipv4, port: 1)) }
        #expect(source(ipv4: 0xC000_0201) != source(ipv4: 0xC000_0202))
        #expect(source(ipv4: 0x0A00_0005) != source(ipv4: 0x0A00_0006))
        #expect(source(ipv4: 0x0A00_0001) == .otherUsers)
        #expect(source(ipv4: 0x7F12_3456) == .otherUsers)
        #expect(source(ipv4: 0x0A09_0002) == .network(high: 0, low: 0xFFFF_0A09_0002))
        surroundings.ownAddresses = OwnAddresses([
            LocalNetwork(address: Address(ipv4: 0x0A09_0000, port: 0), prefixLength: 112)
        ])
        #expect(source(ipv4: 0x0A09_0002) == .otherUsers, "an address of an interface that the node leaves out")
    }

    @Test("other users of the host have 256 links, from however many addresses, and the node's own user any (L-53)")
    func ownHost() {
        var bench = Bench()
        for number in 0..<255 { bench.add(1, at: Address(ipv4: 0x7F00_0001 + UInt32(number), port: 9)) }
        bench.add(300, at: Bench.ownUsers)
        #expect(bench.room(at: VirtualLAN.address(0, port: 9)) == .free)
        let last = bench.add(1, at: VirtualLAN.address(0, port: 9))
        #expect(bench.room(at: Address(ipv4: 0x7F77_0001, port: 9)) == .none)
        #expect(bench.room(.met, at: Address(ipv4: 0x7F77_0001, port: 9)) == .inPlace(of: last))
        #expect(bench.room(.verified, at: Address(ipv4: 0x7F77_0001, port: 9)) == .free)
        #expect(bench.room(at: Bench.ownUsers) == .free)
        #expect(bench.room(at: Bench.host(2)) == .free)
    }

    @Test("links of the node's own user are of no source: others of a full table give way first (L-52)")
    func ownUserInFullTable() {
        var bench = Bench()
        bench.add(300, at: Bench.ownUsers)
        bench.fill(perSource: 60)
        #expect(bench.room(at: Bench.host(2)) != .none)
        guard case .inPlace(let former) = bench.room(at: Bench.ownUsers) else {
            Issue.record("no room")
            return
        }
        #expect(former.value > 300)
    }

    @Test("a key has eight links in a chat (L-53)")
    func key() {
        var bench = Bench()
        bench.add(7, .verified, key: 77)
        #expect(bench.room(.verified, key: 77) == .free)
        bench.add(1, .verified, key: 77)
        #expect(bench.room(.verified, key: 77) == .none)
        #expect(bench.room(.verified, in: Parts.otherChat, key: 77) == .free)
    }

    @Test("in a full table the youngest link of the lowest rank gives way to a higher one (L-52)")
    func ranks() {
        var bench = Bench()
        bench.surroundings.secretChats = [Parts.otherChat]
        bench.add(1, at: Bench.host(3), .verified)
        let stranger = bench.add(1, at: Bench.host(4))
        let met = bench.add(1, at: Bench.host(5), .met)
        while bench.links.count < Limits.linksPerNode - 1 { bench.add(1, at: Bench.host(6), .verified) }
        #expect(bench.room() == .free)
        let member = bench.add(1, in: Parts.otherChat, at: Bench.host(7))
        #expect(bench.room(.verified) == .inPlace(of: stranger))
        #expect(bench.room(.met) == .inPlace(of: stranger))
        #expect(bench.room(in: Parts.otherChat) == .inPlace(of: stranger))
        #expect(bench.room() == .none)
        _ = bench.links.remove(stranger)
        bench.add(1, at: Bench.host(6), .verified)
        #expect(bench.room(.verified) == .inPlace(of: member))
        #expect(bench.room(.met) == .none)
        _ = bench.links.remove(member)
        _ = bench.links.remove(met)
        bench.add(2, at: Bench.host(6), .verified)
        #expect(bench.room(.verified) == .none)
    }

    @Test("among equals the source with two more than the new one's gives way (L-52)")
    func largestSource() {
        var bench = Bench()
        bench.add(5, at: Bench.host(3))
        let youngest = bench.add(1, at: Bench.host(3))
        bench.add(4, at: Bench.host(2))
        while bench.links.count < Limits.linksPerNode { bench.add(1, at: Bench.ownUsers) }
        #expect(bench.room(at: Bench.host(2)) == .inPlace(of: youngest))
        #expect(bench.room(at: Bench.ownUsers) == .inPlace(of: youngest), "the own user counts as none")
        bench.links.remove(youngest).map { _ in _ = bench.add(1, at: Bench.ownUsers) }
        #expect(bench.room(at: Bench.host(2)) == .none, "5 and 4")
    }

    @Test("among equals the chat furthest over its share gives way to one below its own (L-52)", arguments: [1, 2])
    func shares(_ perSource: Int) {
        var bench = Bench()
        bench.chats = 4
        bench.add(100, in: Parts.otherChat, at: Bench.ownUsers)
        bench.fill(perSource: 1)
        let youngest = LinkID(value: 1_024)
        #expect(bench.room(in: Parts.otherChat) == .inPlace(of: youngest))
        #expect(bench.room() == .none)
        let third = ChatKeys(openName: "third").tag
        #expect(bench.room(in: third) == .inPlace(of: youngest))
        bench.chats = 1
        #expect(bench.room() == .none, "one chat has it all")
    }

    @Test("a member of one secret chat can't fill the table against the members of another (L-52)")
    func secretChats() {
        var bench = Bench()
        bench.chats = 2
        bench.surroundings.secretChats = [Parts.chat, Parts.otherChat]
        bench.fill(perSource: 1)
        #expect(bench.room(in: Parts.otherChat) == .inPlace(of: LinkID(value: 1_024)))
        #expect(bench.room(in: Parts.chat) == .none)
    }
}
