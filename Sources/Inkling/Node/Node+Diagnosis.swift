import InklingCore
import InklingWire

/// Somebody discovery has found in a chat, whether they answer or not.
package struct Sighting: Hashable, Sendable {
    /// The name of the instance: it reveals nothing about the person.
    package let instance: String
    package let user: UserID
    /// Where it is, each as HOST:PORT or [IPV6]:PORT.
    package let addresses: [String]
    /// Whether it is this user, here or on another device.
    package let isOneself: Bool
    /// Whether it has answered, and is there.
    package let isLinked: Bool
}

/// What a chat's discovery has found: for those who look into why somebody does not show.
extension Node {
    struct FoundInstance {
        let key: PublicKey
        let addresses: [Address]
    }

    /// The own instance's name in a chat.
    package func instance(in chat: String) -> String? { joined.first { $0.chat.name == chat }?.instance }

    /// All who are announced in a chat, in the order of their instances; empty for a chat that the node is not in.
    package func sightings(in chat: String) -> [Sighting] {
        guard let entry = joined.first(where: { $0.chat.name == chat }) else { return [] }
        return (found[entry.keys.tag] ?? [:]).map { instance, found in
            let presence = met[chat]?[found.key]?.presence ?? .offline
            return Sighting(
                instance: instance, user: found.key.userID, addresses: found.addresses.map(\.peerText),
                isOneself: found.key == ownKey, isLinked: presence != .offline)
        }.sorted { $0.instance < $1.instance }
    }
}
