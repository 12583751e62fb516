/// Entries by their identifiers. The table records which entries were accessed for writing, so that the node can update
/// their deadlines.
///
/// The entries lie in an array, in no particular order. Code can read them in place there; a dictionary would copy
/// them. A search among sorted identifiers takes a third of the instructions that hashing takes.
struct Table<ID: Comparable & Sendable, Value: Sendable>: Sendable {
    /// The identifiers in ascending order, because a node's outputs must not depend on the order of the entries.
    private(set) var sortedIDs: [ID] = []
    /// The place of each identifier's entry, in the order of the identifiers.
    private var places: [Int] = []
    private var values: [Value] = []
    /// The identifier of each entry.
    private var ids: [ID] = []
    private var touched: [ID] = []

    var count: Int { values.count }
    var isEmpty: Bool { values.isEmpty }
    /// The values in no particular order, for queries whose result does not depend on the order.
    var unorderedValues: [Value] { values }

    func contains(_ id: ID) -> Bool { place(of: id) != nil }

    /// Returns the entry of an identifier; nil if there is none.
    func find(_ id: ID) -> Value? { place(of: id).map { values[$0] } }

    /// The entry of an identifier that is known to exist. Reads and changes happen in place.
    subscript(id: ID) -> Value {
        _read { yield values[knownPlace(of: id)] }
        _modify {
            touch(id)
            yield &values[knownPlace(of: id)]
        }
    }

    private func knownPlace(of id: ID) -> Int {
        guard let place = place(of: id) else { preconditionFailure("no entry of that identifier") }
        return place
    }

    private func place(of id: ID) -> Int? {
        let rank = rank(of: id)
        return rank < sortedIDs.count && sortedIDs[rank] == id ? places[rank] : nil
    }

    /// Returns the number of identifiers below one.
    private func rank(of id: ID) -> Int {
        var (low, high) = (0, sortedIDs.count)
        while low < high {
            let middle = (low + high) / 2
            if sortedIDs[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func insert(_ value: Value, for id: ID) {
        touch(id)
        if let place = place(of: id) {
            values[place] = value
        } else {
            let rank = rank(of: id)
            sortedIDs.insert(id, at: rank)
            places.insert(values.count, at: rank)
            ids.append(id)
            values.append(value)
        }
    }

    @discardableResult
    mutating func remove(_ id: ID) -> Value? {
        touch(id)
        guard let place = place(of: id) else { return nil }
        // The last entry moves to the free place.
        places[rank(of: ids[ids.count - 1])] = place
        ids.swapAt(place, ids.count - 1)
        values.swapAt(place, values.count - 1)
        ids.removeLast()
        let rank = rank(of: id)
        sortedIDs.remove(at: rank)
        places.remove(at: rank)
        return values.removeLast()
    }

    private mutating func touch(_ id: ID) {
        if touched.last != id { touched.append(id) }
    }

    /// Returns the entries that were accessed for writing, added or removed since the last call. An entry may occur
    /// several times.
    mutating func takeTouched() -> [ID] {
        guard !touched.isEmpty else { return [] }
        defer { touched.removeAll() }
        return touched
    }
}

/// The entries of a table by a common key, in ascending order. With it, work for one person or chat does not grow with
/// the number of others.
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
