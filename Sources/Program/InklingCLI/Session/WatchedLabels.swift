import InklingModel
import InklingText

/// The labels of `watch`, which may run for months. There are labels for people who are present, verified or met
/// before, and for the last strangers who left.
package struct WatchedLabels {
    /// The most strangers who have left and still have a label.
    package static let strangers = 256
    /// The most people met before who have left and still have a label.
    package static let met = 1_024
    /// The age from which a key counts as met.
    private static let acquainted = Duration.seconds(86_400)

    private enum Standing {
        case stranger, met, verified
    }

    private var labels: Labels
    private var present: [UserID: Standing] = [:]
    /// The strangers who left, the earliest first.
    private var goneStrangers: [UserID] = []
    private var goneMet: [UserID] = []

    package init(ownName: String) { labels = Labels(ownName: ownName) }

    package mutating func setOwnName(_ name: String) { labels.setOwnName(name) }

    /// Returns the label of a person; "Someone" for a person without one.
    package func label(of user: UserID) -> Labels.Label { labels.label(of: user.description) }

    /// Replaces the people present. A node that joined again reports all of them.
    package mutating func join(_ peers: [Peer], now: Timestamp) {
        let gone = Set(present.keys).subtracting(peers.filter { $0.presence != .offline }.map(\.user))
        for user in gone.sorted(by: { $0.description < $1.description }) { leave(user, present[user] ?? .stranger) }
        for peer in peers { update(peer, now: now) }
    }

    /// Applies the presence and the name of a person.
    package mutating func update(_ peer: Peer, now: Timestamp) {
        labels.update(Labels.Person(peer))
        let isMet = peer.firstSeen.map { $0 <= now - Self.acquainted } ?? false
        let standing: Standing = peer.isVerified ? .verified : isMet ? .met : .stranger
        if peer.presence == .offline { return leave(peer.user, standing) }
        forget(peer.user)
        present[peer.user] = standing
    }

    /// Makes a label for a person about whom the node reports nothing else.
    package mutating func meet(_ person: Person) {
        guard !labels.contains(person.user.description) else { return }
        labels.update(Labels.Person(person))
        leave(person.user, .stranger)
    }

    private mutating func forget(_ user: UserID) {
        goneStrangers.removeAll { $0 == user }
        goneMet.removeAll { $0 == user }
    }

    private mutating func leave(_ user: UserID, _ standing: Standing) {
        present[user] = nil
        forget(user)
        switch standing {
        case .verified: break
        case .met:
            goneMet.append(user)
            if goneMet.count > Self.met { labels.remove(goneMet.removeFirst().description) }
        case .stranger:
            goneStrangers.append(user)
            if goneStrangers.count > Self.strangers { labels.remove(goneStrangers.removeFirst().description) }
        }
    }
}
