import InklingWire

/// The people as reported to the user: their presence and typing.
struct Roster: Sendable {
    private struct Shown {
        let presence: Presence
        let name: String
    }

    /// A person who is typing, on one or several devices.
    private struct Typist {
        /// The time since when the person is shown as typing.
        let since: Instant
        var links: Set<LinkID>
    }

    /// The last reported presence of all people who are online or away.
    private var people: [PersonID: Shown] = [:]
    private var typists: [ChatID: [PublicKey: Typist]] = [:]
    /// The last reported lists of typists.
    private var shownTyping: [ChatID: [Person]] = [:]
    private var paces: [ChatID: ReportPace] = [:]
    /// The chats whose deadlines may have changed.
    private var touched = Touched<ChatID>()

    // MARK: Queries

    /// Returns the time of the next waiting report.
    func nextDeadline(in chat: ChatID) -> Instant? { paces[chat]?.nextDeadline }

    /// The people who are typing in a chat, in the order of the list (T-20).
    func typing(in chat: ChatID) -> [Person] { shownTyping[chat] ?? [] }

    /// Whether any person is shown as typing, in any chat.
    var isTypingShown: Bool { !shownTyping.isEmpty }

    /// Returns the name of a person: the name on the newest shown link, or the last reported one (T-28).
    func name(of person: PersonID, _ links: LinkTable) -> String {
        links.name(of: person) ?? people[person]?.name ?? ""
    }

    // MARK: Typing

    /// Records whether the peer of a shown link is typing (T-19).
    ///
    /// - Returns: Whether this changed.
    mutating func update(_ link: LinkID, of person: PersonID, isTyping: Bool, now: Instant) -> Bool {
        guard isTyping else { return remove(link, of: person) }
        // The start is the time since when the person is shown as typing (T-20).
        var typist = typists[person.chat]?[person.key] ?? Typist(since: now, links: [])
        guard typist.links.insert(link).inserted else { return false }
        typists[person.chat, default: [:]][person.key] = typist
        return true
    }

    /// Records that a link's peer is not typing, or that the link ended.
    ///
    /// - Returns: Whether the peer was typing.
    @discardableResult
    mutating func remove(_ link: LinkID, of person: PersonID) -> Bool {
        guard var chat = typists[person.chat], var typist = chat[person.key], typist.links.remove(link) != nil else {
            return false
        }
        chat[person.key] = typist.links.isEmpty ? nil : typist
        typists[person.chat] = chat.isEmpty ? nil : chat
        return true
    }

    /// Reports the list of typists in a chat if it changed. The latest start comes first, then the order is by name and
    /// user ID (T-20). With too many changes the report waits (T-22).
    ///
    /// - Parameter key: The person whose typing or name changed; nil when a waiting report is due.
    mutating func tellTyping(
        of key: PublicKey?, in chat: ChatID, _ links: LinkTable, _ effects: inout Effects, now: Instant
    ) {
        var pace = takePace(of: chat, now)
        defer { paces[chat] = pace }
        if let key, let due = pace.listDue, now < due {
            // A list is due anyway, so there is no need to sort it now. The messages of a person who stopped typing
            // wait for it.
            let isOver = typists[chat]?[key] == nil && pace.listed.contains(key)
            return effects.holdMessages(of: key, in: chat, isOver)
        }
        pace.listDue = nil
        let before = shownTyping[chat] ?? []
        let typing = list(chat, pace, links)
        if typing != before {
            guard pace.lists.take(now) else {
                pace.listDue = pace.lists.nextToken(now)
                let left = Set(typing.map(\.key))
                for key in pace.listed { effects.holdMessages(of: key, in: chat, !left.contains(key)) }
                return
            }
            shownTyping[chat] = typing.isEmpty ? nil : typing
            pace.listed = Set(typing.map(\.key))
            effects.tell(.typing(chat, typing))
        }
        effects.releaseMessages(in: chat)
    }

