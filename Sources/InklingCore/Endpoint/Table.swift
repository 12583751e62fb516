/// A dictionary that remembers which entries were opened for writing, so that their deadlines are looked at again.
struct Table<ID: Hashable & Comparable & Sendable, Value: Sendable>: Sendable {
    private var values: [ID: Value] = [:]
    private var touched: [ID] = []

    var count: Int { values.count }
    var isEmpty: Bool { values.isEmpty }
    /// The identifiers in ascending order: nothing that leaves the node may depend on hash order.
    var sortedIDs: [ID] { values.keys.sorted() }
    /// The values in no particular order, for questions whose answer does not depend on it.
    var unorderedValues: Dictionary<ID, Value>.Values { values.values }

    func contains(_ id: ID) -> Bool { values.index(forKey: id) != nil }

    /// The entry of that name, if there is one.
    func find(_ id: ID) -> Value? { values[id] }

    /// The entry of an identifier that is known to have one; changed in place.
    subscript(id: ID) -> Value {
        _read {
            guard let index = values.index(forKey: id) else { preconditionFailure("no entry of that identifier") }
            yield values.values[index]
        }
        _modify {
            touch(id)
            guard let index = values.index(forKey: id) else { preconditionFailure("no entry of that identifier") }
            yield &values.values[index]
        }
    }

    mutating func insert(_ value: Value, for id: ID) {
        touch(id)
        values[id] = value
    }

    @discardableResult
    mutating func remove(_ id: ID) -> Value? {
        touch(id)
        return values.removeValue(forKey: id)
    }

    private mutating func touch(_ id: ID) {
        if touched.last != id { touched.append(id) }
    }

    /// Those that were opened for writing, added or taken away since the last call; some of them more than once.
    mutating func takeTouched() -> [ID] {
        guard !touched.isEmpty else { return [] }
        defer { touched.removeAll() }
        return touched
    }
}

/// The entries of a table that have one key in common, in ascending order: what a node does for one person or chat
/// must not cost more with each other one.
struct Index<Key: Hashable & Sendable, ID: Comparable & Sendable>: Sendable {
    private var ids: [Key: [ID]] = [:]

    subscript(key: Key) -> [ID] { ids[key] ?? [] }

    mutating func insert(_ id: ID, for key: Key) {
        let place = self[key].lastIndex { $0 < id }.map { $0 + 1 } ?? 0
        ids[key, default: []].insert(id, at: place)
    }

    mutating func remove(_ id: ID, for key: Key) {
        guard var rest = ids.removeValue(forKey: key) else { return }
        rest.removeAll { $0 == id }
        if !rest.isEmpty { ids[key] = rest }
    }
}
