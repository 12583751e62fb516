import InklingWire
import Testing

/// A row of `Protocol/limits.md`, and its value as the code has it.
struct LimitRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let value: String

    init(_ name: String, _ value: String) {
        testDescription = name
        self.value = value
    }

    static let all: [LimitRow] = sizes + texts + tables + rates + records + typing + links + openings + timers

    private static let sizes: [LimitRow] = [
        LimitRow("initiation", "\(initiation.encode().count), \(withCookie.encode().count) bytes"),
        LimitRow(
            "response; retry; ask and tell",
            "\(Response(receiverIndex: 0, noise: zeros(Limits.noiseMessage2Size)).encode().count); "
                + "\(Retry(receiverIndex: 0, cookie: zeros(Limits.cookieSize)).encode().count); "
                + "\(Ask(token: 0, check: 0).encode().count) bytes"),
        LimitRow(
            "sealed datagram",
            "\(SealedDatagram.headerSize + SealedDatagram.plaintextSizes.lowerBound + CipherKey.tagSize) to "
                + "\(count(Limits.maximumDatagramSize)) bytes"),
        LimitRow("zeros of an ask", "\(Limits.askZeros) bytes"),
        LimitRow(
            "Noise messages; payloads",
            "\(Limits.noiseMessage1Size), \(Limits.noiseMessage2Size); "
                + "\(Limits.noiseMessage1Size - 96), \(Limits.noiseMessage2Size - 48) bytes"),
        LimitRow("prologue", "\(chat.prologue(senderIndex: 0).count) bytes"),
        LimitRow(
            "keys; secret; check; nonce",
            "\(Limits.keySize); \(Limits.secretSize); \(Limits.checkSize); \(UInt64.bitWidth / 8) bytes"),
        LimitRow("sealed key", "\(Limits.sealedKeySize) bytes; \(Limits.sealedKeySize * 8 / 6) characters"),
        LimitRow("instance name", "\(Limits.instanceNameLength) characters"),
        LimitRow("index; cookie", "\(UInt32.bitWidth / 8); \(Limits.cookieSize) bytes"),
        LimitRow("token of an ask; of a ping", "\(UInt64.bitWidth / 8); \(UInt16.bitWidth / 8) bytes"),
        LimitRow("run; epoch", "\(UInt64.bitWidth / 8); \(UInt32.bitWidth / 8) bytes"),
    ]

    private static let texts: [LimitRow] = [
        LimitRow(
            "key; secret; user ID in text",
            "\(key.base64url.count); \(secret.base32.count); \(key.userID.description.count) characters"),
        LimitRow("chat name", range(Limits.chatNameSizes) + " bytes"),
        LimitRow("display name", "\(Limits.maximumDisplayNameSize) bytes"),
        LimitRow("message", range(Limits.messageSizes) + " bytes"),
        LimitRow("text of a record", range(1...Limits.maximumRecordTextSize) + " bytes"),
        LimitRow("TXT sent; read", "\(Limits.maximumTXTSizeSent); \(count(Limits.maximumTXTSizeRead)) bytes"),
        LimitRow(
            "last counter; will",
            "2^32 − \(1 << 32 - Int(Limits.lastCounter)); 2^32 − \(1 << 32 - Int(Limits.lastWillCounter))"),
        LimitRow("replay window", count(Limits.replayWindow)),
        LimitRow("hop limit", "\(Limits.hopLimit)"),
        LimitRow("greasing", "1 in \(Limits.greasingRarity); \(range(Limits.greasingSizes)) bytes"),
    ]

    private static let tables: [LimitRow] = [
        LimitRow("chats; links", "\(Limits.chats); \(count(Limits.links))"),
        LimitRow("links per source; of the host", "\(Limits.linksPerSource); \(Limits.linksOfOtherUsers)"),
        LimitRow("links per key and chat", "\(Limits.linksPerKey)"),
        LimitRow("sessions per link", "\(Limits.sessionsPerLink); \(s(Limits.replaceableSession))"),
        LimitRow("unconfirmed sessions", "\(Limits.unconfirmedSessions); \(s(Limits.unconfirmedSession))"),
        LimitRow("candidates; instances per key", "\(Limits.candidatesPerInstance); \(Limits.instancesPerKey)"),
        LimitRow("instances without room", "\(Limits.instancesWithoutRoom)"),
        LimitRow("remembered keys; addresses", "\(Limits.rememberedKeys); \(Limits.rememberedAddressesPerKey)"),
        LimitRow("addresses after byes", "\(Limits.addressesAfterByes)"),
        LimitRow("datagrams while catching up", count(Limits.datagramsCaughtUp)),
        LimitRow(
            "pending initiations", "\(Limits.pendingInitiations); \(Limits.pendingInitiationsOfStrangers) strangers'"),
        LimitRow("bytes to an unconfirmed address", "\(Limits.unconfirmedAddressFactor) times"),
        LimitRow("more links of the fullest source", "\(Limits.moreLinksOfFullestSource)"),
        LimitRow("addresses of a host; look-up", "\(Limits.addressesOfHost); \(s(Limits.hostLookUp))"),
        LimitRow("keys at an address", "\(Limits.keysPerAddress)"),
    ]

    private static let rates: [LimitRow] = [
        LimitRow(
            "initiations sent",
            "\(Limits.initiationsSent) a second; \(Limits.initiationsSentToStrangers) to strangers"),
        LimitRow(
            "to a silent address",
            "\(Limits.initiationsToSilent) a second, burst \(Limits.initiationsToSilentBurst); "
                + "\(Limits.initiationsToSilentKept) kept"),
        LimitRow(
            "addresses remembered", "\(count(Limits.addressesRemembered)); \(count(Limits.addressesRemembered))"),
        LimitRow(
            "responses opened",
            "\(Limits.responsesPerTransmission) an initiation; \(Limits.responsesFromElsewhere) a second elsewhere"),
        LimitRow("initiations before checks", "\(count(Limits.initiationsBeforeChecks)) a second"),
        LimitRow("load", "\(Limits.loadInitiations) a second; \(Limits.loadUnconfirmedSessions) unconfirmed"),
        LimitRow("retries", "\(Limits.retries) a second; \(Limits.retriesToKnown) to known"),
        LimitRow(
            "answers", "\(Limits.answers) a second; \(Limits.answersToUnpreferred); \(Limits.answersToUnknown)"),
        LimitRow(
            "with cookie per source",
            "\(Limits.cookieInitiationsPerSource) a second, burst \(Limits.cookieInitiationsPerSourceBurst); "
                + "host \(Limits.cookieInitiationsOfHostBurst)"),
        LimitRow(
            "with cookie, unknown; sources",
            "\(Limits.cookieInitiationsFromUnknown) a second; \(count(Limits.cookieSources))"),
        LimitRow("cookie", s(Limits.cookieLifetime)),
        LimitRow(
            "datagrams per link; per source",
            "\(count(Limits.datagramsPerLink)) a second, burst \(count(Limits.datagramsPerLinkBurst)); "
                + "\(count(Limits.datagramsPerSource)), burst \(count(Limits.datagramsPerSourceBurst))"),
        LimitRow(
            "pings of suspect links",
            "\(count(Limits.suspectPings)) a second; \(Limits.suspectPingsToStrangers) to strangers; "
                + "\(Limits.suspectPingsPerLink) a link"),
        LimitRow("asks; names tried", "\(Limits.asksTried); \(count(Limits.namesTried)) a second"),
        LimitRow("asks answered", "\(Limits.asksAnswered) a second; \(Limits.asksAnsweredOfUnknown) unknown"),
        LimitRow(
            "resolves",
            "\(Limits.resolves); \(Limits.resolvesBegun) a second, burst \(Limits.resolvesBegunBurst); "
                + s(Limits.resolveTimeout)),
        LimitRow("addresses asked", "\(Limits.addressesAsked); \(Limits.addressesAskedBegun) a second"),
        LimitRow("starts per link", "\(Limits.starts) a second, burst \(Limits.starts)"),
        LimitRow("lists; presences and names", "\(Limits.lists) a second, burst \(Limits.presences)"),
    ]

    private static let records: [LimitRow] = [
        LimitRow(
            "records above; window",
            "\(Limits.recordsAbove); \(Limits.initialWindow) at first, \(Limits.maximumWindow)"),
        LimitRow("later records until a repeat", "\(Limits.laterRecordsUntilRepeat)"),
        LimitRow(
            "records per link; per node",
            "\(Limits.recordsPerLink) a second, burst \(Limits.recordsPerLinkBurst); \(count(Limits.recordsPerNode)), "
                + "burst \(Limits.recordsPerNodeBurst)"),
        LimitRow("records between two reads", "\(Limits.recordsBetweenReads)"),
        LimitRow(
            "queue per link",
            "\(mebibytes(Limits.queueSize)); \(Limits.queuedMessageOverhead) bytes a message; "
                + s(Limits.overdueMessage)),
        LimitRow("removed keys", "\(Limits.removedKeys)"),
        LimitRow("moves of a chain", "once in \(s(Limits.moveInterval)), burst \(Limits.moveBurst)"),
        LimitRow("newcomers who are strangers", "\(Limits.newcomers)"),
        LimitRow(
            "text ID; text beside it",
            "\(Limits.textIDSize + 3); \(count(Limits.maximumIdentifiedTextSize)) bytes"),
        LimitRow(
            "runs of a sender; numbers below; senders",
            "\(Limits.runsSeen); \(Limits.textsSeen); \(count(Limits.peopleSeen))"),
        LimitRow("texts sent ahead", "\(Limits.textsSeen)"),
        LimitRow(
            "texts held; unfinished",
            "\(mebibytes(Limits.textsHeld)); \(mebibytes(Limits.unfinishedTexts)); \(Limits.heldTextOverhead) bytes"),
        LimitRow("reservation", "\(count(Limits.reservation)) bytes"),
        LimitRow(
            "shares",
            [Limits.shareOfUnverified, Limits.shareOfStrangers, Limits.shareOfSecretChat, Limits.shareOfSource]
                .map { "\($0.numerator)/\($0.denominator)" }.joined(separator: ", ")),
        LimitRow("invitations; from others", "\(Limits.invitations); \(Limits.invitationsOfOthers)"),
    ]

    private static let typing: [LimitRow] = [
        LimitRow("typing expiry; idle stop", "\(seconds(Limits.typingExpiry)); \(s(Limits.typingIdleStop))"),
        LimitRow("start interval", ms(Limits.startInterval)),
        LimitRow(
            "typing heartbeat",
            "\(ms(Limits.typingHeartbeat)); links ÷ \(Limits.typingHeartbeats) s over \(Limits.linksOfTypingHeartbeat), "
                + "at most \(s(Limits.longestTypingHeartbeat))"),
        LimitRow(
            "idle interval",
            "\(s(Limits.idleInterval)); links ÷ \(Limits.idleHeartbeats) s over \(Limits.idleHeartbeats); "
                + range(Limits.idleJitterPercent) + " %"),
        LimitRow("interval taken", list([Limits.minimumIntervalTaken, Limits.maximumIntervalTaken])),
        LimitRow("copies of edges, byes, unheard", list(Limits.copies, in: "ms")),
        LimitRow("message after a list", ms(Duration.seconds(1) / Limits.lists)),
        LimitRow("name records", "\(seconds(Limits.nameInterval)) a second"),
    ]

    private static let links: [LimitRow] = [
        LimitRow("suspicion", "\(decimal(Double(Limits.suspicionQuarterIntervals) / 4)) intervals"),
        LimitRow(
            "pings",
            "\(Limits.pings), \(ms(Limits.pingInterval)) apart; \(Limits.pingsSpentByUnheard) spent; once in "
                + s(Limits.unheardInterval)),
        LimitRow("pings for hints; networks", "\(seconds(Limits.hintInterval)) a second"),
        LimitRow("pings on a down link, to another address", ms(Limits.checkInterval)),
        LimitRow("awaited ping", s(Limits.pongAwaited)),
        LimitRow("pings of a new session", "\(ms(Limits.joinPingInterval)), \(s(Limits.joinPingPeriod))"),
        LimitRow("down", s(Limits.downPeriod)),
        LimitRow("up too short; without a name", "\(s(Limits.shortestUp)); \(s(Limits.unnamedPeriod))"),
        LimitRow("shown after a new state", s(Limits.keptShown)),
        LimitRow(
            "late timer; longest timer; stop",
            "\(ms(Limits.lateTimer)); \(s(Limits.longestTimer)); \(s(Limits.stop))"),
        LimitRow(
            "rekeying; repeat",
            "\(seconds(Limits.rekeyAfter / 60)) to \(seconds(Limits.rekeyAtLatest / 60)) min; "
                + s(Limits.rekeyRepeat)),
        LimitRow(
            "silent session; session", "\(s(Limits.silentSession)); \(seconds(Limits.sessionLifetime / 3_600)) h"),
        LimitRow("snapshot sign", s(Limits.snapshotSign)),
    ]

    private static let openings: [LimitRow] = [
        LimitRow("larger key's wait", ms(Limits.largerKeyWait)),
        LimitRow("transmissions; attempt", "\(list(Limits.transmissions)); \(s(Limits.attempt)); \(jitter)"),
        LimitRow("pauses", "\(list(Limits.pauses)); \(jitter)"),
        LimitRow("fast period; slow interval", "\(s(Limits.fastPeriod)); \(s(Limits.slowInterval))"),
        LimitRow("rest; by hand, without a name", "\(s(Limits.rest)); \(s(Limits.shortRest))"),
        LimitRow("after suspension", s(Limits.afterSuspension)),
        LimitRow("asks by hand after 90 s", "\(s(Limits.askInterval)); \(jitter)"),
        LimitRow("own key told", s(Limits.ownKeyAskInterval)),
        LimitRow("renamed", s(Limits.renamedInterval)),
    ]

    private static let timers: [LimitRow] = [
        LimitRow(
            "timer on-link",
            "\(list([Limits.initialTimerOnLink, Limits.minimumTimerOnLink], in: "ms")); "
                + s(Limits.maximumTimerOnLink)),
        LimitRow(
            "timer off-link",
            list([Limits.initialTimerOffLink, Limits.minimumTimerOffLink, Limits.maximumTimerOffLink])),
        LimitRow("stalled", "\(s(Limits.stalled)); \(s(Limits.longestDelivery))"),
        LimitRow("successor given", "\(Int(Limits.departure / .seconds(86_400))) days"),
        LimitRow("given up by the receiver", "\(s(Limits.waitingWithoutRecord)); \(s(Limits.longestGap))"),
    ]
}

