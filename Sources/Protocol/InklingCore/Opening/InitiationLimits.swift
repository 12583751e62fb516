import InklingWire

/// How many initiations a node sends, and how many responses it opens (L-6, L-49, L-54).
struct InitiationLimits: Sendable {
    private var sent = SlidingWindow(perSecond: Limits.initiationsSent)
    private var sentToStrangers = SlidingWindow(perSecond: Limits.initiationsSentToStrangers)
    private var strayResponses = SlidingWindow(perSecond: Limits.responsesFromElsewhere)
    private var destinations = Destinations()

    /// Whether a transmission to one of those addresses may go out now.
    func hasRoom(for addresses: [Address], isFavoured: Bool, now: Instant) -> Bool {
        sent.hasRoom(now) && (isFavoured || sentToStrangers.hasRoom(now))
            && addresses.contains { destinations.admits($0, isFavoured, now) }
    }

    /// Takes what a transmission costs, to those of the addresses that may get one now; all of it or nothing.
    ///
    /// - Returns: Where it goes; nil if it has to wait.
    mutating func take(
        _ addresses: [Address], isFavoured: Bool, _ effects: inout Effects, now: Instant
    ) -> [Address]? {
        let reachable = addresses.filter { destinations.admits($0, isFavoured, now) }
        guard !reachable.isEmpty, sent.hasRoom(now, for: reachable.count),
            isFavoured || sentToStrangers.hasRoom(now, for: reachable.count)
        else { return nil }
        for address in reachable {
            _ = sent.take(now)
            if !isFavoured { _ = sentToStrangers.take(now) }
            destinations.take(address, isFavoured, &effects, now: now)
        }
        return reachable
    }

    /// Whether a response may be opened that came from an address to which its initiation did not go (L-49).
    mutating func takesStrayResponse(now: Instant) -> Bool { strayResponses.take(now) }

    /// A valid response, a tell that was taken, or evidence came from an address (L-54).
    mutating func answered(from address: Address, _ effects: inout Effects) {
        destinations.answered(address, &effects)
    }
}
