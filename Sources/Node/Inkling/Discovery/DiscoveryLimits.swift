import InklingWire

/// The limits and times of discovery. Those in `Limits` are the specification's, the others this library's.
package enum DiscoveryLimits {
    /// Resolves and queries under way at once; further ones wait for their turn.
    package static let lookups = Limits.resolves
    /// Resolves and queries that begin in a second, and in a row.
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
    /// Addresses reported for an instance, in the order of `InstanceTable.merged`. Discovery drops the rest.
    package static let addresses = Limits.candidatesPerInstance
    /// Instances remembered, counted once for each interface. A full table evicts the instance tried most often without
    /// an answer, or a random one if all have answered.
    package static let sightings = 2_048
    /// Evicted instances that are still listed and remembered by name. Beyond that, discovery forgets a random one.
    package static let displacedSightings = 8_192
    /// The interval at which a random evicted instance replaces one that was tried without an answer.
    package static let returnTime = Duration.seconds(1)
    /// The longest TXT record read. An instance with a longer one counts as not answering.
    package static let txtBytes = Limits.maximumTXTSizeRead
    /// The pause after the first failed lookup, doubled with each further one up to `longestRetry`. Discovery retries
    /// as long as the instance is listed.
    package static let firstRetry = Duration.milliseconds(500)
    package static let longestRetry = Duration.seconds(60)
    /// The shortest time from the last answer to a new lookup on request.
    package static let refreshTime = Duration.seconds(1)

    /// The time that a registration may take to be confirmed and, the first time, to appear in the node's own browser.
    package static let registrationTime = Duration.seconds(5)
    package static let longestListingTime = Duration.seconds(60)
    /// The pause before discovery tries the daemon again, doubled up to `longestReconnect`.
    package static let firstReconnect = Duration.milliseconds(250)
    package static let longestReconnect = Duration.seconds(5)
    /// The pause between tries from which on discovery reports a refusal of the daemon. The refusal has then lasted
    /// about as long.
    package static let refusalTime = Duration.seconds(4)
    /// The time after an outage for which discovery keeps earlier instances that are not listed again.
    package static let keepTime = Duration.seconds(5)
    /// The seconds for which stopping may block its caller.
    package static let stopTime = 2.0
    /// The interval at which discovery reads the interfaces without a reason.
    package static let interfaceTime = Duration.seconds(30)
    /// The times of new lookups of all instances after a change of this host's addresses. The later ones are for hosts
    /// whose addresses changed too: their daemons need time to announce the new ones.
    package static let refreshTimes: [Duration] = [.zero, .milliseconds(1_100), .milliseconds(2_500)]
    /// New names tried at once for a registration whose name is taken.
    package static let renames = 4

    /// Returns the pause after failed lookup number `attempt`, counted from 1.
    package static func retryPause(afterAttempt attempt: Int) -> Duration {
        let doublings = min(max(attempt - 1, 0), 16)
        return min(firstRetry * (1 << doublings), longestRetry)
    }
}
