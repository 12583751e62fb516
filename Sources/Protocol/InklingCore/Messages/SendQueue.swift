import InklingWire

/// The waiting texts and the waiting name of a link, which have no record numbers yet.
///
/// A part gets its record number at its first transmission (M-10). So a name can go before texts that were queued
/// earlier.
struct SendQueue {
    /// The content of a record that is sent for the first time.
    struct Part {
        /// The message or invite that the part belongs to; nil for another type.
        var message: UInt64?
        var type = RecordType.text
        var isFirst = true
        var isLast = true
        /// The ID of the text; nil for other messages, and for texts that nobody keeps (M-80).
        var textID: TextID?
        let body: [UInt8]
        /// The link's up time when the first record of the message was sent.
        let begun: Duration

        /// The part's size for the limit of its link's queue (M-14).
        var cost: Int { message == nil ? 0 : body.count + (isLast ? Limits.queuedMessageOverhead : 0) }
    }

    private struct Waiting {
        let message: UInt64
        let type: RecordType
        let textID: TextID?
        var text: [UInt8]
        var offset = 0
        var begun: Duration?
    }

    /// The body of a greasing record that is sent before the next message.
    var greasing: [UInt8]?
    /// The bytes of waiting text, plus 256 for each message.
    private(set) var bytes = 0
    private var waiting: [Waiting] = []
    private var head = 0
    private var name: [UInt8]
    private var isNameWaiting = true
    private var lastName: Instant?
    /// The body of the successor record, after which the link sends nothing more; nil on most links (M-65).
    private(set) var successor: [UInt8]?
    private(set) var isSuccessorWaiting = false

    init(name: String) { self.name = Array(name.utf8) }

    /// Whether no text waits.
    var isEmpty: Bool { head == waiting.count }
    /// The message of the first waiting text; nil if none waits.
    var first: UInt64? { isEmpty ? nil : waiting[head].message }
    /// The link's up time when the first record of ``first`` was sent; nil before that.
    var firstBegun: Duration? { isEmpty ? nil : waiting[head].begun }
    /// The messages that wait completely or in part, oldest first.
    var messages: [UInt64] { waiting[head...].map(\.message) }
    /// The earliest time for the waiting name; nil if none waits (M-24).
    var nameDue: Instant? {
        guard isNameWaiting, isBetweenMessages else { return nil }
        return lastName.map { $0 + Limits.nameInterval } ?? .zero
    }

    /// Whether the successor waits for its turn between two messages.
    var isSuccessorDue: Bool { isSuccessorWaiting && isBetweenMessages }

    private var isBetweenMessages: Bool { isEmpty || waiting[head].offset == 0 }

    /// The IDs of the texts that wait completely or in part.
    var textIDs: [TextID] { waiting[head...].compactMap(\.textID) }

    mutating func add(_ message: UInt64, _ type: RecordType = .text, _ id: TextID? = nil, text: [UInt8]) {
        bytes += text.count + Limits.queuedMessageOverhead
        waiting.append(Waiting(message: message, type: type, textID: id, text: text))
    }

    mutating func rename(_ name: String) {
        let bytes = Array(name.utf8)
        guard bytes != self.name else { return }
        self.name = bytes
        isNameWaiting = true
    }

    /// Schedules the current name again.
    mutating func repeatName() { isNameWaiting = true }

    /// Schedules the successor again, if there is one.
    mutating func repeatSuccessor() { isSuccessorWaiting = successor != nil }

    /// Lets the name go at once, as record 0 of a new state (M-24).
    mutating func beginState() {
        isNameWaiting = true
        lastName = nil
        repeatSuccessor()
    }

    /// Drops all texts of which no record was sent, and queues a successor, which replaces an earlier one.
    ///
    /// - Returns: The dropped messages.
    mutating func close(with successor: [UInt8]) -> [UInt64] {
        let begun = isBetweenMessages ? head : head + 1
        let dropped = waiting[begun...]
        bytes -= dropped.reduce(0) { $0 + $1.text.count + Limits.queuedMessageOverhead }
        waiting.removeLast(dropped.count)
        if self.successor != successor {
            self.successor = successor
            isSuccessorWaiting = true
        }
        return dropped.map(\.message)
    }

    /// Removes the first text if some of it was already sent.
    ///
    /// - Returns: The message of the removed text.
    mutating func dropBegun() -> UInt64? {
        guard !isBetweenMessages else { return nil }
        let begun = waiting[head]
        bytes -= begun.text.count - begun.offset + Limits.queuedMessageOverhead
        advanceHead()
        return begun.message
    }

