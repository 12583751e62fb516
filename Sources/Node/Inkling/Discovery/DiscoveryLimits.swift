import InklingWire

/// The limits and times of discovery. Values from `Limits` are the specification's; the others are this library's own.
package enum DiscoveryLimits {
    /// The number of resolves and queries under way at the same time. Further ones wait for their turn.
    package static let lookups = Limits.resolves
    /// The number of resolves and queries that begin in a second, and the burst.
    package static let lookupsPerSecond = Limits.resolvesBegun
    package static let lookupBurst = Limits.resolvesBegunBurst
    /// The timeout of one resolve or query.
    package static let lookupTime = Limits.resolveTimeout
    /// The answers of one reference that the loop handles before it looks at its deadlines again.
    package static let readRounds = 16
    /// The time that a query stays open for further addresses after the first.
    package static let quietTime = Duration.milliseconds(100)
    /// The time that the query of one address family stays open after the other family has answered.
    package static let siblingTime = Duration.milliseconds(500)
    /// The number of addresses that discovery reports for an instance, in the order of `InstanceTable.merged`.
    /// Discovery drops the rest. More than the core takes, so that it can prefer those that it knows (D-9).
    package static let addresses = 2 * Limits.candidatesPerInstance
    /// The number of instances that discovery remembers, counted once for each interface. A full table evicts the
    /// instance tried most often without an answer, or a random one if all have answered.
    package static let sightings = 2_048
    /// The number of evicted instances that discovery remembers by name while they are listed. Beyond that, discovery
    /// forgets a random one.
    package static let displacedSightings = 8_192
    /// The interval at which a random evicted instance replaces one that was tried without an answer.
    package static let returnTime = Duration.seconds(1)
    /// The longest TXT record that discovery reads. An instance with a longer one counts as not answering.
    package static let txtBytes = Limits.maximumTXTSizeRead
    /// The pause after the first failed lookup, doubled with each further one up to `longestRetry`. Discovery retries
    /// as long as the instance is listed.
    package static let firstRetry = Duration.milliseconds(500)
    package static let longestRetry = Duration.seconds(60)
    /// The shortest time from the last answer to a new lookup of the same instance.
    package static let refreshTime = Duration.seconds(1)

    /// The time in which the daemon must confirm a registration. A first registration must also appear in the node's
    /// own browser in that time.
    package static let registrationTime = Duration.seconds(5)
    package static let longestListingTime = Duration.seconds(60)
    /// The pause before discovery tries the daemon again, doubled up to `longestReconnect`.
    package static let firstReconnect = Duration.milliseconds(250)
    package static let longestReconnect = Duration.seconds(5)
    /// When the pause between tries has grown to this time, discovery reports a refusal of the daemon. The refusal has
    /// then lasted about as long.
    package static let refusalTime = Duration.seconds(4)
    /// The time after an outage for which discovery keeps earlier instances that are not listed again.
    package static let keepTime = Duration.seconds(5)
    /// The seconds for which stopping may block its caller.
    package static let stopTime = 2.0
    /// The interval at which discovery reads the interfaces even without a sign of a change.
    package static let interfaceTime = Duration.seconds(30)
    /// The times of new lookups of all instances after this host's addresses changed. The later ones are for hosts
    /// whose addresses also changed: their daemons need time to announce the new ones.
    package static let refreshTimes: [Duration] = [.zero, .milliseconds(1_100), .milliseconds(2_500)]
    /// The number of new names that discovery tries at once for a registration whose name is taken.
    package static let renames = 4

    /// Returns the pause after failed lookup number `attempt`, counted from 1.
    package static func retryPause(afterAttempt attempt: Int) -> Duration {
        let doublings = min(max(attempt - 1, 0), 16)
        return min(firstRetry * (1 << doublings), longestRetry)
    }
}
