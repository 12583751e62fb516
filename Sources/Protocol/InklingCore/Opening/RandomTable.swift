/// A dictionary that returns a random key without a search through its keys.
package struct RandomTable<Key: Hashable, Value> {
    private var entries: [Key: (value: Value, place: Int)] = [:]
    private var keys: [Key] = []

    package init() {}

    package var count: Int { keys.count }
    package var isEmpty: Bool { keys.isEmpty }

    package subscript(key: Key) -> Value? {
        get { entries[key]?.value }
        set {
            switch (newValue, entries[key]?.place) {
            case (let value?, let place?): entries[key] = (value, place)
            case (let value?, nil):
                entries[key] = (value, keys.count)
                keys.append(key)
            case (nil, let place?): remove(key, at: place)
            case (nil, nil): return
            }
        }
    }

    package func randomKey(using random: inout any RandomNumberGenerator & Sendable) -> Key? {
        keys.randomElement(using: &random)
    }

    package mutating func removeAll(where isRemoved: (Key) -> Bool) {
        for key in keys.filter(isRemoved) { self[key] = nil }
    }

    private mutating func remove(_ key: Key, at place: Int) {
        entries[key] = nil
        let last = keys.removeLast()
        guard place < keys.count else { return }
        keys[place] = last
        entries[last]?.place = place
    }
}
