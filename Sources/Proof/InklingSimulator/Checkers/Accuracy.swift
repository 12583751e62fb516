import InklingCore
import InklingWire

/// How accurate the typing indicator is (R32), in milliseconds, summed over all pairs of a writer and a viewer.
package struct Accuracy: Equatable, Sendable {
    /// The time during which the writer was typing.
    package var typed = 0
    /// The time during which the viewer showed the writer as typing.
    package var shown = 0
    /// The time during which the writer typed and the viewer showed it.
    package var both = 0
    /// The number of flickers: the indicator disappeared and came back while the writer typed without pause.
    package var flickers = 0

    package init() {}

    /// The share of the typing time that the viewer showed, in 1,000.
    package var coveragePerMille: Int { typed == 0 ? 1_000 : both * 1_000 / typed }
    /// The share of the shown time in which the writer typed, in 1,000.
    package var truthPerMille: Int { shown == 0 ? 1_000 : both * 1_000 / shown }

    package mutating func add(_ other: Accuracy) {
        typed += other.typed
        shown += other.shown
        both += other.both
        flickers += other.flickers
    }
}

/// Measures how long typing is true and shown.
struct AccuracyMeter {
    private struct Pair {
        var since = Instant.zero
        var isTyping = false
        var isShown = false
        var typed: Int64 = 0
        var shown: Int64 = 0
        var both: Int64 = 0
        /// Whether the indicator has been shown since this writer began to type.
        var wasShown = false
        var flickers = 0

        mutating func advance(to now: Instant) {
            let elapsed = (now - since).nanoseconds
            if isTyping { typed += elapsed }
            if isShown { shown += elapsed }
            if isTyping, isShown { both += elapsed }
            since = now
        }
    }

    private let hosts: [SimulatedHost]
    private var pairs: [[Pair]]

    init(hosts: [SimulatedHost]) {
        self.hosts = hosts
        pairs = Array(repeating: Array(repeating: Pair(), count: hosts.count), count: hosts.count)
    }

    /// Records that a user may have begun or stopped typing.
    mutating func wrote(_ writer: Int, _ now: Instant) {
        let isTyping = hosts[writer].typingChats(now) != 0
        for viewer in hosts.indices where viewer != writer && pairs[writer][viewer].isTyping != isTyping {
            pairs[writer][viewer].advance(to: now)
            pairs[writer][viewer].isTyping = isTyping
            pairs[writer][viewer].wasShown = false
        }
    }

    mutating func shown(by viewer: Int, in chat: ChatID, _ keys: [PublicKey], _ now: Instant) {
        for writer in hosts.indices where writer != viewer {
            let isShown = keys.contains(hosts[writer].key)
            guard pairs[writer][viewer].isShown != isShown else { continue }
            pairs[writer][viewer].advance(to: now)
            if isShown, pairs[writer][viewer].isTyping {
                if pairs[writer][viewer].wasShown { pairs[writer][viewer].flickers += 1 }
                pairs[writer][viewer].wasShown = true
            }
            pairs[writer][viewer].isShown = isShown
        }
    }

    mutating func finish(_ now: Instant) -> Accuracy {
        var accuracy = Accuracy()
        for writer in pairs.indices {
            for viewer in pairs[writer].indices where viewer != writer {
                pairs[writer][viewer].advance(to: now)
                accuracy.typed += Int(pairs[writer][viewer].typed / 1_000_000)
                accuracy.shown += Int(pairs[writer][viewer].shown / 1_000_000)
                accuracy.both += Int(pairs[writer][viewer].both / 1_000_000)
                accuracy.flickers += pairs[writer][viewer].flickers
            }
        }
        return accuracy
    }
}
