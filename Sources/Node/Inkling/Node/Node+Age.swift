import NIOCore

/// The age of a node's state directory (R52).
struct NodeAge {
    var counter: AgeCounter
    var timer: Scheduled<Void>?

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

    /// Schedules the next write of the age, which comes each hour. The disk lacks at most an hour after a crash of the machine.
    ///
    /// - Parameter count: The number of writes so far.
    func scheduleAge(in delay: Duration = NodeLimits.firstAge, after count: Int = 0) {
        guard state.thread != nil, !isStopped else { return }
        nodeAge.timer?.cancel()
        nodeAge.timer = eventLoop.scheduleTask(in: TimeAmount(delay)) { [weak self] in
            self?.onLoop { $0.keepAge(after: count) }
        }
    }

    /// Writes the age, and renews the copy of the state with the first write and then each day.
    func keepAge(after count: Int) {
        changeState(isDecision: count % NodeLimits.ageStepsPerCopy == 0) { _ in }
        scheduleAge(in: NodeLimits.ageStep, after: count + 1)
    }

    /// Writes the age, which each change of the state has. A later run counts on without it, so a failure has no other
    /// effect.
    func writeAge() { changeState(isDecision: false) { _ in } }
}
