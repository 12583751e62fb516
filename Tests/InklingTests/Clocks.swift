import Inkling
import InklingModel
import Synchronization

/// The clocks of a machine, which a test sets.
final class Clocks: Sendable {
    private let now = Mutex(
        AgeCounter.Reading(boot: "first", sinceBoot: .seconds(100), timeOfDay: 1.8e9, isSynchronised: true))

    var reading: AgeCounter.Reading { now.withLock(\.self) }

    func pass(_ time: Duration) {
        now.withLock { now in
            now.sinceBoot += time
            now.timeOfDay = Timestamp(rawValue: now.timeOfDay.rawValue + time / .seconds(1))
        }
    }

    /// Starts the machine again with a wrong clock.
    func reboot(ahead seconds: Double) {
        now.withLock { now in
            let time = Timestamp(rawValue: now.timeOfDay.rawValue + seconds)
            now = AgeCounter.Reading(boot: "second", sinceBoot: .seconds(20), timeOfDay: time, isSynchronised: false)
        }
    }
}
