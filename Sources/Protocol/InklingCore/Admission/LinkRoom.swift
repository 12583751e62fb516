import InklingWire

/// The rules for a full node: which new links it makes, and which links it evicts for them (L-39, L-52, L-53, L-99).
extension LinkTable {
    enum Room: Equatable {
        case free
        /// There is room if the node evicts this link.
        case inPlace(of: LinkID)
        case none
    }

    /// The properties of a link on which its eviction depends.
    private struct Tenant {
        let id: LinkID
        let isDown: Bool
        let standing: Standing
        let source: Source?
        let chat: ChatID
    }

    /// Returns whether the node has room for another link with a person.
    ///
    /// - Parameters:
    ///   - address: The peer's address.
    ///   - chatCount: The number of chats that the node is in.
    func room(
        for person: PersonID, at address: Address, chatCount: Int, _ surroundings: Surroundings
    ) -> Room {
        let standing = surroundings.standing(of: person)
        let source = surroundings.source(of: address)
        let isCounted = source != nil && standing < .verified
        let own = ids(of: person)
        let oldestDown = own.first { self[$0].isDown }
        guard own.count < Limits.linksPerKey else { return oldestDown.map { .inPlace(of: $0) } ?? .none }
        guard isCounted || count >= Limits.links else { return .free }
        let tenants = unordered.map { link in
            Tenant(
                id: link.id, isDown: link.isDown, standing: surroundings.standing(of: link.personID),
                source: surroundings.source(of: link), chat: link.chat)
        }
        if isCounted {
            let there = tenants.filter { $0.source == source && $0.standing < .verified }
            let limit = source == .otherUsers ? Limits.linksOfOtherUsers : Limits.linksPerSource
            if there.count >= limit { return LinkTable.lower(than: standing, among: there) ?? .none }
        }
        guard count >= Limits.links else { return .free }
        if let oldestDown { return .inPlace(of: oldestDown) }
        if let room = LinkTable.lower(than: standing, among: tenants) { return room }
        guard standing < .verified else { return .none }
        let equals = tenants.filter { $0.standing == standing }
        return inSource(source, among: equals) ?? inChat(person.chat, chatCount, among: equals) ?? .none
    }

    /// Returns a link of the lowest standing if that is below `standing`: the newest down link, or else the newest link
    /// (L-52).
    private static func lower(than standing: Standing, among tenants: [Tenant]) -> Room? {
        guard let lowest = tenants.map(\.standing).min(), lowest < standing else { return nil }
        return newest(tenants.filter { $0.standing == lowest })
    }

    /// Returns the newest link of the source that has the most of these links. The source must have at least two more
    /// than `source` (L-99).
    private func inSource(_ source: Source?, among tenants: [Tenant]) -> Room? {
        var groups: [Source: [Tenant]] = [:]
        for tenant in tenants {
            if let source = tenant.source { groups[source, default: []].append(tenant) }
        }
        let own = source.flatMap { groups[$0]?.count } ?? 0
        guard let largest = LinkTable.largest(groups.values), largest.count >= own + 2 else { return nil }
        return LinkTable.newest(largest)
    }

    /// Returns the newest link of the chat that most exceeds its share, provided that `chat` is below its own share.
    private func inChat(_ chat: ChatID, _ chatCount: Int, among tenants: [Tenant]) -> Room? {
        let share = Limits.links / max(chatCount, 1)
        guard ids(in: chat).count < share else { return nil }
        let crowded = tenants.filter { ids(in: $0.chat).count > share }
        let most = crowded.map { ids(in: $0.chat).count }.max()
        return LinkTable.newest(crowded.filter { ids(in: $0.chat).count == most })
    }

    /// Returns the largest group. Among equal groups, the group with the newest link wins, so that the order of groups
    /// has no effect.
    private static func largest(_ groups: some Collection<[Tenant]>) -> [Tenant]? {
        func rank(_ group: [Tenant]) -> (Int, LinkID) {
            (group.count, group.map(\.id).max() ?? LinkID(value: 0))
        }
        return groups.max { rank($0) < rank($1) }
    }

    /// Returns the newest down link, or the newest link if none is down.
    private static func newest(_ tenants: [Tenant]) -> Room? {
        let down = tenants.filter(\.isDown)
        return (down.isEmpty ? tenants : down).map(\.id).max().map { .inPlace(of: $0) }
    }
}
