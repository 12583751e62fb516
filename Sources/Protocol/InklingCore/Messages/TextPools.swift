import InklingWire

/// Room for texts that a link asks for or gives back.
enum TextDemand: Equatable, Sendable {
    /// 65,792 bytes among the unfinished for a message that begins (M-39).
    case begin
    /// The end of such a message, which frees its bytes.
    case end
    /// Room among the unfinished for a record beyond the expected one, with a body of so many bytes (M-40).
    case hold(Int)
    /// The end of such a record, which frees its bytes.
    case drop(Int)
    /// Room among the texts for a whole message of so many bytes (M-39).
    case deliver(Int)
}

/// The texts of others that a node holds: texts that its user has not taken, and unfinished messages (M-20).
///
/// Each pool keeps a quarter for verified people and gives strangers at most half. Each source and each secret chat has a
/// share. A sender that fills its own shares thus holds back nobody else (M-42).
struct TextPools<LinkID, SourceID, ChatID>: Sendable
where LinkID: Hashable & Comparable & Sendable, SourceID: Hashable & Sendable, ChatID: Hashable & Sendable {
    /// The shares that a link draws on. A rank or an address that changed takes effect with the next demand.
    struct Tenant: Equatable, Sendable {
        let standing: Standing
        /// Nil for a source that has no share: a socket of the node's own user.
        let source: SourceID?
        /// The link's chat if it is secret.
        let secretChat: ChatID?
    }

    private var texts = Pool(size: Limits.textsHeld)
    private var unfinished = Pool(size: Limits.unfinishedTexts)

    // MARK: Inputs

    /// Answers a demand of a link, and applies it if there is room. A link without room comes out of ``release()`` later.
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

    /// Frees a text of `size` bytes that the user has taken, also of a link that was removed.
    mutating func take(_ size: Int, of link: LinkID) { texts.free(cost(of: size), link) }

    /// Frees the unfinished messages of a link that ended or lost its state. Its texts still count.
    mutating func remove(_ link: LinkID) {
        unfinished.remove(link)
        texts.forgetRefusal(link)
    }

    /// Returns the links that found no room and whose shares are half free again, in order (M-41).
    mutating func release() -> [LinkID] { Set(texts.release() + unfinished.release()).sorted() }

    // MARK: Queries

    /// The bytes of both pools that are in use.
    var size: Int { texts.total + unfinished.total }

    private func cost(of size: Int) -> Int { size + Limits.heldTextOverhead }
}

extension TextPools {
    /// The bytes in use of one pool, in all and by share (M-42).
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

        /// - Parameter belowHalf: Whether each share has to be less than half full before (M-40).
        mutating func take(_ bytes: Int, _ link: LinkID, _ tenant: Tenant, belowHalf: Bool = false) -> Bool {
            move(link, to: tenant)
            let own = held[link]?.bytes ?? 0
            let fits = shares(of: tenant).allSatisfy {
                let before = used[$0] ?? 0
                return before + bytes <= $0.limit && (!belowHalf || before * 2 < $0.limit)
            }
            // A link that holds over three times what is free waits, so that one friend leaves room for others.
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
            let released = refused.filter { shares(of: $0.value).allSatisfy { (used[$0] ?? 0) * 2 <= $0.limit } }
            for link in released.keys { refused[link] = nil }
            return Array(released.keys)
        }

        /// Counts what a link holds in the shares of its present tenant.
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
