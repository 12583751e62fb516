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
    /// The own instance's name in a chat.
    package func instance(in chat: String) -> String? { joinedChat(chat)?.instance }

    /// All who are announced in a chat, in the order of their instances; empty for a chat that the node is not in.
    package func sightings(in chat: String) -> [Sighting] {
        guard let entry = joinedChat(chat) else { return [] }
        return entry.found.map { instance, found in
            Sighting(
                instance: instance, user: found.key.userID, addresses: found.addresses.map(\.peerText),
                isOneself: found.key == ownKey, isLinked: entry.met[found.key]?.isThere ?? false)
        }.sorted { $0.instance < $1.instance }
    }
}
