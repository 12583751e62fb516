import InklingWire

/// The sessions of one link: one that sends, and up to three older ones that only receive (L-21).
struct SessionSet {
    /// Nil once it has reached its end while a handshake for a new one goes on (L-38).
    private(set) var sending: Session?
    /// The oldest first.
    private(set) var older: [Session] = []

    init(_ first: Session) { sending = first }

    /// Where a session is in the set.
    enum Place: Equatable {
        case sending
        case older(Int)
    }

    func place(of index: UInt32) -> Place? {
        if sending?.localIndex == index { return .sending }
        return older.firstIndex { $0.localIndex == index }.map(Place.older)
    }

    /// The session at a place that `place(of:)` gave, and that was not left since.
    subscript(place: Place) -> Session {
        _read {
            switch place {
            case .sending:
                guard let session = sending else { preconditionFailure("a place leads to a session") }
                yield session
            case .older(let index): yield older[index]
            }
        }
        _modify {
            switch place {
            case .sending:
                guard sending != nil else { preconditionFailure("a place leads to a session") }
                // swift-format-ignore: NeverForceUnwrap
                yield &sending!
            case .older(let index): yield &older[index]
            }
        }
    }

    /// Whether there is a sending session with counters left.
    var canSend: Bool { sending?.canSend ?? false }
    /// The older ones first, as they came.
    var all: [Session] { older + (sending.map { [$0] } ?? []) }
    var indices: [UInt32] { older.map(\.localIndex) + (sending.map { [$0.localIndex] } ?? []) }

    var deadlines: [(index: UInt32, deadline: Instant)] {
        var deadlines = older.map { ($0.localIndex, $0.nextDeadline) }
        if let sending { deadlines.append((sending.localIndex, sending.nextDeadline)) }
        return deadlines
    }

    /// Whether it is the one that sends.
    func isSending(_ index: UInt32) -> Bool { sending?.localIndex == index }

    // MARK: Inputs

    /// A session joins that gives way to the sending one.
    mutating func join(older session: Session) { older.insert(session, at: 0) }

    /// A session joins that sends from now on.
    ///
    /// - Returns: The place of the one that did until now.
    mutating func join(sending session: Session) -> Place? {
        defer { sending = session }
        guard let before = sending else { return nil }
        older.append(before)
        return .older(older.count - 1)
    }

    /// An older session sends from now on.
    ///
    /// - Returns: The place of the one that did until now.
    mutating func promote(_ place: Place) -> Place? {
        guard case .older(let index) = place else { preconditionFailure("the sending session sends already") }
        return join(sending: older.remove(at: index))
    }

    /// The peer is there now, for each of them.
    mutating func move(to address: Address) {
        sending?.address = address
        for index in older.indices { older[index].address = address }
    }

    /// A session is over.
    mutating func remove(_ index: UInt32) -> Session? {
        switch place(of: index) {
        case .sending:
            defer { sending = nil }
            return sending
        case .older(let place): return older.remove(at: place)
        case nil: return nil
        }
    }

    /// Takes out the oldest when there are too many of them.
    mutating func removeSurplus() -> Session? {
        older.count > Limits.supersededSessions ? older.removeFirst() : nil
    }

    /// Of the older sessions that have the peer's hello, the one heard of last.
    var lastHeardOlder: Place? {
        older.indices.filter { older[$0].lastHelloCounter != nil }
            .max { (older[$0].lastReceived, older[$0].order) < (older[$1].lastReceived, older[$1].order) }
            .map(Place.older)
    }

    /// Whether another session of the link has gone on: a farewell on this one came late (L-34).
    func hasGoneOn(from place: Place, heardBefore: Instant) -> Bool {
        let session = self[place]
        return all.contains { other in
            guard other.localIndex != session.localIndex, other.lastHelloCounter != nil else { return false }
            return other.order > session.order || other.lastReceived > heardBefore
        }
    }
}
