/// A dictionary that remembers which entries were opened for writing, so that their deadlines are looked at again.
///
/// Its entries lie in an array, in no particular order: there they can be read in place, where a dictionary would copy
/// them.
struct Table<ID: Hashable & Comparable & Sendable, Value: Sendable>: Sendable {
    private var places: [ID: Int] = [:]
    private var ids: [ID] = []
    private var values: [Value] = []
    private var touched: [ID] = []

    var count: Int { values.count }
    var isEmpty: Bool { values.isEmpty }
    /// The identifiers in ascending order: nothing that leaves the node may depend on the order of the entries.
    var sortedIDs: [ID] { ids.sorted() }
    /// The values in no particular order, for questions whose answer does not depend on it.
    var unorderedValues: [Value] { values }

    func contains(_ id: ID) -> Bool { places[id] != nil }

    /// The entry of that name, if there is one.
    func find(_ id: ID) -> Value? { places[id].map { values[$0] } }

    /// The entry of an identifier that is known to have one; read and changed in place.
    subscript(id: ID) -> Value {
        _read { yield values[place(of: id)] }
        _modify {
            touch(id)
            yield &values[place(of: id)]
        }
    }

    private func place(of id: ID) -> Int {
        guard let place = places[id] else { preconditionFailure("no entry of that identifier") }
        return place
    }

    mutating func insert(_ value: Value, for id: ID) {
        touch(id)
        if let place = places[id] {
            values[place] = value
        } else {
            places[id] = values.count
            ids.append(id)
            values.append(value)
        }
    }

    @discardableResult
    mutating func remove(_ id: ID) -> Value? {
        touch(id)
        guard let place = places.removeValue(forKey: id) else { return nil }
        // The last one takes its place.
        ids.swapAt(place, ids.count - 1)
        values.swapAt(place, values.count - 1)
        ids.removeLast()
        if place < ids.count { places[ids[place]] = place }
        return values.removeLast()
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

/// The entries of a table that share a key, in ascending order. Work for one person or chat must not grow with the
/// number of others.
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
