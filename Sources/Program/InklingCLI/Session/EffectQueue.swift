import InklingConsole

/// The queue of a model's effects, including effects that another effect causes.
struct EffectQueue {
    private var waiting: ArraySlice<ChatEffect> = []
    private var isPerforming = false

    /// Adds effects.
    ///
    /// - Returns: Whether the caller must perform the effects. Otherwise an earlier caller is already performing
    ///   effects, and performs these too.
    mutating func add(_ effects: [ChatEffect]) -> Bool {
        waiting += effects
        guard !isPerforming else { return false }
        isPerforming = true
        return true
    }

    /// Removes and returns the next effect.
    mutating func next() -> ChatEffect? {
        if let effect = waiting.popFirst() { return effect }
        (waiting, isPerforming) = ([], false)
        return nil
    }
}
