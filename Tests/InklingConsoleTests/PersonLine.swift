import InklingConsole
import InklingText

extension ChatLines {
    /// One person in the answer to /who, without columns.
    static func person(
        _ label: Labels.Label, presence: String, since: LocalTime? = nil, roundTrip: Duration? = nil,
        isVerified: Bool = false, isMuted: Bool = false
    ) -> Line {
        let person = Presence(
            label: label, presence: presence, since: since, roundTrip: roundTrip, isVerified: isVerified,
            isMuted: isMuted)
        return people([person], columns: nil, today: LocalTime.Day(year: 2026, month: 3, day: 3))[0]
    }
}
