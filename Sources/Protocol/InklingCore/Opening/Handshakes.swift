import InklingWire

/// A responder's session on which no sealed datagram has opened yet (L-12). Such a session changes nothing else.
struct UnconfirmedSession: Sendable {
    let person: PersonID
    /// The peer's run, and the epochs of the handshake.
    let run: UInt64
    let epochs: EpochPair
    /// The bytes of the initiation without its cookie, and of this node's response.
    let initiation: [UInt8]
    let response: [UInt8]
    let createdAt: Instant
    let session: Session

    var expiry: Instant { createdAt + Limits.unconfirmedSession }
}

/// The handshakes that have not led to a link: pending ones of this node, and unconfirmed sessions from others.
struct Handshakes: Sendable {
    private var attempts = Table<UInt32, Attempt>()
    private var attemptsByPerson = Index<PersonID, UInt32>()
    private var unconfirmed: [UInt32: UnconfirmedSession] = [:]
    /// The unconfirmed sessions, by the bytes of their initiations.
    private var byInitiation: [[UInt8]: UInt32] = [:]
    private var touched: [UInt32] = []

    // MARK: Queries

    var count: Int { attempts.count + unconfirmed.count }
    var unconfirmedCount: Int { unconfirmed.count }

    func isInUse(_ index: UInt32) -> Bool { unconfirmed[index] != nil || attempts.contains(index) }

    func unconfirmed(_ index: UInt32) -> UnconfirmedSession? { unconfirmed[index] }

    /// Returns the response to a repeated initiation whose session is still unconfirmed (L-8, step 2). The cookie makes
    /// no difference.
    func response(to initiation: [UInt8]) -> [UInt8]? {
        guard !byInitiation.isEmpty else { return nil }
        return byInitiation[Handshakes.body(of: initiation)].flatMap { unconfirmed[$0]?.response }
    }

    /// Returns the bytes of an initiation without its cookie.
    static func body(of initiation: [UInt8]) -> [UInt8] {
        Array(initiation.prefix(1 + 4 + Limits.checkSize + Limits.noiseMessage1Size))
    }

    func attempt(_ index: UInt32) -> Attempt? { attempts.find(index) }

    /// Returns the pending handshakes with a person, by their index.
    func attempts(with person: PersonID) -> [Attempt] { attemptsByPerson[person].map { attempts[$0] } }

    /// Returns whether a handshake with a person is under way.
    func hasAny(with person: PersonID) -> Bool {
        !attemptsByPerson[person].isEmpty || unconfirmed.values.contains { $0.person == person }
    }

    func chat(of index: UInt32) -> ChatID? { unconfirmed[index]?.person.chat ?? attempts.find(index)?.person.chat }

    func deadline(of index: UInt32) -> Instant? { attempts.find(index)?.nextDeadline ?? unconfirmed[index]?.expiry }

    /// Returns whether one more attempt may be pending (L-6). Attempts at remembered addresses have no limit (D-23).
    func hasRoom(isFavoured: Bool) -> Bool {
        guard attempts.count >= Limits.pendingInitiationsOfStrangers else { return true }
        let counted = attempts.unorderedValues.filter { !$0.isRemembered }
        guard counted.count < Limits.pendingInitiations else { return false }
        return isFavoured || counted.count { !$0.isFavoured } < Limits.pendingInitiationsOfStrangers
    }

    /// Returns the openings' attempts that a first attempt may replace. A stranger may replace only a stranger's
    /// attempt (L-98).
    func replaceable(isFavoured: Bool) -> [Attempt] {
        attempts.unorderedValues.filter { $0.isOfOpening && (isFavoured || !$0.isFavoured) }
    }

    /// Returns the handshakes that were added, changed or removed since the last call.
    mutating func takeTouched() -> [UInt32] {
        defer { touched.removeAll() }
        return touched + attempts.takeTouched()
    }

    // MARK: Changes

    mutating func add(_ attempt: Attempt) {
        attempts.insert(attempt, for: attempt.index)
        attemptsByPerson.insert(attempt.index, for: attempt.person)
    }

    mutating func update(_ attempt: Attempt) {
        if attempts.contains(attempt.index) { attempts[attempt.index] = attempt }
    }

    /// Adds the session of an answered initiation. Above the limit, the oldest session is dropped (L-12).
    mutating func add(_ session: UnconfirmedSession) {
        if unconfirmed.count >= Limits.unconfirmedSessions {
            let oldest = unconfirmed.values.min {
                ($0.createdAt, $0.session.localIndex) < ($1.createdAt, $1.session.localIndex)
            }
            if let oldest { remove(oldest.session.localIndex) }
        }
        let index = session.session.localIndex
        unconfirmed[index] = session
        byInitiation[session.initiation] = index
        touched.append(index)
    }

    /// Removes an attempt or an unconfirmed session.
    mutating func remove(_ index: UInt32) {
        if let attempt = attempts.remove(index) {
            attemptsByPerson.remove(index, for: attempt.person)
        } else if let session = unconfirmed.removeValue(forKey: index) {
            byInitiation[session.initiation] = nil
            touched.append(index)
        }
    }

    /// Removes all handshakes with people for whom `condition` is true (L-87).
    mutating func removeAll(where condition: (PersonID) -> Bool) {
        for index in attempts.sortedIDs where condition(attempts[index].person) { remove(index) }
        for (index, session) in unconfirmed where condition(session.person) { remove(index) }
    }
}
