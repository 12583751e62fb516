import InklingModel

/// The text that reports whether a person is present, such as "Active now" or "5m ago".
public enum PresenceText {
    /// The text for a person who is online.
    public static let online = "Active now"
    /// The text for a person who is away.
    public static let away = "Away"

    /// The text for a person who is offline.
    ///
    /// - Parameter age: The time since the person was last seen; nil if unknown. Below -1 min, the clock was ahead when
    ///   the person was last seen, and the time is unknown too.
    public static func lastSeen(age: Duration?) -> String {
        guard let age, age.components.seconds > -60 else { return "Last seen recently" }
        switch age.components.seconds {
        case ..<60: return "Last seen just now"
        case ..<300: return "\(age.components.seconds / 60)m ago"
        case ..<3_600: return "Active recently"
        case ..<86_400: return "Last seen today"
        default: return "Last seen recently"
        }
    }

    /// The text for a person with that presence.
    ///
    /// - Parameters:
    ///   - presence: Whether they can be reached.
    ///   - seen: When they were last there; nil while they are there, or if that is not known.
    ///   - now: The time of day.
    public static func text(_ presence: Presence, lastSeen seen: Timestamp?, now: Timestamp) -> String {
        switch presence {
        case .online: online
        case .away: away
        case .offline: lastSeen(age: seen.map { .seconds(min(max(now.seconds(since: $0), -1e9), 1e9)) })
        }
    }
}
