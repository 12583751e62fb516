// Tables.
extension Limits {
    /// The chats of a node (L-39).
    package static let chats = 32
    /// The links of a node, down ones included (L-39).
    package static let links = 1_024
    /// The links of a source besides those of verified people (L-53).
    package static let linksPerSource = 64
    /// The links of the other users of the host (L-78).
    package static let linksOfOtherUsers = 256
    /// The links of a key in a chat (L-53).
    package static let linksPerKey = 8
    /// The sessions of a link (L-77).
    package static let sessionsPerLink = 4
    /// The unconfirmed sessions of a node (L-12).
    package static let unconfirmedSessions = 128
    /// The candidates of an instance (D-9).
    package static let candidatesPerInstance = 8
    /// The instances of a key in a chat (D-9, D-22).
    package static let instancesPerKey = 4
    /// The replaced or roomless instances that a node remembers (D-22).
    package static let instancesWithoutRoom = 256
    /// The pairs of preferred key and chat whose addresses are remembered (D-19).
    package static let rememberedKeys = 32
    /// The addresses that are remembered of each such pair (D-19).
    package static let rememberedAddressesPerKey = 2
    /// The addresses after byes from which initiations and asks may come off-link (D-16).
    package static let addressesAfterByes = 64
    /// The datagrams that a node reads at most while it catches up (L-30).
    package static let datagramsCaughtUp = 4_096
    /// The pending handshakes of a node (L-6).
    package static let pendingInitiations = 64
    /// The pending handshakes with strangers (L-6).
    package static let pendingInitiationsOfStrangers = 48
    /// The addresses that are remembered of those that answered, and of those that did not (L-54).
    package static let addressesRemembered = 1_024
    /// The responses that a node opens for each initiation, from the address that it went to (L-49).
    package static let responsesPerTransmission = 4
    /// The unconfirmed sessions from which on a node is under load (L-9).
    package static let loadUnconfirmedSessions = 64
    /// The sources of initiations with a valid cookie that are counted (L-97).
    package static let cookieSources = 1_024
    /// The bytes to an unconfirmed address, in times of those that opened from there (L-72).
    package static let unconfirmedAddressFactor = 3
    /// The DNS-SD resolves and queries under way (D-10).
    package static let resolves = 16
    /// The addresses of a host by hand that count (D-24).
    package static let addressesOfHost = 8
    /// The links that the fullest source has more than the source of a new link, at least, to lose one (L-99).
    package static let moreLinksOfFullestSource = 2
    /// The keys at an address and port to which a node opens without asking (D-17).
    package static let keysPerAddress = 4
    /// The addresses asked by D-17 at a time (D-26).
    package static let addressesAsked = 64
    /// The pings of a round to a suspect link (L-26).
    package static let pings = 10
    /// The pings of a round that an unheard datagram spends (L-45).
    package static let pingsSpentByUnheard = 5
}

// Records and texts.
extension Limits {
    /// The numbers from the lowest unacknowledged record on that may be sent (M-10).
    package static let recordsAbove = 16
    /// The congestion window at first and when a link comes up (M-34).
    package static let initialWindow = 4
    /// The largest congestion window (M-34).
    package static let maximumWindow = 16
    /// The later records that arrived, after which a record is sent again (M-12).
    package static let laterRecordsUntilRepeat = 3
    /// The record datagrams between two reads of the socket (M-13).
    package static let recordsBetweenReads = 64
    /// The bytes of text in the queue of a link (M-14).
    package static let queueSize = 4 * 1_024 * 1_024
    /// The bytes that each queued message counts besides its text (M-14).
    package static let queuedMessageOverhead = 256
    /// The bytes of texts that the user has not taken (M-20).
    package static let textsHeld = 8 * 1_024 * 1_024
    /// The bytes of unfinished messages (M-20).
    package static let unfinishedTexts = 8 * 1_024 * 1_024
    /// The bytes that each held text counts besides its own (M-20).
    package static let heldTextOverhead = 256
    /// The bytes that a begun message reserves: the longest message and its overhead (M-39).
    package static let reservation = 65_792
    /// The share of unverified people in a pool: three quarters (M-42).
    package static let shareOfUnverified = (numerator: 3, denominator: 4)
    /// The share of strangers in a pool: a half (M-42).
    package static let shareOfStrangers = (numerator: 1, denominator: 2)
    /// The share of unverified people of one secret chat: a quarter (M-42).
    package static let shareOfSecretChat = (numerator: 1, denominator: 4)
    /// The share of unverified people of one source: a sixteenth (M-42).
    package static let shareOfSource = (numerator: 1, denominator: 16)
}

