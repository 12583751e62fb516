import InklingModel

/// The text that reports whether a person is present, such as "Active now" or "5m ago".
public enum PresenceText {
    /// The text for a person who is online.
    public static let online = "Active now"
    /// The text for a person who is away.
    public static let away = "Away"

    /// The text for a person who is offline.
    ///
    /// - Parameter age: The time since the person was last seen; nil if unknown.
    public static func lastSeen(age: Duration?) -> String {
        guard let age else { return "Last seen recently" }
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
    ///   - presence: The presence of the person.
    ///   - seen: The time when the person was last there, in seconds since 1970; nil while the person is there, or if
    ///     unknown.
    ///   - now: The time of day, in seconds since 1970.
    public static func text(_ presence: Presence, lastSeen seen: Double?, now: Double) -> String {
        switch presence {
        case .online: online
        case .away: away
        case .offline: lastSeen(age: seen.map { .seconds(max(now - $0, 0)) })
        }
    }
}
