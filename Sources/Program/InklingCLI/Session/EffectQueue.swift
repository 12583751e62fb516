import InklingConsole

/// Effects of a model, performed one after the other, also those that performing one brings about.
struct EffectQueue {
    private var waiting: ArraySlice<ChatEffect> = []
    private var isPerforming = false

    /// Adds effects.
    ///
    /// - Returns: Whether the caller is to take them from here; otherwise somebody does so already.
    mutating func add(_ effects: [ChatEffect]) -> Bool {
        waiting += effects
        guard !isPerforming else { return false }
        isPerforming = true
        return true
    }

    /// The next effect.
    mutating func next() -> ChatEffect? {
        if let effect = waiting.popFirst() { return effect }
        (waiting, isPerforming) = ([], false)
        return nil
    }
}
