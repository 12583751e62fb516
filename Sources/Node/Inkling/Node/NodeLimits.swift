import NIOCore

/// The limits of a node beside those of the protocol. They are this library's own: no peer notices them.
package enum NodeLimits {
    /// How many of those who went are remembered in a chat; when there are more, the half that went first is forgotten.
    package static let rememberedPeers = 1_024
    /// How many notices wait for whoever listens first, and for each reader; the oldest go.
    package static let unheardNotices = 32
    /// How many outcomes of own messages wait for a reader; those beyond are counted as missed. Eight peers with full
    /// queues of the shortest messages (M-14) fail with as many.
    package static let waitingOutcomes = 131_072
    /// How many messages of one sender wait in the order in which they came among those of others; see ``Flow``.
    package static let messagesInOrder = 8
    /// How many changes of presence, and how many outcomes, wait in the order in which they came.
    package static let changesInOrder = 4
    /// How many notices wait in the order in which they came.
    package static let noticesInOrder = 4
    /// For so long a reader may take nothing of what waits for it until messages don't wait for it any more.
    package static let readerPatience = Duration.seconds(10)
    /// How many times within that it is looked at. What stops the process counts as one.
    package static let readerLooks = 10
    /// For so long a port may be held by the helper of a node that was killed: it sends the farewells first.
    static let portPatience = Duration.milliseconds(500)
    /// How long between two tries to get the port.
    static let portStep = TimeAmount.milliseconds(10)
    /// How long between two looks at whether all copies of the farewells went out.
    static let farewellStep = TimeAmount.milliseconds(10)
    /// While a name shows as typing, the protocol is called at least this often: the event loop's timers run on a clock
    /// that stops while the machine sleeps, and a name has to go in time all the same (T-15).
    static let longestSleepWhileTyping = Duration.milliseconds(250)
    /// The size of the buffer for a datagram: more than any of the protocol (W-13), so that what is longer shows.
    static let receiveBufferSize = 2_048
    /// How many datagrams are read before anything else gets its turn.
    static let datagramsPerRead: UInt = 64
    /// How long people who may be there are waited for after the last who came; see ``Node/waitForOthers(in:within:)``.
    package static let settling = Duration.milliseconds(500)
    /// For so long after it joined a chat a node says that others may not have been found yet.
    static let looking = Duration.seconds(3)
}
