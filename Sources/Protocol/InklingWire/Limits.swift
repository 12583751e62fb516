/// All limits and times of limits.md. Each constant names its clause.
///
/// Numbers are counts or bytes, and times are `Duration`s. This module refuses malformed bytes. The node and the core
/// limit their own tables and rates.
package enum Limits {}

// Sizes of datagrams and their parts, in bytes.
extension Limits {
    /// The longest UDP payload, a sealed datagram (W-13).
    package static let maximumDatagramSize = 1_200
    /// The number of zero bytes at the end of an ask (W-14).
    package static let askZeros = 48
    /// The size of Noise message 1 with its payload (W-18).
    package static let noiseMessage1Size = 108
    /// The size of Noise message 2 with its payload (W-18).
    package static let noiseMessage2Size = 64
    /// The size of a public, private or chat key (W-9).
    package static let keySize = 32
    /// The size of a chat's secret (W-9).
    package static let secretSize = 16
    /// The size of a chat's fingerprint, with which a node recognises a chat that it left (M-91).
    package static let fingerprintSize = 32
    /// The size of a check, which ties bytes to a chat (W-36).
    package static let checkSize = 8
    /// The size of a sealed static key (W-10).
    package static let sealedKeySize = 48
    /// The size of a cookie (W-13).
    package static let cookieSize = 16
    /// The number of bytes of a key's hash in its user ID, which has 16 characters (W-5).
    static let userIDSize = 10
}

// Sizes of texts.
extension Limits {
    /// The number of characters of an instance name that a node reads (D-21).
    package static let instanceNameLength = 26
    /// The permitted sizes of a chat name, in bytes of UTF-8 (W-2).
    package static let chatNameSizes = 1...64
    /// The longest display name, in bytes of UTF-8 (M-25).
    package static let maximumDisplayNameSize = 64
    /// The permitted sizes of a message, in bytes of UTF-8 (M-1).
    package static let messageSizes = 1...65_536
    /// The longest text of a record, in bytes: the room in a datagram after a typing frame (W-28).
    package static let maximumRecordTextSize = 1_167
    /// The size of the body of a text ID (M-80).
    package static let textIDSize = 24
    /// The longest text of a first record beside a text ID, in bytes (M-80).
    package static let maximumIdentifiedTextSize = maximumRecordTextSize - 3 - textIDSize
    /// The most removed keys in a successor, so that it fits one record (M-89).
    package static let removedKeys = 32
    /// The most moves of a chain of chats in a row (M-88).
    package static let moveBurst = 8
    /// The longest TXT record that a node publishes, in bytes (D-3).
    package static let maximumTXTSizeSent = 400
    /// The longest TXT record that a node reads, in bytes (D-5).
    package static let maximumTXTSizeRead = 1_300
}

// Counters of sealed datagrams, and their hop limit.
extension Limits {
    /// The last counter of ordinary datagrams, 2^32 − 3. A node forgets a link that has used it (W-20, L-79).
    package static let lastCounter = UInt32.max - 2
    /// The counter of the last will, 2^32 − 1 (W-21).
    package static let lastWillCounter = UInt32.max
    /// The width of the replay window, in counters (W-22).
    package static let replayWindow = 1_024
    /// The hop limit of all datagrams that a node sends. An initiation with this hop limit needs no cookie (L-56,
    /// L-92).
    package static let hopLimit = 255
}

// Times of typing.
extension Limits {
    /// The time after the last status that reports typing, at which the receiver ends the typing (T-15).
    package static let typingExpiry = Duration.seconds(3)
    /// The time after the last edit at which the sender ends the typing (T-9).
    package static let typingIdleStop = Duration.milliseconds(2_900)
    /// The shortest time between two starts of typing in a chat (T-5).
    package static let startInterval = Duration.milliseconds(500)
    /// The time between heartbeats while typing is announced (T-8).
    package static let typingHeartbeat = Duration.milliseconds(500)
    /// The longest time between two heartbeats while typing is announced, on a node with many links (T-23).
    package static let longestTypingHeartbeat = Duration.milliseconds(1_500)
    /// The idle interval of a node with few links (T-11, T-24).
    package static let idleInterval = Duration.seconds(1)
    /// The range of the wait for a heartbeat, in percent of the idle interval (T-11).
    package static let idleJitterPercent = 75...100
    /// The shortest idle interval that a receiver uses (T-12).
    package static let minimumIntervalTaken = Duration.seconds(1)
    /// The longest idle interval that a heartbeat can announce (T-12).
    package static let maximumIntervalTaken = Duration.milliseconds(25_500)
    /// The times after which a node sends copies of an edge, a bye or an "unheard" heartbeat (T-6, L-32, L-44).
    package static let copies: [Duration] = [.milliseconds(30), .milliseconds(120)]
    /// The shortest time between two name records (M-24).
    package static let nameInterval = Duration.seconds(1)
}

