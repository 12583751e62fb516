/// What a person's presence reads like (R23).
package enum PresenceText {
    package static let online = "Active now"
    package static let away = "Away"

    /// The text for somebody who is offline.
    ///
    /// - Parameter age: how long ago the person was last seen; `nil` if nobody knows.
    package static func lastSeen(age: Duration?) -> String {
        guard let age else { return "Last seen recently" }
        switch age.components.seconds {
        case ..<60: return "Last seen just now"
        case ..<300: return "\(age.components.seconds / 60)m ago"
        case ..<3_600: return "Active recently"
        case ..<86_400: return "Last seen today"
        default: return "Last seen recently"
        }
    }
}
