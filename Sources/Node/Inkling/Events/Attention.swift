/// Whether a reader takes what waits. A reader that takes nothing for too long gets no messages (M-20).
struct Attention: Sendable {
    /// Whether the reader gets messages.
    private(set) var isPaid = true
    /// Whether the reader took an output since the last look.
    private var hasTaken = false
    private var idleLooks = 0

    /// Records that the reader takes, or waits for the next output.
    mutating func pay() { (isPaid, hasTaken) = (true, true) }

    /// Looks at the reader once.
    ///
    /// - Parameter isIdle: Whether nothing waits for the reader.
    /// - Returns: Whether the reader gets no messages from now on, after `patience` looks in a row without a taken output.
    mutating func isLost(after patience: Int, isIdle: Bool) -> Bool {
        idleLooks = hasTaken || isIdle ? 0 : idleLooks + 1
        hasTaken = false
        guard isPaid, idleLooks >= patience else { return false }
        isPaid = false
        return true
    }
}
