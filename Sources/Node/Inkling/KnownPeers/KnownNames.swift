import InklingModel
import InklingWire

/// People by the likenesses of their names.
struct KnownNames: Sendable {
    private var likenesses: [PublicKey: [NameLikeness]] = [:]
    /// The keys of people, by the keys of their names' likenesses.
    private var holders: [String: Set<PublicKey>] = [:]

    /// Computes the likenesses of all names, which takes about 20 µs for each.
    init(_ names: [PublicKey: [String]]) {
        for (key, names) in names { set(names, of: key) }
    }

    subscript(key: PublicKey) -> [NameLikeness] { likenesses[key] ?? [] }

    mutating func set(_ names: [String], of key: PublicKey) {
        remove(key)
        let new = names.map { NameLikeness(of: $0, withParts: false) }
        likenesses[key] = new
        for name in new.flatMap(\.keys) { holders[name, default: []].insert(key) }
    }

    mutating func remove(_ key: PublicKey) {
        for name in likenesses.removeValue(forKey: key)?.flatMap(\.keys) ?? [] {
            holders[name]?.remove(key)
            if holders[name]?.isEmpty == true { holders[name] = nil }
        }
    }

    /// Returns the people known under a name, in any order.
    func holders(of likeness: NameLikeness) -> Set<PublicKey> {
        guard !likeness.whole.isEmpty else { return [] }
        return likeness.keys.reduce(into: Set()) { $0.formUnion(holders[$1] ?? []) }
    }
}
