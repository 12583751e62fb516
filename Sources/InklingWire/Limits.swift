/// Every limit and every time of the protocol by name, each with the clause that it implements.
///
/// Numbers are counts or bytes, as their names and docstrings say; times are `Duration`s. What happens at a limit
/// is for the code that enforces it: the wire refuses malformed bytes, the core and the node bound their own tables.
package enum Limits {}

// Sizes.
extension Limits {
    /// The longest UDP payload that is sent or accepted, in bytes (W-13).
    package static let maximumDatagramSize = 1_200
    /// The hop limit of what is sent (L-56).
    package static let hopLimit = 255
    /// The longest message, in bytes of UTF-8 (M-1).
    package static let maximumMessageSize = 65_536
    /// The longest text of one record, in bytes: what a full datagram holds after a typing frame (W-28, M-9).
    package static let maximumRecordTextSize = 1_163
    /// The bytes of UTF-8 that a link holds of a message that is not complete (M-2).
    package static let reassemblyBytesPerLink = 65_536
    /// The longest display name, in bytes of UTF-8 (W-29).
    package static let maximumNameSize = 64
    /// The longest name of a chat, in bytes of UTF-8 (W-2).
    package static let maximumChatNameSize = 64
    /// The longest TXT record that a node publishes, in bytes (D-3).
    package static let maximumTXTSizeSent = 400
    /// The longest TXT record that is read, in bytes (D-5).
    package static let maximumTXTSizeRead = 1_300
}

// Counters.
extension Limits {
    /// The last counter under which an ordinary datagram is sealed (W-20).
    package static let highestOrdinaryCounter = UInt64(UInt32.max) - 2
    /// The counter that is reserved for the last will: only a bye is accepted under it (W-21).
    package static let lastWillCounter = UInt64(UInt32.max)
    /// The counter at which a new handshake is due (L-37).
    package static let rekeyCounter: UInt64 = 1 << 31
    /// How many counters, the highest one included, the replay window remembers (W-22).
    package static let replayWindow = 1_024
}

// Tables.
extension Limits {
    /// The chats that one node is in (L-39).
    package static let chatsPerNode = 32
    /// The links that one node keeps (L-39).
    package static let linksPerNode = 1_024
    /// The links that one node keeps from one source, but for those of verified people (L-53).
    package static let linksPerSource = 64
    /// The links that one node keeps with sockets of other users of its host, but for those of verified people (L-53).
    package static let linksOfOtherUsers = 256
    /// The links that one node keeps with one key in one chat (L-53).
    package static let linksPerKey = 8
    /// The addresses that answered, and the others, of which a node remembers how many initiations it sent there (L-54).
    package static let destinations = 1_024
    /// The candidate addresses that are kept of one discovered instance (D-9).
    package static let addressesPerInstance = 8
    /// The discovered instances that are kept of one key in one chat (D-9).
    package static let instancesPerKey = 64
    /// Those of them that are opened to at once (D-9).
    package static let openingsPerKey = 4
    /// The instances without room that are remembered (D-9).
    package static let displacedInstances = 256
    /// The keys, each in one chat, whose last addresses are remembered (D-19). Opening to them takes 64 initiations a
    /// second at most.
    package static let rememberedKeys = 32
    /// The addresses that are remembered of each (D-19).
    package static let addressesPerRememberedKey = 2
    /// The handshakes of our own that may be unanswered at once (L-6).
    package static let pendingInitiations = 64
    /// Those of them that may be to strangers (L-6).
    package static let pendingInitiationsToStrangers = 48
    /// The initiations of a peer in a row for which no session was confirmed, and that the larger key gives way to (L-55).
    package static let unconfirmedTurns = 3
    /// The responses that are opened for each transmission of an initiation from each address that it went to (L-49).
    package static let responsesPerTransmission = 4
    /// The sessions that we answered and that no sealed datagram has confirmed (L-12).
    package static let unconfirmedSessions = 128
    /// The superseded sessions of a link that still receive (L-21).
    package static let supersededSessions = 3
    /// The records of a stream that are sent and not acknowledged (M-10).
    package static let recordsInFlight = 16
    /// The records sent after another one whose acknowledgements show that it is lost (M-12).
    package static let laterRecordsUntilLost = 3
    /// The own streams of a link by which a hello shows that it speaks of that link (M-7).
    package static let rememberedStreams = 8
    /// The bytes of text that wait for one peer (M-14).
    package static let queuedBytesPerPeer = 4 * 1_024 * 1_024
    /// What each queued message counts besides its text, in bytes (M-14).
    package static let queuedMessageOverhead = 256
    /// The keys that discovery may list at one address for each to be opened to (D-17).
    package static let keysPerAddress = 4
    /// The addresses with more of them that are asked for theirs at a time (D-17).
    package static let crowdedAddresses = 64
    /// The bytes of each of two pools: texts that the user has not taken, and room for messages that are not whole (M-20).
    package static let heldText = 8 * 1_024 * 1_024
    /// How many times the free bytes of a pool a link may hold (M-20).
    package static let heldTextShare = 3
    /// The bytes of each pool that all people hold whom the user has not verified (M-20).
    package static let heldTextOfUnverified = heldText / 4 * 3
    /// The bytes of each pool that strangers hold (M-20).
    package static let heldTextOfStrangers = heldText / 2
    /// The bytes of each pool that unverified people of one secret chat hold (M-20).
    package static let heldTextPerSecretChat = heldText / 4
    /// The bytes of each pool that unverified people of one source hold (M-20).
    package static let heldTextPerSource = heldText / 16
    /// The DNS-SD resolves and queries that run at once (D-10).
    package static let resolvesAtOnce = 16
    /// The DNS-SD resolves and queries that begin in a second (D-10).
    package static let resolvesPerSecond = 16
    /// The DNS-SD resolves and queries that begin in a row (D-10).
    package static let resolveBurst = 256
    /// The answers to hellos in one session (L-17).
    package static let helloAnswersPerSession = 12
    /// The pings that a suspected peer gets before it is down (L-26).
    package static let suspicionPings = 10
    /// The pings of a link whose pongs are awaited: with more, the oldest is forgotten (L-28).
    package static let pingsInFlight = 32
    /// How many times the bytes that came from an address may go there before it is confirmed (L-51).
    package static let unconfirmedAddressFactor = 3
    /// The datagrams that a node reads after its timer was late before they count again (L-30).
    package static let datagramsCaughtUp = 4_096
    /// The sources of initiations with a valid cookie that a node keeps count of (L-10).
    package static let initiationSources = 1_024
    /// How many of these count as sent when the peer says that it hears nothing (L-45).
    package static let pingsSpentUnheard = 5
}

