import InklingModel

/// What a person's presence reads like (R23).
public enum PresenceText {
    /// Of somebody who is there.
    public static let online = "Active now"
    /// Of somebody who says that they are elsewhere.
    public static let away = "Away"

    /// The text for somebody who is offline.
    ///
    /// - Parameter age: how long ago the person was last seen; `nil` if nobody knows.
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

    /// The text for somebody with that presence.
    ///
    /// - Parameters:
    ///   - lastSeen: when they were last there, in seconds since 1970; nil if nobody knows, or while they are.
    ///   - now: the time, in seconds since 1970.
    public static func text(_ presence: Presence, lastSeen seen: Double?, now: Double) -> String {
        switch presence {
        case .online: online
        case .away: away
        case .offline: lastSeen(age: seen.map { .seconds(max(now - $0, 0)) })
        }
    }
}
