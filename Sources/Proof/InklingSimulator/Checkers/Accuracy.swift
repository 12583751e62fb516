import InklingCore
import InklingWire

/// How true the indicator is (R32), in milliseconds added up over all pairs of a writer and a viewer.
package struct Accuracy: Equatable, Sendable {
    /// Somebody was typing.
    package var typed = 0
    /// Somebody showed as typing.
    package var shown = 0
    /// Both at once.
    package var both = 0
    /// How often a viewer showed somebody again although that person had typed all the time: the indicator flickered.
    package var flickers = 0

    package init() {}

    /// Of the time that somebody was typing, the share in which it was shown, in 1,000.
    package var coveragePerMille: Int { typed == 0 ? 1_000 : both * 1_000 / typed }
    /// Of the time shown, the share in which it was true, in 1,000.
    package var truthPerMille: Int { shown == 0 ? 1_000 : both * 1_000 / shown }

    package mutating func add(_ other: Accuracy) {
        typed += other.typed
        shown += other.shown
        both += other.both
        flickers += other.flickers
    }
}

/// Integrates what is shown and what is true over time.
struct AccuracyMeter {
    private struct Pair {
        var since = Instant.zero
        var isTyping = false
        var isShown = false
        var typed: Int64 = 0
        var shown: Int64 = 0
        var both: Int64 = 0
        /// The indicator has been shown since this person began to type.
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

    /// Whether a user types has changed, or may have.
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
