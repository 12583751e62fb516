import InklingWire

/// How fast the changes of one chat are told, so that no number of peers outruns the reader (T-22, T-26).
struct ReportPace: Sendable {
    /// The lists of typists that may be told.
    var lists: TokenBucket
    /// When the list is told that differs from the one told last; nil if none does.
    var listDue: Instant?
    /// Who was listed last.
    var listed: Set<PublicKey> = []
    /// Whose presence or name is not what was told last, and why nothing is left of them, if nothing is.
    var due: [PublicKey: PresenceReason] = [:]
    /// Until when people whose link began a new state stay shown (L-103).
    var kept: [PublicKey: Instant] = [:]
    /// When the first of those that are due may be told.
    var presenceDue: Instant?

    /// The reports that may follow another of the same person within a second.
    private var repetitions: TokenBucket
    /// Who was told of within the last second, and when last.
    private var told: [PublicKey: Instant] = [:]
    /// All of these reports, the oldest at `head`.
    private var reports: [(key: PublicKey, at: Instant)] = []
    private var head = 0

    init(now: Instant) {
        lists = TokenBucket(perSecond: Limits.lists, burst: Limits.lists, now: now)
        repetitions = TokenBucket(
            perSecond: Limits.presences, burst: Limits.presences, now: now)
    }

    var nextDeadline: Instant? { earliest(listDue, presenceDue) }

    /// Whether a change of a person may be told now; if so, it counts as told.
    ///
    /// - Returns: When it may be told, if that is later.
    mutating func takeReport(of key: PublicKey, _ now: Instant) -> Instant? {
        forget(now)
        if let last = told[key], !repetitions.take(now) {
            return min(repetitions.nextToken(now), last + .seconds(1))
        }
        told[key] = now
        reports.append((key, now))
        return nil
    }

    /// The same with nothing counted so far, so that all that waits is due.
    func begunAnew(_ now: Instant) -> ReportPace {
        var pace = ReportPace(now: now)
        pace.listDue = listDue.map { _ in now }
        pace.listed = listed
        (pace.due, pace.kept) = (due, kept)
        return pace
    }

    private mutating func forget(_ now: Instant) {
        while head < reports.count, now - reports[head].at >= .seconds(1) {
            if told[reports[head].key] == reports[head].at { told[reports[head].key] = nil }
            head += 1
        }
        guard head > 64, head * 2 > reports.count else { return }
        reports.removeFirst(head)
        head = 0
    }
}
