extension InstanceTable {
    /// The budget of lookups: a rate, and a burst large enough to join a full chat (D-10).
    ///
    /// Each lookup costs the library a thread and a connection. Without a budget, forged instances would make a node
    /// spend a processor on them.
    struct LookupBudget {
        private static let pause = Duration.seconds(1) / DiscoveryLimits.lookupsPerSecond
        private static let longestDebt = pause * (DiscoveryLimits.lookupBurst - 1)

        /// The time at which the budget will again permit a full burst.
        private var full: Instant?

        /// The time from which the next lookup may begin; nil before the first lookup, which may begin at once.
        var opening: Instant? { full.map { $0 - LookupBudget.longestDebt } }

        func isOpen(_ now: Instant) -> Bool { opening.map { $0 <= now } ?? true }

        mutating func take(_ now: Instant) { full = max(full ?? now, now) + LookupBudget.pause }
    }
}