// Times of links.
extension Limits {
    /// The silence after which a link is suspect, in quarters of the peer's idle interval: 1.75 intervals (L-26).
    package static let suspicionQuarterIntervals = 7
    /// The time between two pings of a round (L-26).
    package static let pingInterval = Duration.milliseconds(125)
    /// The shortest time between two "unheard" datagrams that make a link suspect (L-110).
    package static let unheardInterval = Duration.seconds(10)
    /// The shortest time between two pings on a link because of hints or changed networks (L-29, L-40).
    package static let hintInterval = Duration.seconds(1)
    /// The shortest time between two pings on a down link, or to a link's other address (L-71, L-51).
    package static let checkInterval = Duration.milliseconds(125)
    /// The time for which a node awaits the pong of a ping (L-80, L-51).
    package static let pongAwaited = Duration.seconds(3)
    /// The time between two pings on a new session (L-74).
    package static let joinPingInterval = Duration.milliseconds(250)
    /// The age at which a node stops the pings on a new session, and drops an incomplete session (L-74, L-75).
    package static let joinPingPeriod = Duration.seconds(3)
    /// The time after which a node forgets a link that is down, or has never been up (L-83).
    package static let downPeriod = Duration.seconds(60)
    /// The total time for which a link must have been up to be kept when it goes down (L-84).
    package static let shortestUp = Duration.seconds(10)
    /// The time after which an up link ends if the peer's record 0 has not arrived (L-86).
    package static let unnamedPeriod = Duration.seconds(10)
    /// The time for which a person stays shown whose link began a new state (L-103).
    package static let keptShown = Duration.seconds(3)
    /// The lateness of a timer above which a node catches up (L-30).
    package static let lateTimer = Duration.milliseconds(500)
    /// The longest time until the next timer of a node that is in a chat (L-46).
    package static let longestTimer = Duration.seconds(1)
    /// The time since a node last ran, above which the node begins handshakes on its links (L-42).
    package static let stop = Duration.seconds(3)
    /// The age of the sending session at which a node begins a new handshake (L-37).
    package static let rekeyAfter = Duration.seconds(3_600)
    /// The highest age of the sending session at which a node begins a new handshake (L-37).
    package static let rekeyAtLatest = Duration.seconds(3_900)
    /// The time between two tries of a handshake for a new session (L-37).
    package static let rekeyRepeat = Duration.seconds(60)
    /// The time after which a node erases a session on which it opened no datagram (L-38).
    package static let silentSession = Duration.seconds(60)
    /// The age at which a node erases a session (L-38).
    package static let sessionLifetime = Duration.seconds(7_200)
    /// The time in which a datagram must pass after one failed W-22 on a completing session (L-93).
    package static let snapshotSign = Duration.seconds(3)
    /// The age at which a node drops an unconfirmed session (L-12).
    package static let unconfirmedSession = Duration.seconds(5)
    /// The highest age of a cookie that a node may accept (L-11).
    package static let cookieLifetime = Duration.seconds(240)
}

// Times of openings and discovery.
extension Limits {
    /// The time for which the node with the larger key waits before it opens (L-1).
    package static let largerKeyWait = Duration.milliseconds(300)
    /// The times in an attempt at which a node sends the initiation (L-4).
    package static let transmissions: [Duration] = [
        .zero, .milliseconds(300), .milliseconds(600), .milliseconds(1_200), .milliseconds(2_400),
    ]
    /// The duration of an attempt (L-4).
    package static let attempt = Duration.seconds(3)
    /// The random variation of transmissions, pauses and asks, in percent (L-4, L-5, D-11).
    package static let openingJitterPercent = 25
    /// The pauses between attempts. The last one repeats (L-5).
    package static let pauses: [Duration] = [.zero, .milliseconds(1_250), .milliseconds(2_500)]
    /// The time after the start of an opening from which attempts are slow (L-5).
    package static let fastPeriod = Duration.seconds(90)
    /// The time between two slow attempts (L-5).
    package static let slowInterval = Duration.seconds(60)
    /// The time after a bye in which a node does not open to the peer's instances (L-35).
    package static let rest = Duration.seconds(60)
    /// The rest of addresses added by hand (L-35), and of a peer that got the bye because its name was missing (L-106).
    package static let shortRest = Duration.seconds(5)
    /// The time after a suspension in which a node opens to the last addresses of its links (L-88).
    package static let afterSuspension = Duration.seconds(90)
    /// The time for which an owner's node gives a successor to the chosen keys in the old chat: 30 days (M-65).
    package static let departure = Duration.seconds(30 * 86_400)
    /// The time in which a chain of chats may move once more, after its burst (M-88).
    package static let moveInterval = Duration.seconds(10)
    /// The time between two asks to an address added by hand, after 90 s (D-11).
    package static let askInterval = Duration.seconds(5)
    /// The time between two look-ups of a host added by hand that has no up link (D-24).
    package static let hostLookUp = Duration.seconds(60)
    /// The time between two asks to an address whose tell had the node's own key (D-14).
    package static let ownKeyAskInterval = Duration.seconds(60)
    /// The shortest time between two registrations of a renamed instance (D-20).
    package static let renamedInterval = Duration.seconds(10)
    /// The time after which a node ends a resolve or query (D-10).
    package static let resolveTimeout = Duration.seconds(1)
}