    /// Removes the texts with an ID, of which nothing was sent (M-86).
    ///
    /// - Returns: Their messages.
    mutating func dropIdentified() -> [UInt64] {
        let dropped = waiting[head...].filter { $0.textID != nil }
        guard !dropped.isEmpty else { return [] }
        bytes -= dropped.reduce(0) { $0 + $1.text.count + Limits.queuedMessageOverhead }
        waiting = waiting[head...].filter { $0.textID == nil }
        head = 0
        return dropped.map(\.message)
    }

    /// Removes a text with an ID if nothing of it was sent.
    ///
    /// - Returns: Whether the text was there.
    mutating func remove(_ id: TextID) -> Bool {
        guard let place = waiting[head...].firstIndex(where: { $0.textID == id && $0.offset == 0 }) else {
            return false
        }
        bytes -= waiting[place].text.count + Limits.queuedMessageOverhead
        waiting.remove(at: place)
        return true
    }

    mutating func removeAll() {
        bytes = 0
        waiting = []
        head = 0
    }

    /// Removes and returns the next part: the name if it is due, then the successor, or else up to 1,167 bytes of text.
    /// A text is cut between two Unicode scalars (M-1, M-27).
    mutating func next(now: Instant, up: Duration) -> Part? {
        if let nameDue, nameDue <= now {
            isNameWaiting = false
            lastName = now
            return Part(type: .name, body: name, begun: up)
        }
        if let successor, isSuccessorDue {
            isSuccessorWaiting = false
            return Part(type: .successor, body: successor, begun: up)
        }
        if let body = greasing, isBetweenMessages {
            greasing = nil
            return Part(type: Greasing.recordType, body: body, begun: up)
        }
        guard !isEmpty else { return nil }
        let first = waiting[head]
        let room =
            first.offset == 0 && first.textID != nil ? Limits.maximumIdentifiedTextSize : Limits.maximumRecordTextSize
        var end = min(first.offset + room, first.text.count)
        // A continuation byte of UTF-8 must stay with the bytes before it.
        while end < first.text.count, end > first.offset, first.text[end] & 0xC0 == 0x80 { end -= 1 }
        let begun = first.begun ?? up
        waiting[head].begun = begun
        waiting[head].offset = end
        let isLast = end == first.text.count
        if isLast { advanceHead() }
        let part = Part(
            message: first.message, type: first.type, isFirst: first.offset == 0, isLast: isLast,
            textID: first.textID, body: Array(first.text[first.offset..<end]), begun: begun)
        bytes -= part.cost
        return part
    }

    private mutating func advanceHead() {
        waiting[head].text = []
        head += 1
        guard head > 64, head * 2 > waiting.count else { return }
        waiting.removeFirst(head)
        head = 0
    }
}

/// The node's own messages that a person has not completely acknowledged. Each message has one outcome for each person
/// (M-17).
struct Outbox<LinkID: Hashable & Sendable, PersonID: Hashable & Sendable>: Sendable {
    /// The outcome of a message for one person.
    struct Outcome: Hashable, Sendable {
        let message: UInt64
        let person: PersonID
        /// The reason for a failure; nil if the message was delivered.
        let failure: FailureReason?
    }

    /// The result of adding a message.
    enum Admission: Equatable, Sendable {
        /// A peer's queue is full, so the node sends the message to nobody (M-14, M-30).
        case refused
        /// The node queues the message on these links. For the people in `failed`, the message failed at once (M-30,
        /// M-84).
        case accepted(message: UInt64, over: [LinkID], failed: [Outcome])
    }

    /// The links on which a message may still be delivered, by message and person.
    private var messages: [UInt64: [PersonID: Set<LinkID>]] = [:]
    private var newest: UInt64 = 0

    /// The number of messages that wait for an outcome.
    var count: Int { messages.count }

    // MARK: Inputs

    /// Adds a message for named links, whether they are up, suspect or down (M-36).
    mutating func add(to links: [(link: LinkID, person: PersonID, room: RecordSender.Room)]) -> Admission {
        let open = links.filter { $0.room == .fits }
        let isForNobody = open.isEmpty && !links.isEmpty && !links.contains { $0.room == .waits }
        guard !isForNobody, !links.contains(where: { $0.room == .full }) else { return .refused }
        newest += 1
        var waiting: [PersonID: Set<LinkID>] = [:]
        for link in open { waiting[link.person, default: []].insert(link.link) }
        if !waiting.isEmpty { messages[newest] = waiting }
        var failed: [Outcome] = []
        for link in links where waiting[link.person] == nil && !failed.contains(where: { $0.person == link.person }) {
            failed.append(Outcome(message: newest, person: link.person, failure: .stalled))
        }
        return .accepted(message: newest, over: open.map(\.link), failed: failed)
    }

    /// Adds links to a message that waits for a person (M-86).
    mutating func extend(_ message: UInt64, to person: PersonID, over links: [LinkID]) {
        messages[message]?[person]?.formUnion(links)
    }

