import InklingWire

/// The limits of initiations that a node sends, and of stray responses that it opens (L-6, L-49, L-54).
struct InitiationLimits: Sendable {
    private var sent = SlidingWindow(perSecond: Limits.initiationsSent)
    private var sentToStrangers = SlidingWindow(perSecond: Limits.initiationsSentToStrangers)
    private var strayResponses = SlidingWindow(perSecond: Limits.responsesFromElsewhere)
    private var destinations = Destinations()

    /// Returns whether a transmission to at least one of the addresses may go out now.
    func hasRoom(for addresses: [Address], isFavoured: Bool, now: Instant) -> Bool {
        sent.hasRoom(now) && (isFavoured || sentToStrangers.hasRoom(now))
            && addresses.contains { destinations.admits($0, isFavoured, now) }
    }

    /// Counts a transmission to the addresses that may get an initiation now. If the limits do not permit all of these,
    /// none counts.
    ///
    /// - Returns: The destinations; nil if the transmission must wait.
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

    /// Returns whether the node may open a response from an address to which it sent no initiation (L-49).
    mutating func takesStrayResponse(now: Instant) -> Bool { strayResponses.take(now) }

    /// Records that an address answered, with a valid response, an accepted tell, or evidence (L-54).
    mutating func answered(from address: Address, _ effects: inout Effects) {
        destinations.answered(address, &effects)
    }
}