// Times of records. The timer of a link repeats lost records.
extension Limits {
    /// The link's timer before the first measured round trip, on-link (M-11).
    package static let initialTimerOnLink = Duration.milliseconds(250)
    /// The shortest timer of a link, on-link (M-11).
    package static let minimumTimerOnLink = Duration.milliseconds(200)
    /// The longest timer of a link, on-link (M-11).
    package static let maximumTimerOnLink = Duration.seconds(1)
    /// The link's timer before the first measured round trip, off-link (M-11).
    package static let initialTimerOffLink = Duration.seconds(1)
    /// The shortest timer of a link, off-link (M-11).
    package static let minimumTimerOffLink = Duration.seconds(1)
    /// The longest timer of a link, off-link (M-11).
    package static let maximumTimerOffLink = Duration.seconds(60)
    /// The age of a link's oldest message above which a full queue refuses messages only for that peer (M-30).
    package static let overdueMessage = Duration.seconds(5)
    /// The time without a new acknowledgement after which the messages of a link fail (M-19).
    package static let stalled = Duration.seconds(30)
    /// The age at which an unfinished message makes all messages of its link fail (M-19).
    package static let longestDelivery = Duration.seconds(60)
    /// The time without a record after which a receiver drops the records that wait for a missing one (M-43).
    package static let waitingWithoutRecord = Duration.seconds(35)
    /// The age at which a receiver drops a message that was begun, or records that wait behind a missing one (M-43).
    package static let longestGap = Duration.seconds(65)
}

// The highest numbers of entries in tables.
extension Limits {
    /// The chats that a node can be in (L-39).
    package static let chats = 32
    /// The links of a node, including down ones (L-39).
    package static let links = 1_024
    /// The links of one source, not counting those of verified people (L-53).
    package static let linksPerSource = 64
    /// The links of all other users of the node's host (L-78).
    package static let linksOfOtherUsers = 256
    /// The links of one key in a chat (L-53).
    package static let linksPerKey = 8
    /// The sessions of one link (L-77).
    package static let sessionsPerLink = 4
    /// The silence after which another session may replace one (L-77). In this time the peer's choice of its sending
    /// session shows.
    package static let replaceableSession = Duration.seconds(3)
    /// The unconfirmed sessions of a node (L-12).
    package static let unconfirmedSessions = 128
    /// The candidate addresses of one instance (D-9).
    package static let candidatesPerInstance = 8
    /// The instances of one key in a chat (D-9, D-22).
    package static let instancesPerKey = 4
    /// The instances that a node remembers after they were replaced or found no room (D-22).
    package static let instancesWithoutRoom = 256
    /// The pairs of a preferred key and a chat whose addresses a node remembers (D-19).
    package static let rememberedKeys = 32
    /// The strangers' keys that a node reports in a chat that it departed from (M-95).
    package static let newcomers = 32
    /// The addresses that a node remembers for each such pair (D-19).
    package static let rememberedAddressesPerKey = 2
    /// The remembered addresses of peers that said bye (D-16). Initiations and asks may come from there although
    /// off-link.
    package static let addressesAfterByes = 64
    /// The most datagrams that a node reads while it catches up (L-30).
    package static let datagramsCaughtUp = 4_096
    /// The pending handshakes of a node (L-6).
    package static let pendingInitiations = 64
    /// The pending handshakes of a node with strangers (L-6).
    package static let pendingInitiationsOfStrangers = 48
    /// The addresses that a node remembers because they answered, and as many that did not (L-54).
    package static let addressesRemembered = 1_024
    /// The responses that a node tries to open for each initiation that it sent, from the initiation's destination
    /// (L-49).
    package static let responsesPerTransmission = 4
    /// The number of unconfirmed sessions from which a node is under load (L-9).
    package static let loadUnconfirmedSessions = 64
    /// The sources for which a node counts initiations with a valid cookie (L-97).
    package static let cookieSources = 1_024
    /// The most bytes that a node sends to an unconfirmed address, as a multiple of the opened bytes from there (L-72).
    package static let unconfirmedAddressFactor = 3
    /// The DNS-SD resolves and queries that run at the same time (D-10).
    package static let resolves = 16
    /// The addresses that a node uses of a host added by hand (D-24).
    package static let addressesOfHost = 8
    /// The least surplus of links of the fullest source over the source of a new link. With it, the fullest source
    /// loses a link (L-99).
    package static let moreLinksOfFullestSource = 2
    /// The keys to which a node opens at one address and port without an ask (D-17).
    package static let keysPerAddress = 4
    /// The addresses that a node asks at the same time because of D-17 (D-26).
    package static let addressesAsked = 64
    /// The pings of one round to a suspect link (L-26).
    package static let pings = 10
    /// The pings by which an "unheard" datagram shortens a round (L-110).
    package static let pingsSpentByUnheard = 5
}