    private func list(_ chat: ChatID, _ pace: ReportPace, _ links: LinkTable) -> [Person] {
        var listed = typists[chat] ?? [:]
        // A person can be in a list only after the person's presence was reported.
        for key in pace.due.keys where people[PersonID(chat: chat, key: key)] == nil { listed[key] = nil }
        if let only = listed.keys.first, listed.count == 1 {
            return [Person(key: only, name: name(of: PersonID(chat: chat, key: only), links))]
        }
        return
            listed
            .map { key, typist in
                let person = Person(key: key, name: name(of: PersonID(chat: chat, key: key), links))
                return (since: typist.since, person: person)
            }
            .sorted { left, right in
                if left.since != right.since { return left.since > right.since }
                if left.person.name != right.person.name {
                    return left.person.name.utf8.lexicographicallyPrecedes(right.person.name.utf8)
                }
                return left.person.key.userID < right.person.key.userID
            }
            .map(\.person)
    }

    // MARK: Presence

    /// Reports a person's presence if it or the name changed. With too many changes the report waits (T-26).
    ///
    /// - Parameter reason: The reason to report if the person is offline now.
    mutating func tellPresence(
        of id: PersonID, _ reason: PresenceReason, _ links: LinkTable, _ effects: inout Effects, now: Instant
    ) {
        let (presence, newestName) = links.shown(of: id)
        let before = people[id]
        let name = newestName ?? before?.name ?? ""
        if before?.presence == presence, before?.name == name, paces[id.chat]?.concerns(id.key) == false { return }
        var pace = takePace(of: id.chat, now)
        pace.due[id.key] = nil
        var later: Instant?
        let isNews = before?.presence != presence || before?.name != name
        let kept = pace.kept.removeValue(forKey: id.key)
        if presence == .offline, reason == .replaced, let kept, now < kept {
            (pace.kept[id.key], later) = (kept, kept)
        } else if isNews, before != nil || presence != .offline {
            // Waiting messages of a person are reported before the person's presence.
            let isBehindMessage = effects.holdsMessage(of: id.key, in: id.chat)
            later = isBehindMessage ? pace.listDue : pace.takeReport(of: id.key, now)
        }
        if let later {
            pace.due[id.key] = reason
            pace.presenceDue = earliest(pace.presenceDue, or: later)
        }
        paces[id.chat] = pace
        guard isNews, before != nil || presence != .offline, later == nil else { return }
        let why: PresenceReason
        switch (before?.presence ?? .offline, presence) {
        case (_, .offline): why = reason
        case (.offline, .online), (.offline, .away), (.online, .online): why = .hello
        case (.online, .away), (.away, .away): why = .away
        case (.away, .online): why = .back
        }
        people[id] = presence == .offline ? nil : Shown(presence: presence, name: name)
        effects.tell(.presence(id.chat, Person(key: id.key, name: name), presence, why))
        tellTyping(of: id.key, in: id.chat, links, &effects, now: now)
    }

    /// Keeps a person shown until `end` while the link's new state comes up (L-103).
    mutating func keepShown(_ id: PersonID, until end: Instant) {
        if people[id] != nil { paces[id.chat]?.kept[id.key] = end }
    }

    // MARK: Time

    /// Makes the waiting reports that the rates permit by now.
    mutating func advance(_ chat: ChatID, _ links: LinkTable, _ effects: inout Effects, now: Instant) {
        guard let pace = paces[chat] else { return }
        touched.insert(chat)
        if let due = pace.listDue, due <= now { tellTyping(of: nil, in: chat, links, &effects, now: now) }
        paces[chat]?.presenceDue = nil
        for (key, reason) in pace.due.sorted(by: { $0.key < $1.key }) {
            tellPresence(of: PersonID(chat: chat, key: key), reason, links, &effects, now: now)
        }
    }

