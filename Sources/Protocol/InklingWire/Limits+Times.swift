// Times of typing.
extension Limits {
    /// The time after the last status that said so, at which typing ends at a receiver (T-15).
    package static let typingExpiry = Duration.seconds(3)
    /// The time after the last edit at which typing ends at the sender (T-9).
    package static let typingIdleStop = Duration.milliseconds(2_900)
    /// The shortest time between two starts in a chat (T-5).
    package static let startInterval = Duration.milliseconds(500)
    /// The time between heartbeats while typing is announced (T-8).
    package static let typingHeartbeat = Duration.milliseconds(500)
    /// The longest time between these (T-23).
    package static let longestTypingHeartbeat = Duration.milliseconds(1_500)
    /// The idle interval of a node with few links (T-11, T-24).
    package static let idleInterval = Duration.seconds(1)
    /// The part of the idle interval that a wait takes, in percent (T-11).
    package static let idleJitterPercent = 75...100
    /// The shortest interval that a receiver takes (T-12).
    package static let minimumIntervalTaken = Duration.seconds(1)
    /// The longest interval that a heartbeat can announce (T-12).
    package static let maximumIntervalTaken = Duration.milliseconds(25_500)
    /// The times of the copies of edges, byes and unheard heartbeats (T-6, L-32, L-44).
    package static let copies: [Duration] = [.milliseconds(30), .milliseconds(120)]
    /// The longest time that a message waits for a list (T-27).
    package static let messageAfterList = Duration.milliseconds(50)
    /// The shortest time between two name records (M-24).
    package static let nameInterval = Duration.seconds(1)
}

// Times of links.
extension Limits {
    /// The quarters of an interval without evidence after which a link is suspect: 1.75 intervals (L-26).
    package static let suspicionQuarterIntervals = 7
    /// The time between the pings of a round (L-26).
    package static let pingInterval = Duration.milliseconds(125)
    /// The shortest time between two suspicions by unheard datagrams (L-45).
    package static let unheardInterval = Duration.seconds(10)
    /// The shortest time between two pings of hints, and of changed networks, on a link (L-29, L-40).
    package static let hintInterval = Duration.seconds(1)
    /// The shortest time between two pings on a down link, or to another address (L-71, L-51).
    package static let checkInterval = Duration.milliseconds(125)
    /// The age up to which the pong of a ping is awaited (L-80, L-51).
    package static let pongAwaited = Duration.seconds(3)
    /// The pause of address checks after a pong with a wrong token (L-73).
    package static let checkPause = Duration.seconds(1)
    /// The time between the pings of a new session (L-74).
    package static let joinPingInterval = Duration.milliseconds(250)
    /// The age at which the pings of a new session end, and a session that is not complete (L-74, L-75).
    package static let joinPingPeriod = Duration.seconds(3)
    /// The time down or new, after which a link is forgotten (L-83).
    package static let downPeriod = Duration.seconds(60)
    /// The time up in all, below which a link that goes down is forgotten (L-84).
    package static let shortestUp = Duration.seconds(10)
    /// The time up without the peer's record 0, after which a link ends (L-86).
    package static let unnamedPeriod = Duration.seconds(10)
    /// The time that a person stays shown whose link began a new state (L-103).
    package static let keptShown = Duration.seconds(3)
    /// The delay of a deadline above which a node catches up (L-30).
    package static let lateTimer = Duration.milliseconds(500)
    /// The longest time until the next timer of a node in a chat (L-46).
    package static let longestTimer = Duration.seconds(1)
    /// The time since a node last ran, above which it begins handshakes (L-42).
    package static let stop = Duration.seconds(3)
    /// The age of a sending session at which a handshake begins (L-37).
    package static let rekeyAfter = Duration.seconds(3_600)
    /// The latest age of a sending session at which a handshake begins (L-37).
    package static let rekeyAtLatest = Duration.seconds(3_900)
    /// The time between repeats of such a handshake (L-37).
    package static let rekeyRepeat = Duration.seconds(60)
    /// The time without an opened datagram, after which a session is erased (L-38).
    package static let silentSession = Duration.seconds(60)
    /// The age at which a session is erased (L-38).
    package static let sessionLifetime = Duration.seconds(7_200)
    /// The time in which a datagram must pass after one failed W-22 on a completing session (L-93).
    package static let snapshotSign = Duration.seconds(3)
    /// The age at which an unconfirmed session is dropped (L-12).
    package static let unconfirmedSession = Duration.seconds(5)
    /// The age of a cookie at which it is worthless at the latest (L-11).
    package static let cookieLifetime = Duration.seconds(240)
}

