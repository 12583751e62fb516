import InklingWire

/// The text of others that a node holds: what came and its user has not taken, and what is being put together (M-20).
///
/// A link is given room before a message begins, as much as the message may need: so whatever was acknowledged is shown.
/// A link gets no more while it would hold over three times what is then still free. So those who hold the most are held
/// back first, and whoever is quiet finds room.
struct Inbox {
    private struct Untaken {
        let link: LinkID
        let size: Int
    }

    private var untaken: [UInt64: Untaken] = [:]
    /// The bytes that a link holds: of messages that were not taken, and of what is being put together.
    private var taken: [LinkID: Int] = [:]
    private var joining: [LinkID: Int] = [:]
    private var total = 0
    /// The links of which something was refused for want of room.
    private var heldBack: Set<LinkID> = []

    /// The bytes that a message of that size counts until the user has taken it.
    static func cost(of size: Int) -> Int { size + Limits.queuedMessageOverhead }

    // MARK: Queries

    /// The bytes of all that is held.
    var size: Int { total }

    // MARK: Inputs

    /// Whether a link may hold so many bytes more. If not, it is told when there is room.
    mutating func admits(_ size: Int, of link: LinkID) -> Bool {
        let held = (taken[link] ?? 0) + (joining[link] ?? 0) + size
        let free = Limits.heldText - total - size
        guard free >= 0, held <= free * Limits.heldTextShare else {
            heldBack.insert(link)
            return false
        }
        return true
    }

    /// What a link holds of messages that are not whole, from now on.
    mutating func setJoining(_ size: Int, of link: LinkID) {
        total += size - (joining[link] ?? 0)
        joining[link] = size == 0 ? nil : size
    }

    /// A message goes to the user, who has not taken it yet.
    mutating func add(_ number: UInt64, size: Int, of link: LinkID) {
        let cost = Inbox.cost(of: size)
        untaken[number] = Untaken(link: link, size: cost)
        taken[link, default: 0] += cost
        total += cost
    }

    /// The user took a message.
    mutating func take(_ number: UInt64) {
        guard let message = untaken.removeValue(forKey: number) else { return }
        total -= message.size
        let rest = (taken[message.link] ?? 0) - message.size
        taken[message.link] = rest == 0 ? nil : rest
    }

    /// The links that were held back, in the order of their making, once half is free again.
    mutating func release() -> [LinkID] {
        guard !heldBack.isEmpty, total <= Limits.heldText / 2 else { return [] }
        defer { heldBack = [] }
        return heldBack.sorted()
    }
}