    /// Makes all waiting reports now, because effects of the user's own command show at once.
    mutating func tellDue(in chat: ChatID, _ links: LinkTable, _ effects: inout Effects, now: Instant) {
        guard let pace = paces[chat], pace.nextDeadline != nil else { return }
        paces[chat] = pace.begunAnew(now)
        advance(chat, links, &effects, now: now)
        paces[chat]?.resume(pace, now)
    }

    /// Returns the chats whose deadlines may have changed since the last call.
    mutating func takeTouched() -> Touched<ChatID> { touched.take() }

    private mutating func takePace(of chat: ChatID, _ now: Instant) -> ReportPace {
        touched.insert(chat)
        return paces.removeValue(forKey: chat) ?? ReportPace(now: now)
    }

    /// Forgets everything about a chat that the node left.
    mutating func forget(_ chat: ChatID) {
        for id in Array(people.keys) where id.chat == chat { people[id] = nil }
        typists[chat] = nil
        shownTyping[chat] = nil
        paces[chat] = nil
        touched.insert(chat)
    }
}

/// The pace of one chat's reports. Any number of peers cannot report faster than the reader can read (T-22, T-26).
struct ReportPace: Sendable {
    /// The budget for lists of typists.
    var lists: TokenBucket
    /// The time of the next list that differs from the last reported one; nil if none differs.
    var listDue: Instant?
    /// The people in the last reported list.
    var listed: Set<PublicKey> = []
    /// The people whose presence or name differs from the last report, with the reason for those who are gone.
    var due: [PublicKey: PresenceReason] = [:]
    /// The times until which people stay shown whose link began a new state (L-103).
    var kept: [PublicKey: Instant] = [:]
    /// The time of the first report in `due`.
    var presenceDue: Instant?

    /// The budget for a second report about the same person within a second.
    private var repetitions: TokenBucket
    /// The people reported in the last second, and the times of their last reports.
    private var told: [PublicKey: Instant] = [:]
    /// The reports of the last second, the oldest at `head`.
    private var reports: [(key: PublicKey, at: Instant)] = []
    private var head = 0

    init(now: Instant) {
        lists = TokenBucket(perSecond: Limits.lists, burst: Limits.lists, now: now)
        repetitions = TokenBucket(
            perSecond: Limits.presences, burst: Limits.presences, now: now)
    }

    var nextDeadline: Instant? { earliest(listDue, presenceDue) }

    /// Returns whether a report about a person waits, or the person stays shown for a while.
    func concerns(_ key: PublicKey) -> Bool { due[key] != nil || kept[key] != nil }

    /// Uses the budget for a report about a person.
    ///
    /// - Returns: The earliest time for the report, or nil if it may go now.
    mutating func takeReport(of key: PublicKey, _ now: Instant) -> Instant? {
        forget(now)
        if let last = told[key], !repetitions.take(now) {
            return min(repetitions.nextToken(now), last + .seconds(1))
        }
        told[key] = now
        reports.append((key, now))
        return nil
    }

    /// Takes over the budgets of an earlier pace, and counts its reports of the last second (T-22, T-26).
    mutating func resume(_ other: ReportPace, _ now: Instant) {
        (lists, repetitions) = (other.lists, other.repetitions)
        reports = Array(other.reports[other.head...] + reports[head...])
        head = 0
        told.merge(other.told) { newer, _ in newer }
        forget(now)
    }

    /// Returns a pace with full budgets and the same waiting reports, all of them due.
    func begunAnew(_ now: Instant) -> ReportPace {
        var pace = ReportPace(now: now)
        pace.listDue = listDue.map { _ in now }
        pace.listed = listed
        (pace.due, pace.kept) = (due, kept)
        return pace
    }

    private mutating func forget(_ now: Instant) {
        while head < reports.count, now - reports[head].at >= .seconds(1) {
            if told[reports[head].key] == reports[head].at { told[reports[head].key] = nil }
            head += 1
        }
        guard head > 64, head * 2 > reports.count else { return }
        reports.removeFirst(head)
        head = 0
    }
}
