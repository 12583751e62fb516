import InklingCore
import InklingModel
import InklingWire

/// The open invitations of a node (M-47, M-48).
package struct Invitations {
    private struct Entry {
        let invitation: Invitation
        let chat: Chat
        let id: ChatID
        /// Whether the user has verified or met the sender.
        let isKnown: Bool
    }

    private var entries: [Entry] = []
    private var last = 0

    package init() {}

    /// The open invitations, the oldest first.
    package var all: [Invitation] { entries.map(\.invitation) }

    /// Returns the chat of an open invitation.
    package func chat(of number: Int) -> Chat? { entries.first { $0.invitation.number == number }?.chat }

    /// Adds an invitation, unless the same person's invitation to that chat is open or no room is left.
    ///
    /// - Parameters:
    ///   - isKnown: Whether the user has verified or met the sender.
    ///   - make: Makes the invitation with its number.
    /// - Returns: The invitation, and the one that made room for it; nil if it was not added.
    package mutating func add(
        to chat: Chat, of key: PublicKey, isKnown: Bool, make: (_ number: Int) -> Invitation
    ) -> (added: Invitation, replaced: Invitation?)? {
        let id = chat.keys.id
        guard !entries.contains(where: { $0.id == id && $0.invitation.key == key }) else { return nil }
        var replaced: Invitation?
        if isKnown, entries.count >= Limits.invitations {
            guard let oldest = entries.firstIndex(where: { !$0.isKnown }) else { return nil }
            replaced = entries.remove(at: oldest).invitation
        }
        let hasShare = isKnown || entries.count(where: { !$0.isKnown }) < Limits.invitationsOfOthers
        guard hasShare, entries.count < Limits.invitations else { return nil }
        last += 1
        let invitation = make(last)
        entries.append(Entry(invitation: invitation, chat: chat, id: id, isKnown: isKnown))
        return (invitation, replaced)
    }

    /// Removes the invitation with that number.
    ///
    /// - Returns: Whether it was open.
    package mutating func remove(_ number: Int) -> Bool {
        guard let index = entries.firstIndex(where: { $0.invitation.number == number }) else { return false }
        entries.remove(at: index)
        return true
    }

    /// Removes the invitations to a chat.
    ///
    /// - Returns: Their numbers.
    package mutating func remove(to chat: ChatID) -> [Int] { removeAll { $0.id == chat } }

    /// Removes the invitations of a person.
    ///
    /// - Returns: Their numbers.
    package mutating func remove(of user: UserID) -> [Int] { removeAll { $0.invitation.sender.user == user } }

    private mutating func removeAll(where isRemoved: (Entry) -> Bool) -> [Int] {
        defer { entries.removeAll(where: isRemoved) }
        return entries.filter(isRemoved).map(\.invitation.number)
    }
}
