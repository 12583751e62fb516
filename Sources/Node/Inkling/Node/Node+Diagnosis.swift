import InklingCore
import InklingWire

/// The results of a chat's discovery, to diagnose why a person does not show.
extension Node {
    /// Returns the name of the node's own instance in a chat.
    package func instance(in chat: String) -> String? { joinedChat(chat)?.instance }

    /// Returns all instances announced in a chat, in order; empty for a chat that the node is not in.
    package func sightings(in chat: String) -> [Sighting] {
        guard let entry = joinedChat(chat) else { return [] }
        return entry.found.map { instance, found in
            Sighting(
                instance: instance, user: found.key.userID, addresses: found.addresses.map(\.peerText),
                isOneself: found.key == ownKey, isLinked: entry.met[found.key]?.isThere ?? false)
        }.sorted { $0.instance < $1.instance }
    }
}
