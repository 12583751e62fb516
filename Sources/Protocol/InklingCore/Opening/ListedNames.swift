import InklingWire

/// The service names that the browser lists, and their chats. A node resolves only names of its own chats (D-4).
///
/// The node tries names one after another. So forged names cost no more than ``Limits/namesTried`` a second (D-25).
package struct ListedNames {
    private struct Name {
        /// The number of address families for which each interface lists the name.
        var families: [UInt32: Int]
        var chat: ChatID?
        var isWaiting: Bool
    }

    /// The most names that the node remembers. Above it, a random name without a chat is forgotten.
    package static let capacity = 8_192
    /// The length of a period. Any second overlaps at most two periods.
    private static let period = Duration.seconds(1)
    private static let perPeriod = Limits.namesTried / 2

    private var names: [String: Name] = [:]
    /// The names that belong to no chat, or were not tried yet.
    private var strangers = RandomTable<String, Void>()
    /// The names to try, the next one last. The browser may have removed some of them.
    private var waiting: [String] = []
    private var chats: [ChatKeys] = []
    private var periodEnd: Instant?
    private var triedInPeriod = 0
    private var random: any RandomNumberGenerator & Sendable

    /// Makes an empty list.
    ///
    /// - Parameter random: The generator that chooses the names to forget.
    package init(random: any RandomNumberGenerator & Sendable) { self.random = random }

    /// Begins to recognise names of a chat. All names without a chat are tried again.
    package mutating func join(_ chat: ChatKeys) {
        chats.append(chat)
        for name in names.keys.sorted() where names[name]?.chat == nil { wait(name) }
    }

    /// No longer recognises names of a chat.
    package mutating func leave(_ chat: ChatID) {
        chats.removeAll { $0.id == chat }
        for (name, entry) in names where entry.chat == chat {
            names[name]?.chat = nil
            strangers[name] = ()
        }
    }

    /// Records that the browser lists a name on an interface, for one more address family.
    ///
    /// - Returns: The chat of the name, or nil while unknown. A later ``next(_:)`` may return it.
    package mutating func added(_ name: String, on interface: UInt32) -> ChatID? {
        if names[name] == nil {
            if names.count >= ListedNames.capacity { forgetOne() }
            names[name] = Name(families: [:], chat: nil, isWaiting: false)
            strangers[name] = ()
            wait(name)
        }
        names[name]?.families[interface, default: 0] += 1
        return names[name]?.chat
    }

    /// Records that the browser no longer lists a name on an interface, for one address family.
    ///
    /// - Returns: The chat of the name, or nil if unknown.
    package mutating func removed(_ name: String, on interface: UInt32) -> ChatID? {
        guard var entry = names[name] else { return nil }
        let families = (entry.families[interface] ?? 0) - 1
        entry.families[interface] = families > 0 ? families : nil
        names[name] = entry.families.isEmpty ? nil : entry
        if entry.families.isEmpty { strangers[name] = nil }
        return entry.chat
    }

    /// Removes all names, because the browsers have ended.
    package mutating func removeAll() {
        names = [:]
        strangers = RandomTable()
        waiting = []
    }

    /// Tries waiting names, and returns the next one that belongs to a chat. `interfaces` contains each interface as
    /// often as the interface lists the name. Returns nil without such a name, or at the limit.
    package mutating func next(_ now: Instant) -> (name: String, chat: ChatID, interfaces: [UInt32])? {
        if let end = periodEnd, end <= now { (periodEnd, triedInPeriod) = (nil, 0) }
        while triedInPeriod < ListedNames.perPeriod, let name = waiting.popLast() {
            guard var entry = names[name], entry.isWaiting else { continue }
            entry.isWaiting = false
            triedInPeriod += 1
            periodEnd = periodEnd ?? now + ListedNames.period
            entry.chat = chats.first { (try? $0.nonce(ofInstance: name)) != nil }?.id
            names[name] = entry
            guard let chat = entry.chat else { continue }
            strangers[name] = nil
            let interfaces = entry.families.flatMap { Array(repeating: $0.key, count: $0.value) }
            return (name, chat, interfaces.sorted())
        }
        return nil
    }

    /// The time when ``next(_:)`` can try more names; nil if no name waits.
    package var nextDeadline: Instant? { waiting.isEmpty ? nil : periodEnd }

    private mutating func wait(_ name: String) {
        guard names[name]?.isWaiting == false else { return }
        names[name]?.isWaiting = true
        // The newest name is tried first, so that a flood of names does not delay a friend's new name.
        waiting.append(name)
        guard waiting.count > 2 * ListedNames.capacity else { return }
        waiting.removeAll { names[$0]?.isWaiting != true }
    }

    private mutating func forgetOne() {
        guard let name = strangers.randomKey(using: &random) else { return }
        strangers[name] = nil
        names[name] = nil
    }
}
