import InklingWire

/// What a node does for strangers, bounded (L-8 to L-13, D-13): cookies under load, answers by second and by source.
struct AdmissionControl {
    private var load = SlidingWindow(perSecond: Limits.loadInitiationsPerSecond)
    private var retries = SlidingWindow(perSecond: Limits.retriesPerSecond)
    private var retriesToKnown = SlidingWindow(perSecond: Limits.retriesToKnownPerSecond)
    private var openedOfUnknown = SlidingWindow(perSecond: Limits.initiationsOpenedOfUnknownPerSecond)
    private var answers = SlidingWindow(perSecond: Limits.initiationsAnsweredPerSecond)
    private var answersToUnpreferred = SlidingWindow(perSecond: Limits.answersToUnpreferredPerSecond)
    private var answersToUnknown = SlidingWindow(perSecond: Limits.answersToUnknownPerSecond)
    private var bySource = ForgetfulTable<Source, TokenBucket>(capacity: Limits.initiationSources)
    private var tells = SlidingWindow(perSecond: Limits.asksAnsweredPerSecond)
    private var tellsToUnknown = SlidingWindow(perSecond: Limits.asksOfUnknownAnsweredPerSecond)
    private var secret: CookieSecret
    private var previousSecret: CookieSecret
    private var secretSince: Instant

    init(now: Instant, _ effects: inout Effects) {
        secret = effects.cookieSecret()
        previousSecret = effects.cookieSecret()
        secretSince = now
    }

    // MARK: Inputs

    /// What becomes of an initiation before anything is computed for it.
    enum Screening: Equatable {
        /// It may be opened.
        case open
        /// The node is under load: the initiation has to come again, with this cookie. A cookie that came was no good.
        case retry(cookie: [UInt8], hadCookie: Bool)
        /// Its source has used up its share.
        case drop(DropReason)
    }

    /// An initiation for one of our chats came that was not answered before.
    ///
    /// - Parameters:
    ///   - acquaintance: Who is known to be at its address.
    mutating func screen(
        _ initiation: Initiation, from address: Address, _ acquaintance: Acquaintance, unconfirmedSessions: Int,
        _ surroundings: Surroundings, _ effects: inout Effects, now: Instant
    ) -> Screening {
        let isOverRate = load.count(now)
        let isUnderLoad = isOverRate || unconfirmedSessions >= Limits.loadUnconfirmedSessions
        rotateSecret(&effects, now: now)
        if hasValidCookie(initiation, from: address) {
            if acquaintance < .verified, let source = surroundings.source(of: address) {
                guard takeInitiation(of: source, &effects, now) else { return .drop(.sourceLimit) }
            }
            let isOpened = acquaintance > .none || openedOfUnknown.take(now)
            return isOpened ? .open : .drop(.answerLimit)
        }
        guard isUnderLoad else { return .open }
        guard acquaintance > .none && retriesToKnown.take(now) || retries.take(now) else { return .drop(.answerLimit) }
        let cookie = secret.cookie(for: initiation, address: address.bytes, port: address.port)
        return .retry(cookie: cookie, hadCookie: initiation.cookie != nil)
    }

    /// An initiation opened: whether it may be answered. Half of the answers is for anybody, a quarter is kept for
    /// addresses with a live link, and a quarter for those of preferred keys.
    mutating func admitsAnswer(to acquaintance: Acquaintance, now: Instant) -> Bool {
        if acquaintance < .preferred, !answersToUnpreferred.hasRoom(now) { return false }
        if acquaintance < .linked, !answersToUnknown.hasRoom(now) { return false }
        guard answers.take(now) else { return false }
        if acquaintance < .preferred { _ = answersToUnpreferred.take(now) }
        if acquaintance < .linked { _ = answersToUnknown.take(now) }
        return true
    }

    /// Somebody asks for our key: whether they may get it. Half of the tells is kept for known addresses.
    mutating func admitsTell(to acquaintance: Acquaintance, now: Instant) -> Bool {
        if acquaintance == .none, !tellsToUnknown.hasRoom(now) { return false }
        guard tells.take(now) else { return false }
        if acquaintance == .none { _ = tellsToUnknown.take(now) }
        return true
    }

    // MARK: Cookies

    private func hasValidCookie(_ initiation: Initiation, from source: Address) -> Bool {
        guard initiation.cookie != nil else { return false }
        return [secret, previousSecret].contains {
            $0.matches(initiation, address: source.bytes, port: source.port)
        }
    }

    /// Changes the secret when its time is over; the one before still counts (L-11).
    private mutating func rotateSecret(_ effects: inout Effects, now: Instant) {
        let age = now - secretSince
        guard age >= Limits.cookieSecretLifetime else { return }
        let isRecent = age < Limits.cookieSecretLifetime * 2
        previousSecret = isRecent ? secret : effects.cookieSecret()
        secret = effects.cookieSecret()
        // Counted from when the one before was due to change, so that no secret counts for longer than 240 s.
        secretSince = isRecent ? secretSince + Limits.cookieSecretLifetime : now
    }

    /// Takes a token of that source; the table of sources stays bounded.
    private mutating func takeInitiation(of source: Source, _ effects: inout Effects, _ now: Instant) -> Bool {
        var bucket =
            bySource[source]
            ?? TokenBucket(
                perSecond: Limits.cookieInitiationsPerSecondPerSource,
                burst: source == .otherUsers
                    ? Limits.cookieInitiationBurstOfOtherUsers : Limits.cookieInitiationBurstPerSource,
                now: now)
        defer { bySource.set(bucket, for: source, &effects) }
        return bucket.take(now)
    }
}
