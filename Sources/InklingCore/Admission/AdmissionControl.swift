import InklingWire

/// What a node does for strangers, bounded (L-8 to L-13, D-13): cookies under load, answers by second and by source.
struct AdmissionControl {
    private var load = SlidingWindow(perSecond: Limits.loadInitiationsPerSecond)
    private var answers = SlidingWindow(perSecond: Limits.initiationsAnsweredPerSecond)
    private var answersToStrangers = SlidingWindow(perSecond: Limits.initiationsAnsweredPerSecond / 2)
    private var bySource: [Address: TokenBucket] = [:]
    private var asks = SlidingWindow(perSecond: Limits.asksAnsweredPerSecond)
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
    mutating func screen(
        _ initiation: Initiation, from source: Address, unconfirmedSessions: Int, _ effects: inout Effects,
        now: Instant
    ) -> Screening {
        let isOverRate = load.count(now)
        let isUnderLoad = isOverRate || unconfirmedSessions >= Limits.loadUnconfirmedSessions
        rotateSecret(&effects, now: now)
        if hasValidCookie(initiation, from: source) {
            return takeInitiation(of: source, now) ? .open : .drop(.sourceLimit)
        }
        guard isUnderLoad else { return .open }
        let cookie = secret.cookie(for: initiation, address: source.bytes, port: source.port)
        return .retry(cookie: cookie, hadCookie: initiation.cookie != nil)
    }

    /// An initiation opened: whether it is within the half of the answers that anybody may have. The other half is kept
    /// for addresses of live links and of peers that were found.
    mutating func admitsStranger(now: Instant) -> Bool { answersToStrangers.take(now) }

    /// Whether one more answer may be given, to anybody.
    mutating func admitsAnswer(now: Instant) -> Bool { answers.take(now) }

    /// Somebody asks for our key: whether they may get it.
    mutating func admitsTell(now: Instant) -> Bool { asks.take(now) }

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
    private mutating func takeInitiation(of source: Address, _ now: Instant) -> Bool {
        let host = Address(high: source.high, low: source.low, port: 0, scope: source.scope)
        if bySource[host] == nil, bySource.count >= Limits.initiationSources {
            bySource = bySource.filter { !$0.value.isFull(now) }
            guard bySource.count < Limits.initiationSources else { return false }
        }
        var bucket =
            bySource[host]
            ?? TokenBucket(
                perSecond: Limits.cookieInitiationsPerSecondPerSource, burst: Limits.cookieInitiationBurstPerSource,
                now: now)
        defer { bySource[host] = bucket }
        return bucket.take(now)
    }
}
