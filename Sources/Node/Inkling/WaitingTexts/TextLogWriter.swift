import InklingCore
import InklingWire
import Synchronization

/// The logs of texts and their state on disk. Jobs run on a thread that may block.
final class TextLogWriter: Sendable {
    /// A job for the disk.
    enum Job: Sendable {
        case append([TextRecord], TextLogID)
        case end(TextLogID)
        case rekey([TextLogID])
        /// Replaces the log by a shorter one if it has much that no longer counts.
        case compact(TextLogID)
        /// Removes what earlier runs left.
        case tidy
        /// A job that did not fit into the backlog.
        case refused
    }

    /// The outcome of jobs that ran together.
    struct Outcome: Sendable {
        /// For each job nil, or the reason for its failure.
        var reasons: [String?]
        var faults: [TextFault] = []
        /// The logs that may have much that no longer counts.
        var long: [TextLogID] = []
    }

    /// A log on disk.
    private struct Log {
        var state = TextState()
        /// The bytes of its records.
        var size = 0
        /// The size beyond which a compaction is due.
        var longest = TextLogLimits.uncompacted
    }

    /// The bytes that a record takes beside its own.
    private static let overhead = 20

    private let store: SealedStore
    private let logs = Mutex<[TextLogID: Log]>([:])
    /// How well the user knows people.
    private let standings: Mutex<[PublicKey: Standing]>
    /// Whether the last append failed.
    private let isFailing: Mutex<Bool>

    /// Reads all logs.
    init(_ store: SealedStore, _ standings: [PublicKey: Standing]) {
        self.store = store
        self.standings = Mutex(standings)
        isFailing = Mutex(store.isUnusable)
        var logs: [TextLogID: Log] = [:]
        for id in store.logs.compactMap(TextLogID.init(digits:)) {
            var log = Log()
            let isSound = store.readAll(id.digits) { bytes in
                log.size += bytes.count + Self.overhead
                if let record = TextRecord(bytes) { log.state.apply(record, standings) }
            }
            // A new log takes the place of one with damage, which is reported only once therefore.
            if !isSound { log.longest = -1 }
            logs[id] = log
        }
        self.logs.withLock { $0 = logs }
    }

    var ids: Set<TextLogID> { logs.withLock { Set($0.keys) } }

    func state(of log: TextLogID) -> TextState { logs.withLock { $0[log]?.state ?? TextState() } }

    func setStandings(_ standings: [PublicKey: Standing]) { self.standings.withLock { $0 = standings } }

    // MARK: Jobs

    /// Runs jobs in their order. Appends that follow each other share one flush of each log.
    func run(_ jobs: [Job]) -> Outcome {
        var outcome = Outcome(reasons: [])
        var appends: [(records: [TextRecord], log: TextLogID)] = []
        for job in jobs {
            if case .append(let records, let log) = job {
                appends.append((records, log))
                continue
            }
            append(appends, &outcome)
            appends = []
            switch job {
            case .append: break
            case .end(let log): outcome.reasons.append(end(log))
            case .rekey(let logs): outcome.reasons.append(rekey(logs))
            case .compact(let log): outcome.reasons.append(compact(log))
            case .tidy:
                store.removeRemains()
                outcome.reasons.append(nil)
            case .refused:
                outcome.reasons.append("The disk is too slow")
                report("The disk is too slow", &outcome)
            }
        }
        append(appends, &outcome)
        let damage = store.takeFaults().map { TextFault.damaged(Self.text($0)) }
        outcome.faults.insert(contentsOf: damage, at: 0)
        return outcome
    }

