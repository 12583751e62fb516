/// The choice of sightings to keep when the table has no room for all.
extension InstanceTable {
    /// Makes room for one more sighting. The table evicts the sighting that was tried most often without an answer. If
    /// there is none, it evicts a random one.
    ///
    /// - Returns: False if only the node's own instances are left.
    mutating func displaceOne(now: Instant) -> Bool {
        guard !displaceInVain() else { return keepReturning(now) }
        // Few instances are the node's own, so a random draw soon finds another one, if any.
        for _ in 0..<16 {
            guard let sighting = sightings.randomKey(using: &random), !ownInstances.contains(sighting.instance) else {
                continue
            }
            displace(sighting)
            return keepReturning(now)
        }
        return false
    }

    private mutating func keepReturning(_ now: Instant) -> Bool {
        nextReturn = nextReturn ?? now + DiscoveryLimits.returnTime
        return true
    }

    /// Evicts the sighting that was tried most often without an answer.
    ///
    /// - Returns: False if there is none.
    mutating func displaceInVain() -> Bool {
        guard let sighting = withQueue({ queue, table in queue.mostTried(holds: table.holds) }) else { return false }
        displace(sighting)
        return true
    }

    private mutating func displace(_ sighting: Sighting) {
        guard let entry = self[sighting] else { return }
        cancel(entry.progress)
        self[sighting] = nil
        changed.insert(sighting.instance)
        guard entry.families > 0 else { return }
        if displaced.count >= DiscoveryLimits.displacedSightings,
            let forgotten = displaced.randomKey(using: &random)
        {
            displaced[forgotten] = nil
        }
        displaced[sighting] = entry.families
    }

    /// Returns a random evicted sighting to the table.
    mutating func bringBackOne(now: Instant) {
        guard sightings.count < DiscoveryLimits.sightings, let waiting = displaced.randomKey(using: &random) else {
            return
        }
        bringBack(waiting, now: now)
    }

    mutating func bringBack(_ sighting: Sighting, now: Instant) {
        guard let families = displaced[sighting] else { return }
        displaced[sighting] = nil
        self[sighting] = Entry(families: families, turn: takeTurn(), known: nil, progress: .due(now, attempt: 0))
    }
}