// Records and texts.
extension Limits {
    /// The runs of a sender in a chat whose text IDs a node remembers (M-83).
    package static let runsSeen = 64
    /// The numbers of a run below the highest seen one that may still come. A writer sends no text so far ahead (M-83,
    /// M-85).
    package static let textsSeen = 64
    /// The senders whose text IDs a node remembers, in all its chats (M-83).
    package static let peopleSeen = 1_024
    /// The width of the range of record numbers that a node may send, from the lowest unacknowledged one (M-10).
    package static let recordsAbove = 16
    /// The congestion window in records, at first and whenever a link comes up (M-34).
    package static let initialWindow = 4
    /// The largest congestion window, in records (M-34).
    package static let maximumWindow = 16
    /// The number of later records that must arrive before a node repeats a missing one (M-12).
    package static let laterRecordsUntilRepeat = 3
    /// The record datagrams that a node sends between two reads of its socket (M-13).
    package static let recordsBetweenReads = 64
    /// The bytes of text in a link's send queue (M-14).
    package static let queueSize = 4 * 1_024 * 1_024
    /// The bytes that a queued message adds to the size of its text (M-14).
    package static let queuedMessageOverhead = 256
    /// The bytes of texts that a node holds because the user has not taken them (M-20).
    package static let textsHeld = 8 * 1_024 * 1_024
    /// The bytes of unfinished messages that a node holds (M-20).
    package static let unfinishedTexts = 8 * 1_024 * 1_024
    /// The bytes that a held text adds to its own size (M-20).
    package static let heldTextOverhead = 256
    /// The open invitations of a node (M-48).
    package static let invitations = 10
    /// The open invitations from people who are neither verified nor met (M-48).
    package static let invitationsOfOthers = 3
    /// The bytes that a node reserves for a begun message: the longest message and its overhead (M-39).
    package static let reservation = 65_792
    /// The part of a pool that unverified people may use: three quarters (M-42).
    package static let shareOfUnverified = (numerator: 3, denominator: 4)
    /// The part of a pool that strangers may use: a half (M-42).
    package static let shareOfStrangers = (numerator: 1, denominator: 2)
    /// The part of a pool that unverified people of one secret chat may use: a quarter (M-42).
    package static let shareOfSecretChat = (numerator: 1, denominator: 4)
    /// The part of a pool that unverified people of one source may use: a sixteenth (M-42).
    package static let shareOfSource = (numerator: 1, denominator: 16)
}

