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
    /// The longest time for which a message waits for a list of typists (T-27).
    package static let messageAfterList = Duration.milliseconds(50)
    /// The shortest time between two name records (M-24).
    package static let nameInterval = Duration.seconds(1)
}

// Times of links.
extension Limits {
    /// The silence after which a link is suspect, in quarters of the peer's idle interval: 1.75 intervals (L-26).
    package static let suspicionQuarterIntervals = 7
    /// The time between two pings of a round (L-26).
    package static let pingInterval = Duration.milliseconds(125)
    /// The shortest time between two "unheard" datagrams that make a link suspect (L-45).
    package static let unheardInterval = Duration.seconds(10)
    /// The shortest time between two pings on a link because of hints or changed networks (L-29, L-40).
    package static let hintInterval = Duration.seconds(1)
    /// The shortest time between two pings on a down link, or to a link's other address (L-71, L-51).
    package static let checkInterval = Duration.milliseconds(125)
    /// The time for which a node awaits the pong of a ping (L-80, L-51).
    package static let pongAwaited = Duration.seconds(3)
    /// The pause of address checks after a pong with a wrong token (L-73).
    package static let checkPause = Duration.seconds(1)
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
    /// The time between two attempts at remembered addresses (D-23).
    package static let rememberedInterval = Duration.seconds(5)
    /// The times of the first asks to an address added by hand (D-11).
    package static let asksByHand: [Duration] = [
        .zero, .milliseconds(300), .milliseconds(900), .milliseconds(2_100), .milliseconds(4_500),
    ]
    /// The time between two later asks (D-11).
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
