import InklingCore
import InklingModel
import InklingWire

/// The stay of a node in a chat, from joining to leaving. Another stay in the same chat is another object.
final class Membership: Sendable {}

/// One chat that a node is in, and what the node knows of the people there.
package final class JoinedChat {
    let chat: Chat
    let keys: ChatKeys
    /// What the file of known peers calls it.
    let storedName: String
    /// The instance name that was asked for first.
    let instance: String
    let joinedAt: Instant
    /// This stay of the node in the chat, for handles on it.
    let membership = Membership()
    /// Everybody who was met there, in this run or an earlier one.
    private(set) var met: [PublicKey: MetPeer] = [:]
    /// What discovery lists, by instance.
    var found: [String: FoundInstance] = [:]

    /// What is known of somebody, also once they went.
    struct MetPeer {
        let user: UserID
        let key: String
        var name: String
        var presence: InklingCore.Presence
        var since: Double

        var isThere: Bool { presence != .offline }
    }

    struct FoundInstance {
        let key: PublicKey
        let addresses: [Address]
    }

    package init(_ chat: Chat, keys: ChatKeys, instance: String, at now: Instant) {
        self.chat = chat
        self.keys = keys
        storedName = chat.storedName
        self.instance = instance
        joinedAt = now
    }

    /// Whether people who are there may not have been found yet.
    package func isLooking(at now: Instant) -> Bool { now - joinedAt < NodeLimits.looking }

    var name: String { chat.name }
    var id: ChatID { keys.id }
    /// Those who are there.
    var present: [PublicKey: MetPeer] { met.filter(\.value.isThere) }

    /// Somebody who was met in an earlier run is offline, since they were last seen there.
    func recall(_ key: PublicKey, name: String, lastSeen: Double) {
        met[key] = MetPeer(
            user: key.userID, key: key.base64url, name: name, presence: .offline, since: lastSeen)
    }

    /// Somebody's presence or name changed. Of those who went only the last are remembered.
    ///
    /// - Returns: Whether they were there before, and what is known of them now.
    func note(
        _ person: InklingCore.Person, _ presence: InklingCore.Presence, at now: Double
    ) -> (wasThere: Bool, peer: MetPeer) {
        let before = met[person.key]
        let wasThere = before?.isThere ?? false
        let isThere = presence != .offline
        let peer = MetPeer(
            user: before?.user ?? person.key.userID, key: before?.key ?? person.key.base64url, name: person.name,
            presence: presence, since: wasThere == isThere ? before?.since ?? now : now)
        met[person.key] = peer
        if !isThere { forgetSome() }
        return (wasThere, peer)
    }

    private func forgetSome() {
        guard met.count > NodeLimits.rememberedPeers else { return }
        let gone = met.filter { !$0.value.isThere }
        guard gone.count > NodeLimits.rememberedPeers else { return }
        let oldest = gone.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        for (key, _) in oldest.prefix(gone.count - NodeLimits.rememberedPeers / 2) { met[key] = nil }
    }
}
