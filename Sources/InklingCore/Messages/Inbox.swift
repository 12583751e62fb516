import InklingWire

/// The text of others that a node holds, in two pools: messages that its user has not taken yet, and room for messages
/// that are not whole (M-20).
///
/// Each pool keeps a quarter for verified people and gives strangers at most half. Below verified people, each source and
/// each secret chat has a share. So a sender that reserves room and sends nothing more fills its own shares alone. Only
/// senders from many sources together hold back other strangers, and with members of a secret chat also people met before.
struct Inbox {
    /// What one link holds of messages that the node has not delivered to its user.
    struct Pending: Equatable {
        /// Bytes of the reassembly pool: none, or one whole message.
        var reassembly = 0
        /// Bytes that the records named in acks will need among the untaken texts.
        var texts = 0
    }

    /// The shares that a link draws on.
    struct Tenant: Equatable {
        let standing: Standing
        let source: Source?
        /// The link's chat, if that is secret.
        let secretChat: ChatTag?
    }

    /// The bytes that one link holds in both pools.
    private struct Holding {
        var tenant: Tenant
        var untaken = 0
        var pending = Pending()

        var texts: Int { untaken + pending.texts }
        var isEmpty: Bool { texts == 0 && pending.reassembly == 0 }
    }

    private struct Untaken {
        let link: LinkID
        let size: Int
    }

    private var untaken: [UInt64: Untaken] = [:]
    private var holdings: [LinkID: Holding] = [:]
    private var texts = Pool()
    private var reassembly = Pool()
    /// The links of which a record was refused for want of room, with the shares that they draw on.
    private var heldBack: [LinkID: Tenant] = [:]

    /// The bytes that a message of that size counts until the user has taken it.
    static func cost(of size: Int) -> Int { size + Limits.queuedMessageOverhead }

    // MARK: Queries

    /// The bytes of both pools that are in use.
    var size: Int { texts.total + reassembly.total }

    // MARK: Inputs

    /// Whether a link may hold that much of messages that are not delivered. A link that may not gets an ack from
    /// ``release()`` when there is room.
    mutating func admits(_ pending: Pending, of link: LinkID, _ tenant: Tenant) -> Bool {
        let held = place(link, tenant)
        let fits =
            texts.admits(pending.texts - held.pending.texts, held: held.texts, tenant)
            && reassembly.admits(pending.reassembly - held.pending.reassembly, held: held.pending.reassembly, tenant)
        if !fits { heldBack[link] = tenant }
        return fits
    }

    /// Records what a link holds of messages that are not delivered.
    mutating func setPending(_ pending: Pending, of link: LinkID, _ tenant: Tenant) {
        var holding = place(link, tenant)
        texts.add(pending.texts - holding.pending.texts, tenant)
        reassembly.add(pending.reassembly - holding.pending.reassembly, tenant)
        holding.pending = pending
        holdings[link] = holding.isEmpty ? nil : holding
    }

    /// Records what a link still holds of messages that are not delivered, after it may have given some up.
    mutating func update(_ pending: Pending, of link: LinkID) {
        guard let holding = holdings[link], holding.pending != pending else { return }
        setPending(pending, of: link, holding.tenant)
    }

    /// Forgets what a link that ended held of messages that were not delivered.
    mutating func remove(_ link: LinkID) {
        update(Pending(), of: link)
        heldBack[link] = nil
    }

    /// Adds a message that was delivered and that the user has not taken yet.
    mutating func add(_ number: UInt64, size: Int, of link: LinkID, _ tenant: Tenant) {
        let cost = Inbox.cost(of: size)
        var holding = place(link, tenant)
        untaken[number] = Untaken(link: link, size: cost)
        holding.untaken += cost
        holdings[link] = holding
        texts.add(cost, tenant)
    }

    /// Removes a message that the user took.
    mutating func take(_ number: UInt64) {
        guard let message = untaken.removeValue(forKey: number), var holding = holdings[message.link] else { return }
        holding.untaken -= message.size
        texts.add(-message.size, holding.tenant)
        holdings[message.link] = holding.isEmpty ? nil : holding
    }

    /// Returns the links held back of which all shares are half free again, in the order of their making.
    mutating func release() -> [LinkID] {
        guard !heldBack.isEmpty else { return [] }
        let released = heldBack.filter { texts.isHalfFree(for: $0.value) && reassembly.isHalfFree(for: $0.value) }
        for link in released.keys { heldBack[link] = nil }
        return released.keys.sorted()
    }

    /// The holding of a link, counted from now on in the shares of `tenant`: a user verifies people, and links move.
    private mutating func place(_ link: LinkID, _ tenant: Tenant) -> Holding {
        guard var holding = holdings[link] else { return Holding(tenant: tenant) }
        guard holding.tenant != tenant else { return holding }
        texts.add(-holding.texts, holding.tenant)
        reassembly.add(-holding.pending.reassembly, holding.tenant)
        holding.tenant = tenant
        texts.add(holding.texts, tenant)
        reassembly.add(holding.pending.reassembly, tenant)
        holdings[link] = holding
        return holding
    }
}

extension Inbox {
    /// The bytes in use of one pool, by rank, source and secret chat (M-20).
    private struct Pool {
        private(set) var total = 0
        private var unverified = 0
        private var strangers = 0
        private var sources: [Source: Int] = [:]
        private var chats: [ChatTag: Int] = [:]

        /// Whether a link that holds so many bytes may hold `more`.
        func admits(_ more: Int, held: Int, _ tenant: Tenant) -> Bool {
            guard more > 0 else { return true }
            let free = Limits.heldText - total - more
            guard free >= 0, held + more <= free * Limits.heldTextShare else { return false }
            return shares(of: tenant).allSatisfy { $0.used + more <= $0.limit }
        }

        func isHalfFree(for tenant: Tenant) -> Bool {
            total <= Limits.heldText / 2 && shares(of: tenant).allSatisfy { $0.used <= $0.limit / 2 }
        }

        mutating func add(_ bytes: Int, _ tenant: Tenant) {
            guard bytes != 0 else { return }
            total += bytes
            guard tenant.standing < .verified else { return }
            unverified += bytes
            if tenant.standing == .stranger { strangers += bytes }
            if let source = tenant.source { Pool.add(bytes, to: &sources[source]) }
            if let chat = tenant.secretChat { Pool.add(bytes, to: &chats[chat]) }
        }

        private static func add(_ bytes: Int, to used: inout Int?) {
            let sum = (used ?? 0) + bytes
            used = sum == 0 ? nil : sum
        }

        /// The bounds that hold for a tenant, and how much of each is in use.
        private func shares(of tenant: Tenant) -> [(used: Int, limit: Int)] {
            guard tenant.standing < .verified else { return [] }
            var shares = [(used: unverified, limit: Limits.heldTextOfUnverified)]
            if tenant.standing == .stranger { shares.append((strangers, Limits.heldTextOfStrangers)) }
            if let source = tenant.source { shares.append((sources[source] ?? 0, Limits.heldTextPerSource)) }
            if let chat = tenant.secretChat { shares.append((chats[chat] ?? 0, Limits.heldTextPerSecretChat)) }
            return shares
        }
    }
}

extension Surroundings {
    /// The shares that a link draws on for its texts.
    func tenant(of link: Link) -> Inbox.Tenant {
        Inbox.Tenant(
            standing: standing(of: link.personID), source: source(of: link),
            secretChat: secretChats.contains(link.chat) ? link.chat : nil)
    }
}
