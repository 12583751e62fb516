import InklingWire

/// Which links a node makes when it holds as many as it may, and which it evicts for them (L-39, L-52, L-53, L-99).
extension LinkTable {
    enum Room: Equatable {
        case free
        /// Only in the place of that link, which is evicted.
        case inPlace(of: LinkID)
        case none
    }

    /// The properties of a link that decide on eviction.
    private struct Tenant {
        let id: LinkID
        let isDown: Bool
        let standing: Standing
        let source: Source?
        let chat: ChatID
    }

    /// Whether there is room for another link with a person.
    ///
    /// - Parameters:
    ///   - address: Where the peer is.
    ///   - chatCount: How many chats the node is in.
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

    /// The newest down link of the lowest rank, or else its newest, if that rank is lower (L-52).
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

    /// The newest link of the chat that is furthest over its share, if `chat` has less than its own.
    private func inChat(_ chat: ChatID, _ chatCount: Int, among tenants: [Tenant]) -> Room? {
        let share = Limits.links / max(chatCount, 1)
        guard ids(in: chat).count < share else { return nil }
        let crowded = tenants.filter { ids(in: $0.chat).count > share }
        let most = crowded.map { ids(in: $0.chat).count }.max()
        return LinkTable.newest(crowded.filter { ids(in: $0.chat).count == most })
    }

    /// The largest group; of several the one with the newest link, so that nothing depends on their order.
    private static func largest(_ groups: some Collection<[Tenant]>) -> [Tenant]? {
        func rank(_ group: [Tenant]) -> (Int, LinkID) {
            (group.count, group.map(\.id).max() ?? LinkID(value: 0))
        }
        return groups.max { rank($0) < rank($1) }
    }

    /// The newest down link of these, or else the newest.
    private static func newest(_ tenants: [Tenant]) -> Room? {
        let down = tenants.filter(\.isDown)
        return (down.isEmpty ? tenants : down).map(\.id).max().map { .inPlace(of: $0) }
    }
}
