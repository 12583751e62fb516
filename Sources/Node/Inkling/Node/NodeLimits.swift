/// The limits of a node besides those of the protocol. Peers do not notice these limits.
package enum NodeLimits {
    /// The people offline that a chat remembers: those met on several days, and newcomers. Beyond it, the chat forgets
    /// whom the user knows least. Verified people don't count.
    package static let rememberedPeers = 768
    package static let rememberedNewcomers = 256
    /// The number of notices that wait for the first reader, and for each reader. Beyond it, the oldest are dropped.
    package static let unheardNotices = 32
    /// The number of outcomes of this node's messages that wait for a reader. Further ones count as missed. If eight
    /// peers with full queues of the shortest messages (M-14) fail, they cause this many.
    package static let waitingOutcomes = 131_072
    /// The number of messages and outcomes after which the states that wait come first; see ``Mailbox``.
    package static let outputsInRow = 8
    /// The time for which a reader may take no events. After it, the node no longer holds messages for that reader.
    package static let readerPatience = Duration.seconds(10)
    /// The number of checks of a reader within that time. A suspension of the process counts as one check.
    package static let readerLooks = 10
    /// The time for which a node retries a taken port. The helper of a killed node holds the port until it has sent the
    /// byes.
    static let portPatience = Duration.milliseconds(500)
    /// The pause between two tries to get the port.
    static let portStep = Duration.milliseconds(10)
    /// The pause between two checks whether all copies of the farewells are sent.
    static let farewellStep = Duration.milliseconds(10)
    /// The most timers for deadlines of the protocol.
    static let pendingTimers = 4
    /// The longest sleep while a person is shown as typing. The event loop's timers run on a clock that stops while the
    /// machine sleeps, but the display must end in time (T-15).
    static let longestSleepWhileTyping = Duration.milliseconds(250)
    /// The size of the buffer for a datagram. The buffer is larger than the protocol's longest datagram (W-13), so that
    /// the node can recognise longer ones.
    static let receiveBufferSize = 2_048
    /// The number of datagrams read each time that the socket is readable. With more than one, a datagram that arrives
    /// between two reads would come without its header. A single datagram would take two more system calls.
    static let datagramsPerRead: UInt = 1
    /// The wait for further people after the last arrival; see ``Node/waitForOthers(in:within:)``.
    package static let settling = Duration.milliseconds(500)
    /// The time from the start to the first write of the age.
    static let firstAge = Duration.seconds(60)
    /// The pause between two writes of the age.
    static let ageStep = Duration.seconds(3_600)
    /// The writes of the age from one renewal of the state's copy to the next.
    static let ageStepsPerCopy = 24
    /// The longest time between two checks whether a departure has ended.
    static let departureCheck = Duration.seconds(86_400)
    /// The time after joining a chat for which a node reports that it may not have found all people yet.
    static let looking = Duration.seconds(3)
    /// The most texts of this user that wait on disk.
    package static let waitingTexts = 1_000
    /// The most bytes of texts that wait on disk.
    package static let waitingTextBytes = 8 << 20
    /// The most texts that wait on disk for one key.
    package static let waitingTextsPerKey = 200
    /// The part of these for newcomers in one chat, half of what M-42 gives a chat.
    package static let shareOfNewcomers = (numerator: 1, denominator: 8)
    /// The time for which a text waits.
    package static let waitingTextTime = Duration.seconds(7 * 86_400)
    /// The time after which no text waits any more for a person whom nobody has seen.
    package static let waitingAbsence = Duration.seconds(30 * 86_400)
    /// The bytes that a text in memory adds to the size of its characters (M-14).
    static let waitingTextOverhead = 256
    /// The pause before the node sends a failed text again to a person who is there.
    static let textRetry = Duration.seconds(1)
    /// The pause before the node writes a received text again after a failure of the disk.
    static let diskRetry = Duration.seconds(5)
    /// The longest time between two looks for texts that are to be given up.
    static let textLook = Duration.seconds(3_600)
}
