import InklingCore
import InklingWire

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
