import InklingWire

/// The limits and times of discovery: those of the specification, and those that are our own.
package enum DiscoveryLimits {
    /// Resolves and queries under way at once; further ones wait for their turn.
    package static let lookups = Limits.resolves
    /// Resolves and queries that begin in a second, and in a row.
    package static let lookupsPerSecond = Limits.resolvesBegun
    package static let lookupBurst = Limits.resolvesBegunBurst
    /// How long one resolve or query may take.
    package static let lookupTime = Limits.resolveTimeout
    /// How long a query is kept open for further addresses after the first.
    package static let quietTime = Duration.milliseconds(100)
    /// How long the query of one address family is kept open once the other family has answered.
    package static let siblingTime = Duration.milliseconds(500)
    /// Addresses reported for an instance. Those after them, in the order of `InstanceTable.merged`, are left out.
    package static let addresses = Limits.candidatesPerInstance
    /// Instances remembered, counted once for each interface. When full, the one most often tried without an
    /// answer gives way; if all have answered, one at random.
    package static let sightings = 2_048
    /// Of those that gave way and are still listed, so many are remembered by name; of more, one at random is forgotten.
    package static let displacedSightings = 8_192
    /// How often one of these, at random, takes the place of one that was tried without an answer.
    package static let returnTime = Duration.seconds(1)
    /// A TXT record longer than this is refused: the instance is treated as one that does not answer.
    package static let txtBytes = Limits.maximumTXTSizeRead
    /// The pause after the first failed lookup, doubled with each further one up to `longestRetry`; lookups go on
    /// as long as the instance is listed.
    package static let firstRetry = Duration.milliseconds(500)
    package static let longestRetry = Duration.seconds(60)
    /// Nothing is looked up again on request sooner than this after the last answer.
    package static let refreshTime = Duration.seconds(1)

    /// How long a registration may take to be confirmed, and, for the first time, to be seen by the own browser.
    package static let registrationTime = Duration.seconds(5)
    package static let longestListingTime = Duration.seconds(60)
    /// The pause before the daemon is tried again, doubled up to `longestReconnect`.
    package static let firstReconnect = Duration.milliseconds(250)
    package static let longestReconnect = Duration.seconds(5)
    /// The pause between tries from which on a daemon's refusal is reported: it has then lasted as long.
    package static let refusalTime = Duration.seconds(4)
    /// How long instances from before an outage are kept after it without being listed again.
    package static let keepTime = Duration.seconds(5)
    /// How many seconds stopping may keep its caller.
    package static let stopTime = 2.0
    /// How often the interfaces are looked at without a reason.
    package static let interfaceTime = Duration.seconds(30)
    /// When all instances are looked up again after a change of this host's addresses: at once, and, for those whose
    /// addresses changed with ours, after their daemons had the time to announce the new ones.
    package static let refreshTimes: [Duration] = [.zero, .milliseconds(1_100), .milliseconds(2_500)]
    /// New names tried at once for a registration whose name is taken.
    package static let renames = 4

    /// The pause after failed lookup number `attempt`, counted from 1.
    package static func retryPause(afterAttempt attempt: Int) -> Duration {
        let doublings = min(max(attempt - 1, 0), 16)
        return min(firstRetry * (1 << doublings), longestRetry)
    }
}
