import InklingWire

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
    private var touched = Touched<ID>()

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

    /// Passes an entry in place; nil without the entry. `body` changes nothing, so the entry does not count as touched.
    ///
    /// Swift copies a large value before a call that only reads it. Hence the `inout`.
    @inline(__always)
    mutating func inspect<Result>(_ id: ID, _ body: (inout Value) -> Result) -> Result? {
        guard let place = place(of: id) else { return nil }
        return body(&values[place])
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

    private mutating func touch(_ id: ID) { touched.insert(id) }

    /// Returns the entries that were accessed for writing, added or removed since the last call. An entry may occur
    /// several times.
    mutating func takeTouched() -> Touched<ID> { touched.take() }
}

/// The identifiers of touched entries, in their order. Most inputs touch one entry, which needs no allocation.
struct Touched<ID: Equatable & Sendable>: Sequence, IteratorProtocol, Sendable {
    private var first: ID?
    private var rest: [ID] = []
    private var read = 0

    mutating func insert(_ id: ID) {
        guard let first else { return self.first = id }
        if rest.last ?? first != id { rest.append(id) }
    }

    /// Returns the identifiers, and removes them.
    mutating func take() -> Touched<ID> {
        guard first != nil else { return self }
        defer { self = Touched() }
        return self
    }

    mutating func next() -> ID? {
        if let first {
            self.first = nil
            return first
        }
        guard read < rest.count else { return nil }
        defer { read += 1 }
        return rest[read]
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

/// The number of a link within its node, in the order in which links were made.
package struct LinkID: Hashable, Comparable, Sendable {
    package let value: UInt64
    package static func < (left: LinkID, right: LinkID) -> Bool { left.value < right.value }
}

/// The number of an instance within its node, in the order in which instances became known.
struct InstanceID: Hashable, Comparable, Sendable {
    let value: UInt64
    static func < (left: InstanceID, right: InstanceID) -> Bool { left.value < right.value }
}

/// A node's local identifier of one of its chats. No datagram contains the identifier, or any other constant of a chat.
package struct ChatID: Hashable, Comparable, Sendable {
    package let value: UInt64

    package static func < (left: ChatID, right: ChatID) -> Bool { left.value < right.value }
}

extension ChatKeys {
    /// The identifier of the chat, the same on all its nodes.
    package var id: ChatID { ChatID(value: prologueKey.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }) }
}

/// One identity in one chat.
struct PersonID: Hashable, Comparable, Sendable {
    let chat: ChatID
    let key: PublicKey
    static func < (left: PersonID, right: PersonID) -> Bool {
        left.chat == right.chat ? left.key < right.key : left.chat < right.chat
    }
}

/// The source or destination of a datagram: an IPv6 address, a port, and the scope of a link-local address.
///
/// An IPv4 address has its IPv4-mapped form (`::ffff:a.b.c.d`), so that no address has two forms.
package struct Address: Hashable, Sendable, Comparable {
    /// The first eight bytes of the IPv6 address, big-endian.
    package let high: UInt64
    /// The last eight bytes of the IPv6 address, big-endian.
    package let low: UInt64
    /// The UDP port, 1 to 65,535.
    package let port: UInt16
    /// The interface index of an IPv6 link-local address; 0 for any other.
    package let scope: UInt32

    package init(high: UInt64, low: UInt64, port: UInt16, scope: UInt32 = 0) {
        self.high = high
        self.low = low
        self.port = port
        self.scope = high >> 54 == 0x3FA ? scope : 0
    }

    /// Makes an IPv4 address. `ipv4` has the four bytes in big-endian order.
    package init(ipv4: UInt32, port: UInt16) {
        self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(ipv4), port: port)
    }

    /// The four bytes of an IPv4 address, big-endian; nil for IPv6.
    package var ipv4: UInt32? {
        high == 0 && low >> 32 == 0xFFFF ? UInt32(truncatingIfNeeded: low) : nil
    }

    /// True for `fe80::/10`.
    package var isIPv6LinkLocal: Bool { high >> 54 == 0x3FA }

    /// True for an address of one host: neither multicast, broadcast nor unspecified, with a port.
    package var isUnicast: Bool {
        guard port != 0 else { return false }
        if let ipv4 {
            return ipv4 >> 24 != 0 && ipv4 >> 28 < 0xE
        }
        return high >> 56 != 0xFF && !(high == 0 && low == 0)
    }

    package var isLoopback: Bool {
        if let ipv4 { return ipv4 >> 24 == 127 }
        return high == 0 && low == 1
    }

    /// The sixteen bytes of the IPv6 form, in network order.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: high >> shift))
        }
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: low >> shift))
        }
        return bytes
    }

    package static func < (left: Address, right: Address) -> Bool {
        (left.high, left.low, left.port, left.scope) < (right.high, right.low, right.port, right.scope)
    }
}

/// A network of this host: the host's address in it, and the length of the network's prefix.
package struct LocalNetwork: Hashable, Sendable {
    /// The address of this host on that network. The port has no meaning and is 0.
    package let address: Address
    /// The number of leading bits, of 128, that all hosts of the network share. An IPv4 /24 network has 120.
    package let prefixLength: Int

    package init(address: Address, prefixLength: Int) {
        self.address = address
        self.prefixLength = min(max(prefixLength, 0), 128)
    }

    /// Returns whether this host reaches `other` through this network without a router.
    package func contains(_ other: Address) -> Bool {
        if other.isIPv6LinkLocal || address.isIPv6LinkLocal {
            return other.isIPv6LinkLocal && address.isIPv6LinkLocal && other.scope == address.scope
        }
        let highBits = min(prefixLength, 64)
        let lowBits = max(prefixLength - 64, 0)
        let highMask: UInt64 = highBits == 0 ? 0 : ~0 << UInt64(64 - highBits)
        let lowMask: UInt64 = lowBits == 0 ? 0 : ~0 << UInt64(64 - lowBits)
        return (other.high ^ address.high) & highMask == 0 && (other.low ^ address.low) & lowMask == 0
    }
}