    private func append(_ appends: [(records: [TextRecord], log: TextLogID)], _ outcome: inout Outcome) {
        guard !appends.isEmpty else { return }
        var reasons: [String?] = []
        var sizes: [Int] = []
        for (records, log) in appends {
            let bytes = records.map(\.bytes)
            sizes.append(bytes.reduce(0) { $0 + $1.count + Self.overhead })
            reasons.append(store.append(bytes, to: log.digits))
        }
        var losses: [TextLogID: String?] = [:]
        for (_, log) in appends where losses[log] == nil { losses[log] = .some(store.flush(log.digits)) }
        for (index, (records, log)) in appends.enumerated() {
            let reason = reasons[index] ?? losses[log] ?? nil
            report(reason, &outcome)
            outcome.reasons.append(reason)
            guard reason == nil else { continue }
            let standings = standings.withLock(\.self)
            logs.withLock { logs in
                for record in records { logs[log, default: Log()].state.apply(record, standings) }
                logs[log]?.size += sizes[index]
            }
        }
        outcome.long = logs.withLock { logs in
            losses.keys.filter { log in logs[log].map { $0.size > $0.longest } ?? false }
        }
    }

    private func end(_ log: TextLogID) -> String? {
        if let reason = store.end(log.digits) { return reason }
        logs.withLock { $0[log] = nil }
        return nil
    }

    private func rekey(_ ids: [TextLogID]) -> String? {
        var states = logs.withLock { logs in logs.filter { ids.contains($0.key) }.mapValues(\.state) }
        for id in states.keys { states[id]?.forgetWaiting() }
        return replace(states)
    }

    private func compact(_ id: TextLogID) -> String? {
        guard let log = logs.withLock({ $0[id] }), log.size > log.longest else { return nil }
        let live = Self.size(log.state.snapshot.map(\.bytes))
        let isDue = log.longest < 0 || log.size > 2 * live
        let reason = isDue ? replace([id: log.state]) : nil
        // After a failure, the log must grow further before the next attempt.
        if !isDue || reason != nil {
            logs.withLock { $0[id]?.longest = max(2 * live, log.size + TextLogLimits.uncompacted) }
        }
        return reason
    }

    private func replace(_ states: [TextLogID: TextState]) -> String? {
        guard !states.isEmpty else { return nil }
        var bytes: [String: [[UInt8]]] = [:]
        for (id, state) in states { bytes[id.digits] = state.snapshot.map(\.bytes) }
        if let reason = store.replace(bytes) { return reason }
        logs.withLock { logs in
            for (id, state) in states {
                let size = Self.size(bytes[id.digits] ?? [])
                logs[id] = Log(state: state, size: size, longest: max(2 * size, TextLogLimits.uncompacted))
            }
        }
        return nil
    }

    private static func size(_ records: [[UInt8]]) -> Int { records.reduce(0) { $0 + $1.count + overhead } }

    // MARK: Faults

    private func report(_ reason: String?, _ outcome: inout Outcome) {
        let wasFailing = isFailing.withLock { isFailing in
            defer { isFailing = reason != nil }
            return isFailing
        }
        guard wasFailing != (reason != nil) else { return }
        guard let reason else { return outcome.faults.append(.writable) }
        outcome.faults.append(
            .unwritable(
                "\(reason). Texts are not kept until a write succeeds. Make room on the disk, or make the folder writable."
            ))
    }

    private static func text(_ fault: SealedStore.Fault) -> String {
        switch fault {
        case .damaged(let path): "\(path) is damaged. Texts in it that waited or were unread are lost."
        case .missing(let path): "\(path) is missing. Texts in it that waited or were unread are lost."
        case .keysMissing(let path):
            "\(path) is missing, so texts that waited or were unread can't be read. If you have a copy, put it back, "
                + "and start the daemon again."
        case .keysUnusable(let path, let reason):
            "\(path) can't be used: \(reason). Texts that waited or were unread can't be read, and no new ones are "
                + "kept. Repair or remove the file, and start the daemon again."
        case .unwritable(let path, let reason): "\(path) can't be written: \(reason)."
        }
    }
}

/// The limits of a ``TextLogs``.
enum TextLogLimits {
    /// A log of this size or less is not compacted, in bytes.
    static let uncompacted = 256 << 10
    /// The bytes of records that may wait for the disk.
    static let backlog = 16 << 20
}
