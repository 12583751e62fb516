/// The events that a front end gets, in addition to the outcomes of its own requests and messages.
package struct Subscription: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case peer, typing
        /// Messages, and the numbers of missed ones.
        case message
        case notice
    }

    package enum Chats: Hashable, Sendable {
        /// The chats that the front end is in.
        case own
        /// The chats that the node is in, including later ones.
        case all
        /// The chats with these names. The node need not be in them.
        case named(Set<String>)
    }

    private static let kindCount = Kind.allCases.count

    package var kinds: Set<Kind>
    package var chats: Chats

    package init(kinds: Set<Kind> = Set(Kind.allCases), chats: Chats = .own) {
        self.kinds = kinds
        self.chats = chats
    }

    /// Returns whether the front end wants events of a kind in a chat.
    ///
    /// - Parameter isMember: Whether the front end is in the chat.
    package func wants(_ kind: Kind, in chat: String, isMember: Bool) -> Bool {
        // Hashing takes 300 instructions, and most front ends want all kinds.
        guard kinds.count == Self.kindCount || kinds.contains(kind) else { return false }
        return switch chats {
        case .own: isMember
        case .all: true
        case .named(let names): names.contains(chat)
        }
    }

    /// Returns whether the front end wants a notice. After a choice of chats, a notice about another chat is unwanted.
    package func wants(_ notice: Notice) -> Bool {
        guard kinds.contains(.notice) else { return false }
        guard case .named(let names) = chats, let chat = notice.chat else { return true }
        return names.contains(chat)
    }

    /// Returns whether the front end wants an event.
    ///
    /// - Parameter isMember: Returns whether the front end is in a chat.
    package func wants(_ event: Event, isMember: (String) -> Bool) -> Bool {
        func wants(_ kind: Kind, in chat: String) -> Bool { self.wants(kind, in: chat, isMember: isMember(chat)) }
        return switch event {
        case .peer(let change): wants(.peer, in: change.chat)
        case .typing(let chat, _): wants(.typing, in: chat)
        case .message(let message): wants(.message, in: message.chat)
        case .missed(let missed): missed.outcomes > 0 || wants(.message, in: missed.chat)
        case .notice(let notice): self.wants(notice)
        case .delivered, .failed, .waiting: true
        }
    }
}