// Rates.
extension Limits {
    /// The initiations that a node sends in a second (L-6).
    package static let initiationsSentPerSecond = 200
    /// The responses that are opened in a second from addresses that no transmission of their initiation went to (L-49).
    package static let strayResponsesPerSecond = 20
    /// The initiations that a node sends to strangers in a second (L-6).
    package static let initiationsToStrangersPerSecond = 150
    /// The initiations that go to an address in a second that has answered nothing (L-54).
    package static let initiationsPerSecondPerDestination = 4
    /// The initiations that go to such an address in a row (L-54).
    package static let initiationBurstPerDestination = 40
    /// Those of them that are kept for preferred keys (L-54).
    package static let initiationsKeptPerDestination = 10
    /// The retries that a node sends in a second (L-9).
    package static let retriesPerSecond = 500
    /// The retries that a node sends to known addresses besides (L-9).
    package static let retriesToKnownPerSecond = 200
    /// The initiations with a valid cookie from unknown addresses that a node opens in a second (L-10).
    package static let initiationsOpenedOfUnknownPerSecond = 200
    /// The initiations that a node answers in a second (L-10).
    package static let initiationsAnsweredPerSecond = 200
    /// Those of them that may be from unknown addresses (L-10).
    package static let answersToUnknownPerSecond = 100
    /// Those of them that may be from addresses that are not of preferred persons (L-10).
    package static let answersToUnpreferredPerSecond = 150
    /// The initiations with a valid cookie that one source gets answered in a second (L-10).
    package static let cookieInitiationsPerSecondPerSource = 5
    /// The initiations with a valid cookie that one source gets answered in a row (L-10).
    package static let cookieInitiationBurstPerSource = 20
    /// The same for other users of the node's host: as many as they may have links (L-10).
    package static let cookieInitiationBurstOfOtherUsers = linksOfOtherUsers
    /// The initiations received in a second above which a node is under load (L-9).
    package static let loadInitiationsPerSecond = 100
    /// The unconfirmed sessions with which a node is under load (L-9).
    package static let loadUnconfirmedSessions = 64
    /// The asks that a node answers in a second (D-13).
    package static let asksAnsweredPerSecond = 64
    /// Those of them that may be from unknown addresses (D-13).
    package static let asksOfUnknownAnsweredPerSecond = 32
    /// The addresses with too many keys that a node begins to ask in a second (D-17).
    package static let crowdedAddressesPerSecond = 20
    /// The authenticated datagrams that are taken from a link in a second (L-25).
    package static let datagramsPerSecondPerLink = 500
    /// The authenticated datagrams that are taken from a link in a row (L-25).
    package static let datagramBurstPerLink = 1_000
    /// The typing starts that are taken from a link in a second, and in a row (T-16).
    package static let typingStartsPerSecond = 10
    /// The lists of typists of a chat that are told in a second, and in a row (T-22).
    package static let listsPerSecond = 20
    /// The changes of presences and names of a chat that are told in a second, and in a row, although the same person was
    /// told of within a second (T-22).
    package static let repeatedPresencesPerSecond = 20
    /// The records that are sent on a link in a second (M-13).
    package static let recordsPerSecondPerLink = 400
    /// The records that are sent on a link in a row (M-13).
    package static let recordBurstPerLink = 64
    /// The records that a node sends in a second (M-13).
    package static let recordsPerSecondPerNode = 2_000
    /// The records that a node sends in a row (M-13).
    package static let recordBurstPerNode = 128
    /// The records that are sent between two reads of the socket (M-13).
    package static let recordsPerInput = 64
    /// The idle heartbeats that a node sends in a second: above as many links, the idle interval stretches (T-11).
    package static let idleHeartbeatsPerSecond = 50
}