    /// Ends a message for a person without an outcome.
    mutating func withdraw(_ message: UInt64, to person: PersonID) { finish(message, person) }

    /// Records that a link acknowledged a message completely.
    ///
    /// - Returns: The outcome; nil if the person has one already.
    mutating func delivered(_ message: UInt64, to person: PersonID, over link: LinkID) -> Outcome? {
        guard let links = messages[message]?[person], links.contains(link) else { return nil }
        finish(message, person)
        return Outcome(message: message, person: person, failure: nil)
    }

    /// Records that a link will not acknowledge a message completely.
    ///
    /// - Returns: The outcome; nil if another link of the person may still deliver the message, or if the person has an
    ///   outcome already (M-18).
    mutating func failed(
        _ message: UInt64, to person: PersonID, over link: LinkID, _ reason: FailureReason
    ) -> Outcome? {
        guard messages[message]?[person]?.remove(link) != nil else { return nil }
        guard messages[message]?[person]?.isEmpty == true else { return nil }
        finish(message, person)
        return Outcome(message: message, person: person, failure: reason)
    }

    private mutating func finish(_ message: UInt64, _ person: PersonID) {
        messages[message]?[person] = nil
        if messages[message]?.isEmpty == true { messages[message] = nil }
    }
}

/// The rates of record datagrams, and the turns of the links that wait to send (M-13, M-21).
///
/// A link with a record asks for a turn. Turns have the order of the requests. So a link that has sent comes after all
/// links that waited before.
struct RecordPacer<LinkID: Hashable & Comparable & Sendable>: Sendable {
    private var node: TokenBucket
    private var links: [LinkID: TokenBucket] = [:]
    /// The links that wait for a turn, in order.
    private var turns: [LinkID] = []
    /// The links that wait because of their own rate, with the times of their next tokens.
    private var resting: [LinkID: Instant] = [:]
    /// All links in ``turns`` and ``resting``.
    private var waiting: Set<LinkID> = []
    private var sentSinceRead = 0

    init(now: Instant) {
        node = TokenBucket(perSecond: Limits.recordsPerNode, burst: Limits.recordsPerNodeBurst, now: now)
    }

    // MARK: Inputs

    /// Records a read of the socket, even of an empty one. The node may then send 64 more records (M-13).
    mutating func socketWasRead() { sentSinceRead = 0 }

    /// Requests a turn for a link that has a record. A link that has requested one keeps its place.
    mutating func request(_ link: LinkID) {
        guard waiting.insert(link).inserted else { return }
        turns.append(link)
    }

    /// Returns the link whose turn it is, and which may send one record now; nil if no link may send.
    ///
    /// The call uses up the turn, even if the link sends nothing. ``sent(_:now:)`` counts the record.
    mutating func nextLink(_ now: Instant) -> LinkID? {
        wake(now)
        while sentSinceRead < Limits.recordsBetweenReads, node.has(now), !turns.isEmpty {
            let link = turns.removeFirst()
            guard bucket(of: link, now).has(now) else {
                resting[link] = bucket(of: link, now).nextToken(now)
                continue
            }
            waiting.remove(link)
            return link
        }
        return nil
    }

    /// Counts a record datagram that a link sent, including repeats.
    mutating func sent(_ link: LinkID, now: Instant) {
        var bucket = bucket(of: link, now)
        _ = bucket.take(now)
        links[link] = bucket
        _ = node.take(now)
        sentSinceRead += 1
    }

    /// Forgets a link that ended, and its rate. A link that only went down lets its turns pass.
    mutating func remove(_ link: LinkID) {
        links[link] = nil
        resting[link] = nil
        if waiting.remove(link) != nil { turns.removeAll { $0 == link } }
    }

    // MARK: Queries

    /// Returns the time of the next turn; nil if no link waits. After 64 records the time is 1 ms later, so that the
    /// owner reads the socket.
    func nextDeadline(_ now: Instant) -> Instant? {
        let rested = resting.values.min()
        guard !turns.isEmpty else { return rested }
        let pause = sentSinceRead < Limits.recordsBetweenReads ? Duration.zero : .milliseconds(1)
        return earliest(rested, or: max(node.nextToken(now), now + pause))
    }

    // MARK: Helpers

    /// Moves links whose next token has arrived to the links that wait for a turn.
    private mutating func wake(_ now: Instant) {
        let due = resting.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (link, _) in due {
            resting[link] = nil
            turns.append(link)
        }
    }

    private func bucket(of link: LinkID, _ now: Instant) -> TokenBucket {
        links[link]
            ?? TokenBucket(perSecond: Limits.recordsPerLink, burst: Limits.recordsPerLinkBurst, now: now)
    }
}

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
