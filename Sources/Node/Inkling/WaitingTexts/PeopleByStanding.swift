import InklingCore
import InklingWire

/// Values of at most 1,024 people of a chat. Beyond it, the people whom the user knows least are forgotten, of these the
/// one whose last change is the oldest.
package struct PeopleByStanding<Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var change: Int
    }

    private var entries: [PublicKey: Entry] = [:]
    private var changes = 0

    subscript(key: PublicKey) -> Value? { entries[key]?.value }

    /// The people and their values, the one changed last at the end.
    var inOrder: [(PublicKey, Value)] {
        entries.sorted { $0.value.change < $1.value.change }.map { ($0.key, $0.value.value) }
    }

    /// The people in the order of ``inOrder``.
    var keys: [PublicKey] { inOrder.map(\.0) }

    /// Sets a person's value; does nothing if the user knows all others better and there is no room.
    ///
    /// - Returns: Whether the person has the value, and the person who was forgotten for that.
    @discardableResult
    mutating func set(
        _ value: Value, for key: PublicKey, _ standings: [PublicKey: Standing]
    ) -> (isSet: Bool, forgotten: PublicKey?) {
        var forgotten: PublicKey?
        if entries[key] == nil, entries.count >= Limits.peopleSeen {
            func rank(_ key: PublicKey) -> Standing { standings[key] ?? .stranger }
            let least = entries.min { (rank($0.key), $0.value.change) < (rank($1.key), $1.value.change) }
            guard let least, rank(least.key) <= rank(key) else { return (false, nil) }
            entries[least.key] = nil
            forgotten = least.key
        }
        changes += 1
        entries[key] = Entry(value: value, change: changes)
        return (true, forgotten)
    }

    package func contains(_ key: PublicKey) -> Bool { entries[key] != nil }

    mutating func remove(_ key: PublicKey) { entries[key] = nil }
}