// Highest numbers in a second, and their bursts.
extension Limits {
    /// The initiations that a node sends in a second (L-6).
    package static let initiationsSent = 200
    /// The initiations in a second that a node sends to strangers, as a part of ``initiationsSent`` (L-6).
    package static let initiationsSentToStrangers = 150
    /// The initiations in a second that a node sends to an address that never answered (L-54).
    package static let initiationsToSilent = 4
    /// The burst of ``initiationsToSilent`` (L-54).
    package static let initiationsToSilentBurst = 40
    /// The end of ``initiationsToSilentBurst`` that a node keeps for preferred keys, addresses added by hand and links
    /// (L-54).
    package static let initiationsToSilentKept = 10
    /// The responses in a second that a node tries to open from addresses to which it sent no initiation (L-49).
    package static let responsesFromElsewhere = 20
    /// The initiations in a second that a node checks before it demands cookies (L-8).
    package static let initiationsBeforeChecks = 1_000
    /// The initiations in a second, for the node's chats, above which the node is under load (L-9).
    package static let loadInitiations = 100
    /// The retries that a node sends in a second (L-96).
    package static let retries = 500
    /// The additional retries that a node sends to known addresses in a second (L-96).
    package static let retriesToKnown = 200
    /// The new responses that a node sends in a second (L-10).
    package static let answers = 200
    /// The responses in a second, as a part of ``answers``, to addresses that are not of preferred people (L-10).
    package static let answersToUnpreferred = 150
    /// The responses in a second, as a part of ``answers``, to unknown addresses (L-10).
    package static let answersToUnknown = 100
    /// The initiations in a second with a valid cookie that a node decrypts from one source (L-97).
    package static let cookieInitiationsPerSource = 5
    /// The burst of ``cookieInitiationsPerSource`` (L-97).
    package static let cookieInitiationsPerSourceBurst = 20
    /// The burst of ``cookieInitiationsPerSource`` for all other users of the node's host (L-97).
    package static let cookieInitiationsOfHostBurst = 256
    /// The initiations in a second with a valid cookie that a node decrypts from unknown addresses (L-97).
    package static let cookieInitiationsFromUnknown = 200
    /// The datagrams that a node applies on a link in a second (L-25).
    package static let datagramsPerLink = 1_000
    /// The burst of ``datagramsPerLink`` (L-25).
    package static let datagramsPerLinkBurst = 2_000
    /// The datagrams in a second that a node applies on all links of a source (L-25).
    package static let datagramsPerSource = 4_000
    /// The burst of ``datagramsPerSource`` (L-25).
    package static let datagramsPerSourceBurst = 4_000
    /// The pings that a node sends on suspect links in a second (L-76).
    package static let suspectPings = 1_000
    /// The pings in a second, as a part of ``suspectPings``, on links of strangers (L-76).
    package static let suspectPingsToStrangers = 500
    /// The pings of a round that a node sends even above ``suspectPings`` (L-76).
    package static let suspectPingsPerLink = 3
    /// The asks in a second that a node tries to match with its chats (D-25).
    package static let asksTried = 500
    /// The service names in a second that a node tries to match with its chats (D-25).
    package static let namesTried = 1_000
    /// The asks that a node answers in a second (D-25).
    package static let asksAnswered = 64
    /// The answered asks in a second, as a part of ``asksAnswered``, from unknown addresses or with a hop limit below
    /// 255 (D-25).
    package static let asksAnsweredOfUnknown = 32
    /// The DNS-SD resolves and queries that a node begins in a second (D-10).
    package static let resolvesBegun = 16
    /// The burst of ``resolvesBegun`` (D-10).
    package static let resolvesBegunBurst = 256
    /// The addresses that a node begins to ask in a second because of D-17 (D-26).
    package static let addressesAskedBegun = 20
    /// The starts of typing that a node accepts on a link in a second, and their burst (T-16).
    package static let starts = 10
    /// The changes of a list of typists that a node reports in a second, and their burst (T-22).
    package static let lists = 20
    /// The changes of people's presence that a node reports in a second, and their burst (T-26). A change counts if the
    /// same person changed less than a second before.
    package static let presences = 20
    /// The record datagrams that a node sends on a link in a second (M-13).
    package static let recordsPerLink = 400
    /// The burst of ``recordsPerLink`` (M-13).
    package static let recordsPerLinkBurst = 64
    /// The record datagrams that a node sends on all links in a second (M-13).
    package static let recordsPerNode = 2_000
    /// The burst of ``recordsPerNode`` (M-13).
    package static let recordsPerNodeBurst = 128
    /// The number of links from which the typing heartbeat stretches (T-23).
    package static let linksOfTypingHeartbeat = 100
    /// The typing heartbeats that a node with more links than that sends in a second (T-23).
    package static let typingHeartbeats = 200
    /// The number of links from which the idle interval stretches, and the idle heartbeats in a second from there on
    /// (T-24).
    package static let idleHeartbeats = 50
    /// The average number of datagrams, or of messages, for each one that a node under test greases.
    package static let greasingRarity: UInt64 = 100
    /// The number of random bytes in a greasing frame or record.
    package static let greasingSizes = 0...16
}