// Times of typing.
extension Limits {
    /// How long a peer shows as typing after the last evidence that said so (T-15).
    package static let typingExpiry = Duration.milliseconds(3_000)
    /// How long after the last edit a node stops saying that its user types (T-9).
    package static let typingIdleStop = Duration.milliseconds(2_900)
    /// The least time between two announced starts in one chat (T-5).
    package static let typingStartInterval = Duration.milliseconds(500)
    /// The time between the heartbeats of a node whose user types (T-8).
    package static let typingHeartbeatInterval = Duration.milliseconds(500)
    /// Within which a change of a person's presence or name follows another one (T-22).
    package static let repeatedPresencePeriod = Duration.seconds(1)
    /// When the copies of an edge are sent, after the edge (T-6, L-32).
    package static let edgeCopies: [Duration] = [.milliseconds(30), .milliseconds(120)]
}

// Times of sessions and links.
extension Limits {
    /// The idle interval of a node of few links (T-11).
    package static let idleInterval = Duration.seconds(1)
    /// The shortest idle interval that a heartbeat can announce (T-12).
    package static let minimumIdleInterval = Duration.milliseconds(1_000)
    /// The longest idle interval that a heartbeat can announce (T-12).
    package static let maximumIdleInterval = Duration.milliseconds(25_500)
    /// After how many quarters of the announced idle interval a silent peer is suspected: 1.75 intervals (L-26).
    package static let suspicionQuarterIntervals = 7
    /// The part of the idle interval, in percent, that jitter may leave of it (T-11).
    package static let idleJitterPercent = 75...100
    /// The time between two pings to a suspected peer (L-26).
    package static let pingInterval = Duration.milliseconds(125)
    /// The least time between two pings that a goodbye, a vanished instance or an ICMP error asked for (L-29).
    package static let probeInterval = Duration.seconds(1)
    /// The least time between two pings about changes of the own networks on a link (L-40).
    package static let changePingInterval = Duration.seconds(1)
    /// The least time between two pings to addresses that are not confirmed, on a link (L-51).
    package static let addressCheckInterval = Duration.milliseconds(125)
    /// How long the pong of a ping is awaited (L-28, L-51).
    package static let pingAwaited = Duration.seconds(3)
    /// How long a link checks no address after a pong whose token was not awaited (L-51).
    package static let addressCheckPause = Duration.seconds(1)
    /// The time between two hellos until the peer's has come (L-16).
    package static let helloInterval = Duration.milliseconds(250)
    /// How long a session is kept without the peer's hello (L-19).
    package static let helloTimeout = Duration.seconds(3)
    /// The least time since our last hello before one that says nothing new answers the peer's (L-17).
    package static let helloAnswerInterval = Duration.milliseconds(200)
    /// The same, once so many answers were given in the session as may follow one another (L-17).
    package static let lateHelloAnswerInterval = Duration.seconds(1)
    /// How long an answered session waits for its first sealed datagram (L-12).
    package static let unconfirmedLifetime = Duration.seconds(5)
    /// Within which two handshakes, one begun by each side, count as crossing (L-21).
    package static let crossingPeriod = Duration.seconds(5)
    /// How long a superseded session receives after it was last used (L-21).
    package static let supersededLifetime = Duration.seconds(10)
    /// The age of a session at which its initiator begins a new handshake (L-37).
    package static let rekeyAfter = Duration.seconds(3_600)
    /// The age of a session at which its responder begins a new handshake (L-37).
    package static let responderRekeyAfter = Duration.seconds(3_660)
    /// The shortest time between two beginnings of hellos because the name changed (L-57).
    package static let renamingInterval = Duration.seconds(1)
    /// The time after which a handshake for a new session is tried again (L-37).
    package static let rekeyRepeat = Duration.seconds(60)
    /// The age at which a session is used no more (L-38).
    package static let sessionLifetime = Duration.seconds(7_200)
    /// How long a cookie secret makes cookies; for as long again, its cookies still count (L-11).
    package static let cookieSecretLifetime = Duration.seconds(120)
    /// How late an own deadline may be before what was received meanwhile counts as old (L-30).
    package static let lateTimer = Duration.milliseconds(500)
    /// The longest time between two timers of a node in a chat, by which it notices that it was stopped (L-46).
    package static let longestRest = Duration.seconds(1)
    /// How long one resolve or query of DNS-SD may take (D-10).
    package static let resolveTimeout = Duration.seconds(1)
}