// Times of openings and discovery.
extension Limits {
    /// The wait of the node with the larger key (L-1).
    package static let largerKeyWait = Duration.milliseconds(300)
    /// The times of the transmissions of an attempt (L-4).
    package static let transmissions: [Duration] = [
        .zero, .milliseconds(300), .milliseconds(600), .milliseconds(1_200), .milliseconds(2_400),
    ]
    /// The length of an attempt (L-4).
    package static let attempt = Duration.seconds(3)
    /// The part by which transmissions, pauses and asks vary, in percent (L-4, L-5, D-11).
    package static let openingJitterPercent = 25
    /// The pauses between attempts, of which the last repeats (L-5).
    package static let pauses: [Duration] = [.zero, .milliseconds(1_250), .milliseconds(2_500)]
    /// The time from the start of an opening on, after which attempts are slow (L-5).
    package static let fastPeriod = Duration.seconds(90)
    /// The time between slow attempts (L-5).
    package static let slowInterval = Duration.seconds(60)
    /// The rest of instances after a bye (L-35).
    package static let rest = Duration.seconds(60)
    /// The rest of addresses by hand after a bye (L-35).
    package static let restByHand = Duration.seconds(5)
    /// The time after a suspension in which a node opens to the last addresses of its links (L-88).
    package static let afterSuspension = Duration.seconds(90)
    /// The time between attempts at remembered addresses (D-23).
    package static let rememberedInterval = Duration.seconds(5)
    /// The times of the first asks to an address by hand (D-11).
    package static let asksByHand: [Duration] = [
        .zero, .milliseconds(300), .milliseconds(900), .milliseconds(2_100), .milliseconds(4_500),
    ]
    /// The time between later asks (D-11).
    package static let askInterval = Duration.seconds(5)
    /// The time between look-ups of a host by hand without an up link (D-24).
    package static let hostLookUp = Duration.seconds(60)
    /// The time between asks to an address that told the node's own key (D-14).
    package static let ownKeyAskInterval = Duration.seconds(60)
    /// The shortest time between registrations of a renamed instance (D-20).
    package static let renamedInterval = Duration.seconds(10)
    /// The time after which a resolve or query ends (D-10).
    package static let resolveTimeout = Duration.seconds(1)
}

// Times of records.
extension Limits {
    /// The timer on-link before a sample (M-11).
    package static let initialTimerOnLink = Duration.milliseconds(250)
    /// The shortest timer on-link (M-11).
    package static let minimumTimerOnLink = Duration.milliseconds(200)
    /// The longest timer on-link (M-11).
    package static let maximumTimerOnLink = Duration.seconds(1)
    /// The timer off-link before a sample (M-11).
    package static let initialTimerOffLink = Duration.seconds(1)
    /// The shortest timer off-link (M-11).
    package static let minimumTimerOffLink = Duration.seconds(1)
    /// The longest timer off-link (M-11).
    package static let maximumTimerOffLink = Duration.seconds(60)
    /// The age of the oldest message above which a full queue fails for its peer alone (M-30).
    package static let overdueMessage = Duration.seconds(5)
    /// The time without an acknowledgement after which the messages of a link fail (M-19).
    package static let stalled = Duration.seconds(30)
    /// The age of an unfinished message at which the messages of a link fail (M-19).
    package static let longestDelivery = Duration.seconds(60)
    /// The time without a record after which a receiver drops what waits (M-43).
    package static let waitingWithoutRecord = Duration.seconds(35)
    /// The age at which a receiver drops a begun message or a gap (M-43).
    package static let longestGap = Duration.seconds(65)
}
