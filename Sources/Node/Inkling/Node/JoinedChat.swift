import InklingCore
import InklingModel
import InklingWire

/// The stay of a node in a chat, from joining to leaving, also while the chat moves. Another stay in the same chat has another object.
final class Membership: Sendable {}

/// One chat that a node is in, and the people there.
package final class JoinedChat {
    let chat: Chat
    let keys: ChatKeys
    /// The chat's name in the file of known peers.
    let storedName: String
    /// The instance name of the first advertisement.
    let instance: String
    let joinedAt: Instant
    /// The node's stay in the chat, by which handles recognise it.
    let membership: Membership
    /// All people met there, in this run or an earlier one.
    package private(set) var met: [PublicKey: MetPeer] = [:]
    /// The instances that discovery lists.
    var found: [String: FoundInstance] = [:]
    /// The texts on disk; nil if no text waits in the chat.
    var texts: ChatTexts?
    /// Whether the chat moved while its successor was there under another name, or after the user left the newest chat.
    /// The name then stays without people until the user leaves it.
    var hasEnded = false
    /// Whether the node follows the chat's owner to a successor. The byes that come now say nothing about who moves.
    var isFollowing = false

    /// A person met in the chat, who may have left.
    package struct MetPeer {
        let user: UserID
        var name: String
        var presence: Presence
        /// When the person came; or when they were last there, if they are not.
        var since: Timestamp
        /// The age at which the person was last there; for a person who is there, the age at which they came.
        var seen: Age
        /// The time of day at the start of the machine, by the clock that `since` is from; nil for a time of an earlier
        /// run.
        var clock: Double?

        var isThere: Bool { presence != .offline }

        /// Returns `since` by a clock that was perhaps set in the meantime.
        ///
        /// - Parameter clock: The time of day at the start of the machine, by the clock as it is now.
        package func since(by clock: Double) -> Timestamp {
            let shift = clock - (self.clock ?? clock)
            // Smaller steps of a clock are not worth another time.
            return abs(shift) < 2 ? since : Timestamp(rawValue: since.rawValue + shift)
        }
    }

    struct FoundInstance {
        let key: PublicKey
        let addresses: [Address]
    }

    package convenience init(_ chat: Chat, keys: ChatKeys, instance: String, at now: Instant) {
        self.init(chat, keys: keys, instance: instance, membership: Membership(), at: now)
    }

    /// The chat for a stay that may have begun in another chat.
    init(_ chat: Chat, keys: ChatKeys, instance: String, membership: Membership, at now: Instant) {
        self.chat = chat
        self.keys = keys
        storedName = chat.storedName
        self.instance = instance
        self.membership = membership
        joinedAt = now
    }

    /// Returns whether the node may not have found all people there yet.
    package func isLooking(at now: Instant) -> Bool { now - joinedAt < NodeLimits.looking }

    var name: String { chat.name }
    var id: ChatID { keys.id }
    /// The people who are present now.
    var present: [PublicKey: MetPeer] { met.filter(\.value.isThere) }

    /// Adds a person met in an earlier run, who is offline since they were last seen there.
    func recall(_ key: PublicKey, name: String, lastSeen: Timestamp, seen: Age, clock: Double? = nil) {
        met[key] = MetPeer(
            user: key.userID, name: name, presence: .offline, since: lastSeen, seen: seen, clock: clock)
    }

    /// Records the presence and name of a person.
    ///
    /// - Parameter clock: The time of day at the start of the machine.
    /// - Returns: Whether the person was there before, and their record now.
    package func note(
        _ person: InklingCore.Person, _ presence: Presence, at now: Timestamp, age: Age,
        clock: Double? = nil
    ) -> (wasThere: Bool, peer: MetPeer) {
        let before = met[person.key]
        let wasThere = before?.isThere ?? false
        let isThere = presence != .offline
        let peer = MetPeer(
            user: before?.user ?? person.key.userID, name: person.name, presence: presence,
            since: wasThere == isThere ? before?.since ?? now : now,
            seen: wasThere == isThere ? before?.seen ?? age : age,
            clock: wasThere == isThere && before != nil ? before?.clock : clock)
        met[person.key] = peer
        return (wasThere, peer)
    }

    /// Forgets people who are offline, beyond the places that the chat has. It never forgets verified people. Of
    /// those met on several days, and of newcomers, it forgets whom the user knows least. So throwaway keys displace only
    /// each other and other newcomers who were there for a shorter time.
    package func forgetSome(in known: KnownPeers) {
        guard met.count > NodeLimits.rememberedNewcomers else { return }
        var (regulars, newcomers): ([PublicKey], [PublicKey]) = ([], [])
        for (key, peer) in met where !peer.isThere {
            switch known.standings[key] {
            case .verified: break
            case .met: regulars.append(key)
            case .stranger, nil: newcomers.append(key)
            }
        }
        forget(regulars, but: NodeLimits.rememberedPeers, in: known)
        forget(newcomers, but: NodeLimits.rememberedNewcomers, in: known)
    }

    private func forget(_ people: [PublicKey], but places: Int, in known: KnownPeers) {
        guard people.count > places else { return }
        let ranks = people.map { key in
            let entry = known[key]
            return (
                days: entry?.days.count ?? 0, together: entry?.together ?? .zero, seen: met[key]?.seen ?? .zero,
                key: key
            )
        }
        let lowest = ranks.sorted {
            ($0.days, $0.together, $0.seen, $0.key) < ($1.days, $1.together, $1.seen, $1.key)
        }
        for person in lowest.prefix(people.count - places) { met[person.key] = nil }
    }
}
