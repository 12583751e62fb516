import NIOCore

/// The age of a node's state directory (R52), and its file.
struct NodeAge {
    var counter: AgeCounter
    /// Nil if the node does not write the file.
    let file: AgeFile?
    var timer: Scheduled<Void>?

    init(_ opening: AgeFile.Opening) { (counter, file) = (opening.counter, opening.file) }
}

extension Node {
    /// Returns the age of the state directory. The age decides when a wait ends, because the time of day may be wrong.
    func age() -> Age { nodeAge.counter.advance(to: configuration.clocks()) }

    /// Returns the time of day at the start of the machine, by the clock as it is now.
    func clockAtBoot() -> Double {
        let now = configuration.clocks()
        return now.timeOfDay.rawValue - now.sinceBoot / .seconds(1)
    }

    /// Writes the age now and each hour. The file lacks at most an hour after a crash of the machine.
    func keepAge() {
        writeAge()
        guard nodeAge.file != nil, !isStopped else { return }
        nodeAge.timer = eventLoop.scheduleTask(in: TimeAmount(NodeLimits.ageStep)) { [weak self] in
            self?.onLoop { $0.keepAge() }
        }
    }

    /// Writes the age. A later run counts on without it, so a failure has no other effect.
    func writeAge() {
        _ = age()
        guard let file = nodeAge.file else { return }
        let counter = nodeAge.counter
        _ = worker.run(on: eventLoop) { _ = file.write(counter) }
    }
}
