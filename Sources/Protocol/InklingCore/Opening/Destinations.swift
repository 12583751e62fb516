import InklingWire

/// The limit of initiations to each address. Without it, forged service instances could turn all nodes against one host
/// that has no node (L-54).
struct Destinations: Sendable {
    private var unanswered = ForgetfulTable<Address, TokenBucket>(capacity: Limits.addressesRemembered)
    private var answered = ForgetfulTable<Address, Bool>(capacity: Limits.addressesRemembered)

    /// Returns whether an initiation may go to an address now. Only `take` counts an initiation.
    func admits(_ address: Address, _ isFavoured: Bool, _ now: Instant) -> Bool {
        guard answered[address] == nil, var bucket = unanswered[address] else { return true }
        return bucket.take(now, leaving: Destinations.reserve(isFavoured))
    }

    /// Counts an initiation to an address.
    mutating func take(_ address: Address, _ isFavoured: Bool, _ effects: inout Effects, now: Instant) {
        guard answered[address] == nil else { return }
        var bucket =
            unanswered[address]
            ?? TokenBucket(
                perSecond: Limits.initiationsToSilent, burst: Limits.initiationsToSilentBurst,
                now: now)
        _ = bucket.take(now, leaving: Destinations.reserve(isFavoured))
        unanswered.set(bucket, for: address, &effects)
    }

    /// Records that an address answered, with a valid response, an accepted tell, or evidence.
    mutating func answered(_ address: Address, _ effects: inout Effects) {
        unanswered.remove(address)
        answered.set(true, for: address, &effects)
    }

    private static func reserve(_ isFavoured: Bool) -> Int { isFavoured ? 0 : Limits.initiationsToSilentKept }
}
