import InklingWire

/// The pace of one chat's reports, so that no number of peers outruns the reader (T-22, T-26).
struct ReportPace: Sendable {
    /// The budget for lists of typists.
    var lists: TokenBucket
    /// When the next list is due that differs from the last one reported; nil if none does.
    var listDue: Instant?
    /// The people in the last list.
    var listed: Set<PublicKey> = []
    /// The people whose presence or name differs from the last report, and the reason if they are gone.
    var due: [PublicKey: PresenceReason] = [:]
    /// Until when people whose link began a new state stay shown (L-103).
    var kept: [PublicKey: Instant] = [:]
    /// When the first report in `due` may follow.
    var presenceDue: Instant?

    /// The reports that may follow another of the same person within a second.
    private var repetitions: TokenBucket
    /// The people reported within the last second, and the time of the last report.
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

    /// Takes a report of a change of a person from the budget.
    ///
    /// - Returns: The earliest time for the report, or nil for now.
    mutating func takeReport(of key: PublicKey, _ now: Instant) -> Instant? {
        forget(now)
        if let last = told[key], !repetitions.take(now) {
            return min(repetitions.nextToken(now), last + .seconds(1))
        }
        told[key] = now
        reports.append((key, now))
        return nil
    }

    /// Returns a pace with the same reports waiting and nothing counted, so that all of them are due.
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