// Times of opening.
extension Limits {
    /// How long the node with the larger key leaves the opening to the other (L-1).
    package static let openingDelay = Duration.milliseconds(300)
    /// How long one ephemeral key is tried (L-4).
    package static let attemptDuration = Duration.seconds(3)
    /// When an initiation is sent again, after its first transmission (L-4).
    package static let transmissionOffsets: [Duration] = [
        .milliseconds(300), .milliseconds(600), .milliseconds(1_200), .milliseconds(2_400),
    ]
    /// The pauses before the second attempt, the third, and so on; the last one repeats (L-5).
    package static let attemptPauses: [Duration] = [
        .zero, .milliseconds(1_250), .milliseconds(2_500),
    ]
    /// The time between two asks to an address whose key is unknown, after the first five (D-11).
    package static let askInterval = Duration.seconds(5)
    /// How long after the first attempt the others follow one another fast (L-5).
    package static let fastOpeningPeriod = Duration.seconds(90)
    /// The time between two attempts after that (L-5).
    package static let slowOpeningInterval = Duration.seconds(60)
    /// The last addresses of links that fell silent that a node keeps trying; the oldest gives way (L-35).
    package static let rememberedAddresses = 64
    /// The time from one attempt at remembered addresses to the next (D-19).
    package static let rememberedInterval = Duration.seconds(5)
    /// How long a link must have lived for its last address to be tried after it fell silent (L-35).
    package static let memorableLinkAge = Duration.seconds(10)
    /// How long after a bye the peer's instances are not opened to (L-35).
    package static let openingPauseAfterBye = Duration.seconds(60)
    /// How long after a bye an address added by hand is not opened to (L-35).
    package static let openingPauseAfterByeByHand = Duration.seconds(5)
    /// How long a transmission waits for the initiations that a node may send (L-6).
    package static let transmissionDelay = Duration.milliseconds(50)
    /// How long an attempt waits for a place among the pending ones, or for the initiations that may be sent (L-6).
    package static let crowdedOpeningDelay = Duration.milliseconds(250)
    /// How long an opening waits that gave its place to one never tried (L-6).
    package static let displacedOpeningDelay = Duration.seconds(1)
    /// How far, in percent and both ways, jitter moves transmissions and pauses (L-4, L-5).
    package static let openingJitterPercent = 25
}

// Times of records.
extension Limits {
    /// How long a stream may go without an acknowledgement while the peer is waited for (M-19).
    package static let stalledStream = Duration.seconds(30)
    /// How long after its first record was first sent a message may be unfinished (M-19).
    package static let longestDelivery = Duration.seconds(60)
    /// How old the oldest message that waits for a peer is when a full queue fails for that peer alone (M-14).
    package static let overdueMessage = Duration.seconds(5)
    /// How long after its last record a message that is not whole is given up (M-20).
    package static let reassemblyPause = Duration.seconds(35)
    /// How long after its first record a message that is not whole is given up (M-20).
    package static let longestReassembly = Duration.seconds(65)
    /// How long records wait when as many went out as may between two reads of the socket (M-13).
    package static let recordRest = Duration.milliseconds(1)
    /// The shortest retransmission timeout (M-11).
    package static let minimumRTO = Duration.milliseconds(200)
    /// The retransmission timeout before a round trip was measured (M-11).
    package static let initialRTO = Duration.milliseconds(500)
    /// The longest retransmission timeout (M-11).
    package static let maximumRTO = Duration.milliseconds(1_000)
}