// Samples of what has a size.
private let initiation = Initiation(senderIndex: 0, check: 0, noise: zeros(Limits.noiseMessage1Size))
private let withCookie = Initiation(
    senderIndex: 0, check: 0, noise: initiation.noise, cookie: zeros(Limits.cookieSize))
private let chat = Pair().chat
private let key = Pair().initiator.publicKey
private let secret: ChatSecret = {
    var generator = SeededGenerator(seed: 1)
    return ChatSecret(using: &generator)
}()
private let jitter = "±\(Limits.openingJitterPercent) %"

private func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

/// A number with a comma before each three digits.
private func count(_ number: Int) -> String {
    number < 1_000 ? "\(number)" : "\(number / 1_000)," + String("\(1_000 + number % 1_000)".dropFirst())
}

private func range(_ numbers: ClosedRange<Int>) -> String {
    "\(count(numbers.lowerBound)) to \(count(numbers.upperBound))"
}

private func mebibytes(_ bytes: Int) -> String { decimal(Double(bytes) / 1_048_576) + " MiB" }

/// A number without a fraction of zero.
private func decimal(_ number: Double) -> String {
    number == number.rounded() ? "\(Int(number))" : "\(number)"
}

private func seconds(_ time: Duration) -> String { decimal(time / .seconds(1)) }

private func s(_ time: Duration) -> String { seconds(time) + " s" }

private func ms(_ time: Duration) -> String { decimal(time / .milliseconds(1)) + " ms" }

private func list(_ times: [Duration], in unit: String = "s") -> String {
    times.map { unit == "s" ? seconds($0) : decimal($0 / .milliseconds(1)) }.joined(separator: ", ") + " " + unit
}
