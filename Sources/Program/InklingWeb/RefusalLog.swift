import NIOCore

/// The refused connections that no line of the log reports yet.
struct RefusalLog {
    /// The shortest time between two lines.
    static let interval = TimeAmount.seconds(1)

    private var count = 0
    /// The latest reason.
    private var reason = ""
    private var nextLine = NIODeadline.uptimeNanoseconds(0)

    mutating func record(_ reason: String) {
        count += 1
        self.reason = reason
    }

    /// The time of the next line; nil if there is nothing to report.
    var nextDeadline: NIODeadline? { count > 0 ? nextLine : nil }

    /// Returns the line that is due, if any. One line reports all refusals since the last one.
    mutating func line(at now: NIODeadline) -> String? {
        guard count > 0, now >= nextLine else { return nil }
        defer { (count, nextLine) = (0, now + Self.interval) }
        return count == 1 ? reason : "\(reason), and \(count - 1) more before it"
    }
}