// Rates, a second.
extension Limits {
    /// The initiations that a node sends (L-6).
    package static let initiationsSent = 200
    /// The initiations of those that go to strangers (L-6).
    package static let initiationsSentToStrangers = 150
    /// The initiations to an address that never answered (L-54).
    package static let initiationsToSilent = 4
    /// The burst of these (L-54).
    package static let initiationsToSilentBurst = 40
    /// The last of the burst, for preferred keys, addresses by hand and links (L-54).
    package static let initiationsToSilentKept = 10
    /// The responses that a node opens from addresses to which no transmission went (L-49).
    package static let responsesFromElsewhere = 20
    /// The initiations that a node checks without a cookie (L-8).
    package static let initiationsBeforeChecks = 1_000
    /// The initiations of its chats above which a node is under load (L-9).
    package static let loadInitiations = 100
    /// The retries that a node sends (L-96).
    package static let retries = 500
    /// The retries to known addresses besides (L-96).
    package static let retriesToKnown = 200
    /// The new responses that a node sends (L-10).
    package static let answers = 200
    /// The responses of those that go to addresses not of preferred people (L-10).
    package static let answersToUnpreferred = 150
    /// The responses of those that go to unknown addresses (L-10).
    package static let answersToUnknown = 100
    /// The initiations with a valid cookie that a node opens from one source (L-97).
    package static let cookieInitiationsPerSource = 5
    /// The burst of these (L-97).
    package static let cookieInitiationsPerSourceBurst = 20
    /// The burst of these for other users of the host (L-97).
    package static let cookieInitiationsOfHostBurst = 256
    /// The initiations with a valid cookie that a node opens from unknown addresses (L-97).
    package static let cookieInitiationsFromUnknown = 200
    /// The datagrams that a node applies on a link (L-25).
    package static let datagramsPerLink = 1_000
    /// The burst of these (L-25).
    package static let datagramsPerLinkBurst = 2_000
    /// The datagrams that a node applies on all links of a source (L-25).
    package static let datagramsPerSource = 4_000
    /// The burst of these (L-25).
    package static let datagramsPerSourceBurst = 4_000
    /// The pings that a node sends on suspect links (L-76).
    package static let suspectPings = 1_000
    /// The pings of those on links of strangers (L-76).
    package static let suspectPingsToStrangers = 500
    /// The pings of a round that are not skipped (L-76).
    package static let suspectPingsPerLink = 3
    /// The asks that a node tries (D-25).
    package static let asksTried = 500
    /// The service names that a node tries (D-25).
    package static let namesTried = 1_000
    /// The asks that a node answers (D-25).
    package static let asksAnswered = 64
    /// The asks of those from unknown addresses or with a hop limit below 255 (D-25).
    package static let asksAnsweredOfUnknown = 32
    /// The DNS-SD resolves and queries that begin (D-10).
    package static let resolvesBegun = 16
    /// The burst of these (D-10).
    package static let resolvesBegunBurst = 256
    /// The addresses with which a node begins by D-17 (D-26).
    package static let addressesAskedBegun = 20
    /// The starts of typing that a node takes on a link, and their burst (T-16).
    package static let starts = 10
    /// The changes of a list of typists that a node reports, and their burst (T-22).
    package static let lists = 20
    /// The changes of a person within a second that a node reports, and their burst (T-26).
    package static let presences = 20
    /// The record datagrams on a link (M-13).
    package static let recordsPerLink = 400
    /// The burst of these (M-13).
    package static let recordsPerLinkBurst = 64
    /// The record datagrams of a node (M-13).
    package static let recordsPerNode = 2_000
    /// The burst of these (M-13).
    package static let recordsPerNodeBurst = 128
    /// The links from which on the typing heartbeat stretches (T-23).
    package static let linksOfTypingHeartbeat = 100
    /// The typing heartbeats above as many links (T-23).
    package static let typingHeartbeats = 200
    /// The links from which on the idle interval stretches, and the idle heartbeats above (T-24).
    package static let idleHeartbeats = 50
    /// One in so many datagrams, or messages, that a node under test greases.
    package static let greasingRarity: UInt64 = 100
    /// The random bytes of a greasing frame or record.
    package static let greasingSizes = 0...16
}
