import InklingWire

/// A link's request for room for texts, or its return of room.
enum TextDemand: Equatable, Sendable {
    /// A message begins, and reserves 65,792 bytes among the unfinished messages (M-39).
    case begin
    /// A begun message ends, and frees its reservation.
    case end
    /// A record beyond the expected one needs room among the unfinished messages, for a body of this size (M-40).
    case hold(Int)
    /// A record beyond the expected one no longer waits, and frees its room.
    case drop(Int)
    /// A complete message of this size needs room among the texts (M-39).
    case deliver(Int)
}

/// The texts from peers that a node holds: unfinished messages, and texts that its user has not taken (M-20).
///
/// Each pool keeps a quarter for verified people and gives strangers at most half. Each source and each secret chat has
/// a share. A sender that fills its own shares thus holds back nobody else (M-42).
struct TextPools<LinkID, SourceID, ChatID>: Sendable
where LinkID: Hashable & Comparable & Sendable, SourceID: Hashable & Sendable, ChatID: Hashable & Sendable {
    /// The shares that a link uses. A change of rank or address takes effect with the next demand.
    struct Tenant: Equatable, Sendable {
        let standing: Standing
        /// The source; nil for a socket of the node's own user, which has no share.
        let source: SourceID?
        /// The link's chat if it has a secret; nil for an open chat.
        let secretChat: ChatID?
    }

    private var texts = Pool(size: Limits.textsHeld)
    private var unfinished = Pool(size: Limits.unfinishedTexts)

    // MARK: Inputs

    /// Answers a link's demand, and reserves the room if there is any. ``release()`` later returns a link that found no
    /// room.
    ///
    /// - Returns: Whether there is room; true if the demand frees room.
    mutating func grant(_ demand: TextDemand, to link: LinkID, _ tenant: Tenant) -> Bool {
        switch demand {
        case .begin: return unfinished.take(Limits.reservation, link, tenant)
        case .end: unfinished.free(Limits.reservation, link)
        case .hold(let size): return unfinished.take(cost(of: size), link, tenant, belowHalf: true)
        case .drop(let size): unfinished.free(cost(of: size), link)
        case .deliver(let size): return texts.take(cost(of: size), link, tenant)
        }
        return true
    }

    /// Frees a text of `size` bytes that the user has taken, even if its link was removed.
    mutating func take(_ size: Int, of link: LinkID) { texts.free(cost(of: size), link) }

    /// Frees the unfinished messages of a link that ended or lost its state. Texts that the user has not taken still
    /// count.
    mutating func remove(_ link: LinkID) {
        unfinished.remove(link)
        texts.forgetRefusal(link)
    }

    /// Returns the links that found no room before and whose shares are now at most half full, in order (M-41).
    mutating func release() -> [LinkID] {
        let released = texts.release() + unfinished.release()
        return released.isEmpty ? [] : Set(released).sorted()
    }

    // MARK: Queries

    /// The used bytes of both pools.
    var size: Int { texts.total + unfinished.total }

    private func cost(of size: Int) -> Int { size + Limits.heldTextOverhead }
}

extension TextPools {
    /// The used bytes of one pool, in total and by share (M-42).
    private struct Pool {
        private struct Share: Hashable {
            enum Owner: Hashable {
                case all, unverified, strangers
                case chat(ChatID)
                case source(SourceID)
            }

            let owner: Owner
            let limit: Int
        }

        let size: Int
        private var used: [Share: Int] = [:]
        private var held: [LinkID: (tenant: Tenant, bytes: Int)] = [:]
        private var refused: [LinkID: Tenant] = [:]

        init(size: Int) { self.size = size }

        var total: Int { used[Share(owner: .all, limit: size)] ?? 0 }

        /// Reserves bytes for a link.
        ///
        /// - Parameter belowHalf: Whether each share must be less than half full before (M-40).
        mutating func take(_ bytes: Int, _ link: LinkID, _ tenant: Tenant, belowHalf: Bool = false) -> Bool {
            move(link, to: tenant)
            let own = held[link]?.bytes ?? 0
            let fits = shares(of: tenant).allSatisfy {
                let before = used[$0] ?? 0
                return before + bytes <= $0.limit && (!belowHalf || before * 2 < $0.limit)
            }
            // A link may hold at most three times the free bytes. So one friend leaves room for others.
            guard fits, own <= (size - total) * 3 else {
                refused[link] = tenant
                return false
            }
            add(bytes, link, tenant)
            return true
        }

        mutating func free(_ bytes: Int, _ link: LinkID) {
            guard let tenant = held[link]?.tenant else { return }
            add(-bytes, link, tenant)
        }

        mutating func remove(_ link: LinkID) {
            if let bytes = held[link]?.bytes { free(bytes, link) }
            forgetRefusal(link)
        }

        mutating func forgetRefusal(_ link: LinkID) { refused[link] = nil }

        mutating func release() -> [LinkID] {
            guard !refused.isEmpty else { return [] }
            let released = refused.filter { shares(of: $0.value).allSatisfy { (used[$0] ?? 0) * 2 <= $0.limit } }
            for link in released.keys { refused[link] = nil }
            return Array(released.keys)
        }

        /// Moves the bytes of a link to the shares of its current tenant.
        private mutating func move(_ link: LinkID, to tenant: Tenant) {
            guard let (old, bytes) = held[link], old != tenant else { return }
            add(-bytes, link, old)
            add(bytes, link, tenant)
        }

        private mutating func add(_ bytes: Int, _ link: LinkID, _ tenant: Tenant) {
            for share in shares(of: tenant) {
                let sum = (used[share] ?? 0) + bytes
                used[share] = sum > 0 ? sum : nil
            }
            let sum = (held[link]?.bytes ?? 0) + bytes
            held[link] = sum > 0 ? (tenant, sum) : nil
        }

        private func shares(of tenant: Tenant) -> [Share] {
            var shares = [Share(owner: .all, limit: size)]
            func add(_ owner: Share.Owner, _ part: (numerator: Int, denominator: Int)) {
                shares.append(Share(owner: owner, limit: size / part.denominator * part.numerator))
            }
            guard tenant.standing < .verified else { return shares }
            add(.unverified, Limits.shareOfUnverified)
            if tenant.standing == .stranger { add(.strangers, Limits.shareOfStrangers) }
            if let chat = tenant.secretChat { add(.chat(chat), Limits.shareOfSecretChat) }
            if let source = tenant.source { add(.source(source), Limits.shareOfSource) }
            return shares
        }
    }
}
