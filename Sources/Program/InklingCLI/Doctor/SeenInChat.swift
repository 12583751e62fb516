import Inkling
import InklingModel
import InklingText

/// The people seen in a chat, without the user's own nodes.
package struct SeenInChat {
    /// The people in the chat, by name.
    package let present: [Peer]
    /// The announced nodes that do not answer.
    package let silent: [Sighting]
    /// The number of nodes on other machines announced in other chats.
    package let elsewhere: Int
    /// The identities of the user that have another node in the chat.
    package let ownNodes: Set<UserID>
    private let blocked: [UserID]
    private let here: Set<UserID>
    private var labels: Labels
    private let named: Set<UserID>

    /// - Parameters:
    ///   - people: the people in the chat or met there before.
    ///   - known: the people met in any chat.
    ///   - sightings: the nodes announced in the chat.
    ///   - elsewhere: the number of nodes on other machines announced in other chats.
    ///   - own: the identities of the user on this machine.
    ///   - ownName: the user's name.
    ///   - ownAddresses: the addresses of this machine, without ports.
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

    /// The people present on other machines. They prove that the network works.
    package var elsewhereOnNetwork: [Peer] { present.filter { !here.contains($0.user) } }

    /// The doctor's findings about the people present, and about blocked ones.
    package var answering: [Finding] {
        present.map { peer in
            let time = peer.roundTrip.map { ", round trip \($0.millisecondText)" } ?? ""
            return .ok(
                "peers", "\(label(of: peer.user)) answers\(here.contains(peer.user) ? " on this machine" : "")\(time)")
        }
            + blocked.map { .note("peers", "\(label(of: $0)) is announced, and you have blocked them") }
    }

    /// Returns the label of a person, or the user ID if the name is unknown.
    package func label(of user: UserID) -> String {
        named.contains(user) ? labels.label(of: user.description).marked : "somebody you have not met (\(user))"
    }

    /// Returns an address without its port, and without the interface of a link-local address.
    private static func host(_ address: String) -> String {
        String(
            address[..<(address.lastIndex(of: ":") ?? address.endIndex)].filter { !"[]".contains($0) }.prefix {
                $0 != "%"
            })
    }
}
