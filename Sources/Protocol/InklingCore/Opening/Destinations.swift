import InklingWire

/// The limit of initiations to each address. Forged service instances must not turn nodes against a host that is not
/// a node (L-54).
struct Destinations: Sendable {
    private var unanswered = ForgetfulTable<Address, TokenBucket>(capacity: Limits.addressesRemembered)
    private var answered = ForgetfulTable<Address, Bool>(capacity: Limits.addressesRemembered)

    /// Whether an initiation may go to an address now; taken only by `take`.
    func admits(_ address: Address, _ isFavoured: Bool, _ now: Instant) -> Bool {
        guard answered[address] == nil, var bucket = unanswered[address] else { return true }
        return bucket.take(now, leaving: Destinations.reserve(isFavoured))
    }

    /// An initiation goes to an address.
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

    /// A valid response, a tell that was taken, or evidence came from an address.
    mutating func answered(_ address: Address, _ effects: inout Effects) {
        unanswered.remove(address)
        answered.set(true, for: address, &effects)
    }

    private static func reserve(_ isFavoured: Bool) -> Int { isFavoured ? 0 : Limits.initiationsToSilentKept }
}
