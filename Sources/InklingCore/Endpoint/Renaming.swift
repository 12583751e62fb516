import InklingWire

/// When peers are told that this node changed its name: not for each change of many (L-57).
enum Renaming: Equatable {
    /// They were told, last at that time.
    case settled(last: Instant?)
    /// They will be.
    case waiting(until: Instant)

    /// When they are told of what waits.
    var due: Instant? {
        switch self {
        case .settled: nil
        case .waiting(let due): due
        }
    }

    /// The name has changed.
    ///
    /// - Returns: Whether they are told now.
    mutating func changed(_ now: Instant) -> Bool {
        switch self {
        case .waiting: return false
        case .settled(let last?) where now - last < Limits.renamingInterval:
            self = .waiting(until: last + Limits.renamingInterval)
            return false
        case .settled:
            self = .settled(last: now)
            return true
        }
    }

    /// Time has passed.
    ///
    /// - Returns: Whether they are told now.
    mutating func advance(_ now: Instant) -> Bool {
        guard case .waiting(let due) = self, due <= now else { return false }
        self = .settled(last: now)
        return true
    }
}

extension Endpoint {
    /// The node has another name from now on: peers are told by its hellos (L-57).
    ///
    /// - Parameter name: NFC, 1 to 64 bytes of UTF-8.
    package mutating func rename(_ name: String, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.name != name else { return }
        surroundings.name = name
        if renaming.changed(now) { tellName(now) }
    }

    mutating func advanceRenaming(_ now: Instant) {
        if renaming.advance(now) { tellName(now) }
    }

    private mutating func tellName(_ now: Instant) {
        for id in links.sortedIDs {
            let own = heartbeat(in: links[id].chat)
            links[id].beginHellos(own, surroundings, &effects, now: now)
        }
    }
}
