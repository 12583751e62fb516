extension InstanceTable {
    /// The lookups that may begin: so many a second, and in a row what a full chat needs that one joins (D-10).
    ///
    /// Each lookup is a thread and a connection of the library's. Without a budget, forged instances would make a node spend
    /// a processor on them.
    struct LookupBudget {
        private static let pause = Duration.seconds(1) / DiscoveryLimits.lookupsPerSecond
        private static let longestDebt = pause * (DiscoveryLimits.lookupBurst - 1)

        /// When all lookups are available that may come in a row.
        private var full: Instant?

        /// When the next lookup may begin; nil: at once, as none ever did.
        var opening: Instant? { full.map { $0 - LookupBudget.longestDebt } }

        func isOpen(_ now: Instant) -> Bool { opening.map { $0 <= now } ?? true }

        mutating func take(_ now: Instant) { full = max(full ?? now, now) + LookupBudget.pause }
    }
}
