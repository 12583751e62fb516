import InklingWire

/// The pace of one chat's reports. Any number of peers cannot report faster than the reader can read (T-22, T-26).
struct ReportPace: Sendable {
    /// The budget for lists of typists.
    var lists: TokenBucket
    /// The time of the next list that differs from the last reported one; nil if none differs.
    var listDue: Instant?
    /// The people in the last reported list.
    var listed: Set<PublicKey> = []
    /// The people whose presence or name differs from the last report, with the reason for those who are gone.
    var due: [PublicKey: PresenceReason] = [:]
    /// The times until which people stay shown whose link began a new state (L-103).
    var kept: [PublicKey: Instant] = [:]
    /// The time of the first report in `due`.
    var presenceDue: Instant?

    /// The budget for a second report about the same person within a second.
    private var repetitions: TokenBucket
    /// The people reported in the last second, and the times of their last reports.
    private var told: [PublicKey: Instant] = [:]
    /// The reports of the last second, the oldest at `head`.
    private var reports: [(key: PublicKey, at: Instant)] = []
    private var head = 0

    init(now: Instant) {
        lists = TokenBucket(perSecond: Limits.lists, burst: Limits.lists, now: now)
        repetitions = TokenBucket(
            perSecond: Limits.presences, burst: Limits.presences, now: now)
    }

    var nextDeadline: Instant? { earliest(listDue, presenceDue) }

    /// Returns whether a report about a person waits, or the person stays shown for a while.
    func concerns(_ key: PublicKey) -> Bool { due[key] != nil || kept[key] != nil }

    /// Uses the budget for a report about a person.
    ///
    /// - Returns: The earliest time for the report, or nil if it may go now.
    mutating func takeReport(of key: PublicKey, _ now: Instant) -> Instant? {
        forget(now)
        if let last = told[key], !repetitions.take(now) {
            return min(repetitions.nextToken(now), last + .seconds(1))
        }
        told[key] = now
        reports.append((key, now))
        return nil
    }

    /// Counts the reports of the last second that another pace made (T-26).
    mutating func count(_ other: ReportPace, _ now: Instant) {
        reports = Array(other.reports[other.head...] + reports[head...])
        head = 0
        told.merge(other.told) { newer, _ in newer }
        forget(now)
    }

    /// Returns a pace with full budgets and the same waiting reports, all of them due.
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
