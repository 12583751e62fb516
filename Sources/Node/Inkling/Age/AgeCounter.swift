import InklingModel

/// The count of a state directory's age, over starts of the machine and changes of its clock.
///
/// While the machine runs, the age grows by the kernel's time since the start of the machine, which includes sleep. Over
/// a restart, the age grows by the part of that time alone. Once the kernel reports a synchronised clock, the age also
/// grows by the time that the machine was off. For that, the count remembers the last moment with a synchronised clock.
///
/// So a wrong clock can make the age too low, which lengthens a wait. No clock makes the age too high.
package struct AgeCounter: Hashable, Sendable {
    /// The clocks of the machine at one moment.
    package struct Reading: Hashable, Sendable {
        /// The kernel's random name for the time from one start of the machine to the next.
        package var boot: String
        /// The time since the start of the machine, sleep included.
        package var sinceBoot: Duration
        package var timeOfDay: Timestamp
        /// Whether the kernel reports that the time of day is synchronised.
        package var isSynchronised: Bool

        package init(boot: String, sinceBoot: Duration, timeOfDay: Timestamp, isSynchronised: Bool) {
            (self.boot, self.sinceBoot, self.timeOfDay, self.isSynchronised) =
                (boot, sinceBoot, timeOfDay, isSynchronised)
        }
    }

    /// A moment at which the time of day was synchronised.
    package struct Anchor: Hashable, Sendable {
        package let age: Age
        package let timeOfDay: Timestamp

        package init(age: Age, timeOfDay: Timestamp) {
            (self.age, self.timeOfDay) = (age, timeOfDay)
        }
    }

    package private(set) var age: Age
    package private(set) var boot: String
    /// The time since the start of the machine when the count was last made, in whole milliseconds.
    package private(set) var sinceBoot: Int64
    /// The last moment with a synchronised clock; nil if there was none.
    package private(set) var anchor: Anchor?
    /// Whether time may have passed since the anchor that the age lacks.
    package private(set) var hasGap: Bool

    /// A count that begins now.
    package init(_ reading: Reading) {
        self.init(
            age: .zero, boot: reading.boot, sinceBoot: reading.sinceBoot.milliseconds,
            anchor: reading.isSynchronised ? Anchor(age: .zero, timeOfDay: reading.timeOfDay) : nil, hasGap: false)
    }

    /// The count of an earlier run.
    package init(age: Age, boot: String, sinceBoot: Int64, anchor: Anchor?, hasGap: Bool) {
        (self.age, self.boot, self.sinceBoot, self.anchor, self.hasGap) = (age, boot, sinceBoot, anchor, hasGap)
    }

    /// Counts to a moment, and returns its age.
    @discardableResult
    package mutating func advance(to now: Reading) -> Age {
        // Whole milliseconds of one clock add up. Rounded differences would not.
        let running = now.sinceBoot.milliseconds
        if now.boot != boot {
            age = age.moved(by: Double(max(running, 0)))
            hasGap = true
        } else if running >= sinceBoot {
            age = age.moved(by: Double(running - sinceBoot))
        } else {
            // The machine is a restored copy of an earlier state, and the disk is not.
            hasGap = true
        }
        (boot, sinceBoot) = (now.boot, running)
        if now.isSynchronised {
            if hasGap, let anchor {
                age = max(age, anchor.age.moved(by: now.timeOfDay.seconds(since: anchor.timeOfDay) * 1_000))
            }
            anchor = Anchor(age: age, timeOfDay: now.timeOfDay)
            hasGap = false
        }
        return age
    }

    /// Records that the nodes of this state directory have counted this age before, so that now is no earlier. The file of
    /// the count may be lost, or an hour old.
    package mutating func advance(toAtLeast known: Age) {
        guard known > age else { return }
        age = known
        hasGap = true
    }

    /// Returns the age of a time of day that an earlier build recorded, at most the beginning of the count. The result is
    /// the beginning if the clock was never synchronised.
    package func age(ofEarlier time: Timestamp) -> Age {
        guard let anchor else { return .zero }
        return min(anchor.age.moved(by: time.seconds(since: anchor.timeOfDay) * 1_000), .zero)
    }
}
