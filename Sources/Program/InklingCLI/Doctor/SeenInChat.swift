import Inkling
import InklingModel
import InklingText

/// Who was seen in a chat, without the user's own nodes.
package struct SeenInChat {
    /// Who is there, by name.
    package let present: [Peer]
    /// Who is announced, and does not answer.
    package let silent: [Sighting]
    /// How many are announced in other chats, on other machines.
    package let elsewhere: Int
    /// The identities of the user's that have another node there.
    package let ownNodes: Set<UserID>
    private let blocked: [UserID]
    private let here: Set<UserID>
    private var labels: Labels
    private let named: Set<UserID>

    /// - Parameters:
    ///   - people: who is in the chat, or was met there before.
    ///   - known: who was met anywhere.
    ///   - sightings: who is announced in the chat.
    ///   - elsewhere: how many are announced in other chats, on other machines.
    ///   - own: the identities of the user.
    ///   - ownName: the user's name.
    ///   - ownAddresses: those of this machine, without ports.
    package init(
        people: [Peer], known: [KnownPeer], sightings: [Sighting], elsewhere: Int, own: Set<UserID>, ownName: String,
        ownAddresses: Set<String>
    ) {
        let others = people.filter { !own.contains($0.user) }
        let sighted = sightings.filter { !$0.isOneself && !own.contains($0.user) }
        let blocked = Set(known.filter(\.isBlocked).map(\.user) + others.filter(\.isBlocked).map(\.user))
        present = others.filter { $0.presence != .offline }
        silent = sighted.filter { !$0.isLinked && !blocked.contains($0.user) }
        self.blocked = sighted.map(\.user).filter { blocked.contains($0) }
        self.elsewhere = elsewhere
        ownNodes = Set(
            people.filter { own.contains($0.user) && $0.presence != .offline }.map(\.user)
                + sightings.filter { $0.isOneself || own.contains($0.user) }.map(\.user))
        here = Set(sighted.filter { $0.addresses.contains { ownAddresses.contains(Self.host($0)) } }.map(\.user))
        labels = Labels(ownName: ownName, others)
        var named = Set(others.map(\.user))
        for peer in known where !named.contains(peer.user) && sighted.contains(where: { $0.user == peer.user }) {
            guard let name = peer.names.first else { continue }
            named.insert(peer.user)
            labels.update(
                Labels.Person(
                    user: peer.user.description, name: name, acquaintance: .known, isVerified: peer.isVerified))
        }
        self.named = named
    }

    init(_ sights: DoctorSession.Sights, own: Set<UserID>, ownName: String) {
        self.init(
            people: sights.people, known: sights.known, sightings: sights.sightings, elsewhere: sights.elsewhere,
            own: own,
            ownName: ownName,
            ownAddresses: Set(Interfaces.all().flatMap { $0.networks.map { Self.host($0.address.peerText) } }))
    }

    /// Those who are there, and not on this machine: they show that the network works.
    package var elsewhereOnNetwork: [Peer] { present.filter { !here.contains($0.user) } }

    /// What a doctor says of those who are there, and of those whom the user has blocked.
    package var answering: [Finding] {
        present.map { peer in
            let time = peer.roundTrip.map { ", round trip \($0.millisecondText)" } ?? ""
            return .ok(
                "peers", "\(label(of: peer.user)) answers\(here.contains(peer.user) ? " on this machine" : "")\(time)")
        }
            + blocked.map { .note("peers", "\(label(of: $0)) is announced, and you have blocked them") }
    }

    /// What somebody is called, as elsewhere; by the identity alone where no name is known.
    package func label(of user: UserID) -> String {
        named.contains(user) ? labels.label(of: user.description).marked : "somebody you have not met (\(user))"
    }

    /// An address without its port, and without the interface of a link-local one.
    private static func host(_ address: String) -> String {
        String(
            address[..<(address.lastIndex(of: ":") ?? address.endIndex)].filter { !"[]".contains($0) }.prefix {
                $0 != "%"
            })
    }
}
