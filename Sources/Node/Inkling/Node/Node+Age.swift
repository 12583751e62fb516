import NIOCore

/// The age of a node's state directory (R52).
struct NodeAge {
    var counter: AgeCounter
    var timer: Scheduled<Void>?
    /// The hours since the copy of the state was last renewed; nil at the start.
    var hours: Int?

    init(_ counter: AgeCounter) { self.counter = counter }
}

extension Node {
    /// Returns the age of the state directory. The age decides when a wait ends, because the time of day may be wrong.
    func age() -> Age { nodeAge.counter.advance(to: configuration.clocks()) }

    /// Returns the time of day at the start of the machine, by the clock as it is now.
    func clockAtBoot() -> Double {
        let now = configuration.clocks()
        return now.timeOfDay.rawValue - now.sinceBoot / .seconds(1)
    }

    /// Writes the age now and each hour, and renews the copy of the state each day. The disk lacks at most an hour after a
    /// crash of the machine.
    func keepAge() {
        writeAge()
        guard state.thread != nil, !isStopped else { return }
        nodeAge.timer = eventLoop.scheduleTask(in: TimeAmount(NodeLimits.ageStep)) { [weak self] in
            self?.onLoop { $0.keepAge() }
        }
    }

    /// Writes the age, which each change of the state has. A later run counts on without it, so a failure has no other
    /// effect.
    func writeAge() {
        let isDaily = nodeAge.hours.map { $0 >= 24 } ?? true
        nodeAge.hours = isDaily ? 0 : (nodeAge.hours ?? 0) + 1
        changeState(isDecision: isDaily) { _ in }
    }
}
