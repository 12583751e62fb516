import InklingWire

/// The limits on a node's work for strangers (L-8 to L-11, L-92, L-96, L-97, D-25).
struct AdmissionControl: Sendable {
    private var beforeChecks = SlidingWindow(perSecond: Limits.initiationsBeforeChecks)
    private var load = SlidingWindow(perSecond: Limits.loadInitiations)
    private var retries = SlidingWindow(perSecond: Limits.retries)
    private var retriesToKnown = SlidingWindow(perSecond: Limits.retriesToKnown)
    private var openedOfUnknown = SlidingWindow(perSecond: Limits.cookieInitiationsFromUnknown)
    private var answers = SlidingWindow(perSecond: Limits.answers)
    private var answersToUnpreferred = SlidingWindow(perSecond: Limits.answersToUnpreferred)
    private var answersToUnknown = SlidingWindow(perSecond: Limits.answersToUnknown)
    private var cookiesBySource = ForgetfulTable<Source, TokenBucket>(capacity: Limits.cookieSources)
    private var asksTried = SlidingWindow(perSecond: Limits.asksTried)
    private var tells = SlidingWindow(perSecond: Limits.asksAnswered)
    private var tellsToUnknown = SlidingWindow(perSecond: Limits.asksAnsweredOfUnknown)
    private var datagramsBySource = ForgetfulTable<Source, TokenBucket>(capacity: Limits.links)
    private var suspectPings = SlidingWindow(perSecond: Limits.suspectPings)
    private var suspectPingsToStrangers = SlidingWindow(perSecond: Limits.suspectPings / 2)
    private var key: CookieKey
    private var previousKey: CookieKey
    private var keySince: Instant

    /// The time for which a key makes cookies. A node accepts the key's cookies for as long again (L-11).
    private static let keyLifetime = Limits.cookieLifetime / 2

    init(now: Instant, _ effects: inout Effects) {
        key = effects.cookieKey()
        previousKey = effects.cookieKey()
        keySince = now
    }

    // MARK: Initiations

    /// Returns whether an initiation has a valid cookie for its source.
    mutating func hasValidCookie(
        _ initiation: Initiation, from address: Address, _ effects: inout Effects, now: Instant
    ) -> Bool {
        rotateKey(&effects, now: now)
        return [key, previousKey].contains { $0.fits(initiation, address: address.bytes, port: address.port) }
    }

    /// Counts an initiation. Returns whether the node may check it without a valid cookie (L-8, step 3).
    mutating func admitsCheck(now: Instant) -> Bool { !beforeChecks.count(now) }

    /// The decision on an initiation of one of the node's chats (L-8, step 5).
    enum Screening: Equatable {
        case open
        /// The node sends a retry: the initiator must repeat the initiation with a cookie.
        case retry
        case drop(DropReason)
    }

    /// Decides whether the node opens an initiation of one of its chats.
    ///
    /// - Parameters:
    ///   - acquaintance: The acquaintance at the initiation's source address.
    ///   - isFar: Whether the initiation came with a known hop limit below 255 (L-92).
    mutating func screen(
        hasCookie: Bool, from address: Address, _ acquaintance: Acquaintance, unconfirmedSessions: Int, isFar: Bool,
        _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) -> Screening {
        let isOverRate = load.count(now)
        let needsCookie = isOverRate || isFar || unconfirmedSessions >= Limits.loadUnconfirmedSessions
        guard hasCookie else { return needsCookie ? .retry : .open }
        if acquaintance < .verified, let source = surroundings.source(of: address) {
            guard takeCookie(of: source, &effects, now) else { return .drop(.sourceLimit) }
        }
        return acquaintance > .none || openedOfUnknown.take(now) ? .open : .drop(.answerLimit)
    }

    /// Returns the cookie for a retry; nil if the node has reached its limit of retries (L-96).
    mutating func retry(
        _ initiation: Initiation, to address: Address, _ acquaintance: Acquaintance, now: Instant
    ) -> [UInt8]? {
        guard acquaintance > .none && retriesToKnown.take(now) || retries.take(now) else { return nil }
        return key.cookie(for: initiation, address: address.bytes, port: address.port)
    }

    /// Returns whether the node may answer an initiation that it opened. If so, the answer counts against the limits
    /// (L-10).
    mutating func admitsAnswer(to acquaintance: Acquaintance, now: Instant) -> Bool {
        if acquaintance < .preferred, !answersToUnpreferred.hasRoom(now) { return false }
        if acquaintance < .linked, !answersToUnknown.hasRoom(now) { return false }
        guard answers.take(now) else { return false }
        if acquaintance < .preferred { _ = answersToUnpreferred.take(now) }
        if acquaintance < .linked { _ = answersToUnknown.take(now) }
        return true
    }

    /// Changes the key when its time is over. The previous key's cookies stay valid (L-11).
    private mutating func rotateKey(_ effects: inout Effects, now: Instant) {
        let age = now - keySince
        guard age >= AdmissionControl.keyLifetime else { return }
        let isRecent = age < AdmissionControl.keyLifetime * 2
        previousKey = isRecent ? key : effects.cookieKey()
        key = effects.cookieKey()
        // The new key's time starts when the old key's time ended, even if the change is late. So no key counts for
        // over 240 s.
        keySince = isRecent ? keySince + AdmissionControl.keyLifetime : now
    }

    private mutating func takeCookie(of source: Source, _ effects: inout Effects, _ now: Instant) -> Bool {
        var bucket =
            cookiesBySource[source]
            ?? TokenBucket(
                perSecond: Limits.cookieInitiationsPerSource,
                burst: source == .otherUsers
                    ? Limits.cookieInitiationsOfHostBurst : Limits.cookieInitiationsPerSourceBurst,
                now: now)
        defer { cookiesBySource.set(bucket, for: source, &effects) }
        return bucket.take(now)
    }

    // MARK: Asks

    /// Returns whether the node may try to match one more ask with its chats (D-25).
    mutating func admitsAsk(now: Instant) -> Bool { asksTried.take(now) }

    /// Returns whether the node may answer an ask. Half of the tells are kept for known addresses on this network
    /// (D-25).
    mutating func admitsTell(isKnown: Bool, now: Instant) -> Bool {
        if !isKnown, !tellsToUnknown.hasRoom(now) { return false }
        guard tells.take(now) else { return false }
        if !isKnown { _ = tellsToUnknown.take(now) }
        return true
    }

    // MARK: Links

    /// Counts a datagram against the limit of all links of its source (L-25). The node's own user is not limited.
    ///
    /// - Returns: Whether the limit permits the datagram.
    mutating func takesDatagram(of source: Source?, _ effects: inout Effects, now: Instant) -> Bool {
        guard let source else { return true }
        var bucket =
            datagramsBySource[source]
            ?? TokenBucket(perSecond: Limits.datagramsPerSource, burst: Limits.datagramsPerSource, now: now)
        defer { datagramsBySource.set(bucket, for: source, &effects) }
        return bucket.take(now)
    }

    /// Counts the datagrams of one ping to a suspect link (L-76).
    ///
    /// - Returns: Whether the limit permits all of them. If not, none counts.
    mutating func takesPing(_ count: Int, isStranger: Bool, now: Instant) -> Bool {
        guard suspectPings.hasRoom(now, for: count) else { return false }
        guard !isStranger || suspectPingsToStrangers.hasRoom(now, for: count) else { return false }
        for _ in 0..<count {
            _ = suspectPings.take(now)
            if isStranger { _ = suspectPingsToStrangers.take(now) }
        }
        return true
    }
}
