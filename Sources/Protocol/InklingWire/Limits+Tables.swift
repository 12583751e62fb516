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
    /// The pings by which an "unheard" datagram shortens a round (L-45).
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
