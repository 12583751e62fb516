/// The choice of known sightings when there are more than the table has room for.
extension InstanceTable {
    /// Makes room for one more sighting. The table evicts the sighting most often tried in vain, or a random one where
    /// all have answered or are untried. Returns false if only the node's own instances are left.
    mutating func displaceOne(now: Instant) -> Bool {
        guard !displaceInVain() else { return keepReturning(now) }
        // Own instances are few, so a draw soon finds another, if there is one.
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

    /// Evicts the sighting most often tried in vain. Returns false if there is none.
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

    /// Makes a random evicted sighting known again.
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
