/// Something that happened in a chat or to the node.
public enum Event: Sendable, Hashable {
    /// A presence changed. `why` is one of hello, back, away, bye, will, silence, blocked and replaced.
    case peer(chat: String, Person, Presence, why: String)
    /// Who is typing: the whole list, in the order in which to name them, on each change.
    case typing(chat: String, [Person])
    /// A message came, whole and in order. `number` counts the messages that this node received.
    case message(chat: String, from: Person, number: UInt64, text: String)
    /// A message of ours was acknowledged whole.
    case delivered(chat: String, message: UInt64, user: UserID)
    /// A message of ours is not known to be delivered. `why` is one of bye, will, silence, left, blocked, replaced,
    /// lost-state, stalled and quit.
    case failed(chat: String, message: UInt64, user: UserID, why: String)
    /// Something that a person may want to know, or its end: discovery-down and discovery-up, identity-temporary,
    /// last-will-off, peer-is-oneself; key-changed, just before the ``peer(chat:_:_:why:)`` of who comes under a name
    /// that is known with another key; known-peers-damaged, known-peers-newer and known-peers-unkept. The text may hold
    /// names as their owners sent them.
    case notice(code: String, text: String)
}

/// An event, and when the node learned of it.
public struct TimedEvent: Sendable, Hashable {
    /// Seconds since 1970, with microseconds.
    public let at: Double
    /// What happened.
    public let event: Event
}
