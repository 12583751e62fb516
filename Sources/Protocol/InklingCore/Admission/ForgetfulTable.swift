/// A table with a maximum number of entries. When the table is full, a new entry replaces a random one. So it accepts
/// everybody, and nobody can choose which entry it evicts.
struct ForgetfulTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var values: [Key: Value] = [:]
    private var keys: [Key] = []

    init(capacity: Int) { self.capacity = max(capacity, 1) }

    var count: Int { keys.count }

    subscript(key: Key) -> Value? { values[key] }

    mutating func set(_ value: Value, for key: Key, _ effects: inout Effects) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        guard keys.count >= capacity else { return keys.append(key) }
        let place = Int(effects.number() % UInt64(keys.count))
        values[keys[place]] = nil
        keys[place] = key
    }

    /// Removes an entry. The last entry moves to its place.
    mutating func remove(_ key: Key) {
        guard values.removeValue(forKey: key) != nil, let place = keys.firstIndex(of: key) else { return }
        keys.swapAt(place, keys.count - 1)
        keys.removeLast()
    }
}
