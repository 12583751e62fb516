import InklingWire

/// The state that a peer of a case shares with the program (L-68): the counters and records of one pair of epochs.
package final class PeerState {
    package let chat: ChatKeys
    /// The peer's static key.
    package let key: PublicKey
    /// The peer's run and epoch in the handshake that began the state.
    package let own: RunAndEpoch
    /// The program's run and epoch.
    package let program: RunAndEpoch
    /// The counter of the peer's next datagram.
    package var nextCounter: UInt32 = 0
    /// The program's record that the peer expects next, and the records held beyond it.
    package var nextRecord: UInt32 = 0
    package var beyond: Set<UInt32> = []
    /// The number of the peer's next record.
    package var nextOwnRecord: UInt32 = 0
    /// The highest `next` of the program's acks: the peer's records below it are acknowledged.
    package internal(set) var acknowledged: UInt32 = 0
    /// Whether an awaited pong arrived, so that the peer's end is up (L-80).
    package var isUp = false
    /// Whether the program's record 0, its name, arrived.
    package internal(set) var hasName = false
    package var ended = false
    var awaitedPings: Set<UInt16> = []

    init(chat: ChatKeys, key: PublicKey, own: RunAndEpoch, program: RunAndEpoch) {
        self.chat = chat
        self.key = key
        self.own = own
        self.program = program
    }
}

/// A session of a peer of a case: the keys of one handshake.
package final class PeerSession {
    package enum Role: Sendable { case initiator, responder }

    package let role: Role
    package let localIndex: UInt32
    package let remoteIndex: UInt32
    package let keys: TransportKeys
    package let state: PeerState
    package let createdAt: Duration
    /// The destination of the peer's datagrams.
    package var destination: UDPAddress
    /// The source of the peer's datagrams.
    package var source: UDPAddress
    /// Whether the peer has opened a datagram of the program on this session.
    package var isComplete = false
    /// The time at which the peer's habits began to send on this session (L-74).
    var joinedAt: Duration?

    package var ended: Bool { state.ended }

    init(
        role: Role, localIndex: UInt32, remoteIndex: UInt32, keys: TransportKeys, state: PeerState, at now: Duration,
        source: UDPAddress, destination: UDPAddress
    ) {
        self.role = role
        self.localIndex = localIndex
        self.remoteIndex = remoteIndex
        self.keys = keys
        self.state = state
        createdAt = now
        self.source = source
        self.destination = destination
    }

    /// Returns a sealed datagram with any plaintext.
    package func seal(_ plaintext: [UInt8], counter: UInt32) -> [UInt8] {
        let header = [0x23] + remoteIndex.bigEndianBytes + counter.bigEndianBytes
        return header + keys.send.seal(plaintext, counter: UInt64(counter), associatedData: header)
    }
}

/// A handshake that a peer has begun.
package struct PeerOpening {
    package let handshake: PendingHandshake
    package let own: RunAndEpoch
    package let key: PublicKey
    package let chat: ChatKeys
    package let source: UDPAddress
    package let destination: UDPAddress
    package var initiation: Initiation { handshake.initiation }
    package var index: UInt32 { handshake.initiation.senderIndex }
    package var bytes: [UInt8] { handshake.initiation.encode() }
}

/// A sealed datagram of the program that a peer has opened.
package struct ReceivedFrames {
    package let at: Duration
    package let session: PeerSession
    package let counter: UInt32
    package let plaintext: [UInt8]
    /// The frames; empty if the plaintext is wrong.
    package let frames: [Frame]
    package let bytes: [UInt8]
    package let source: UDPAddress
    package let destination: UDPAddress

    package var heartbeat: Heartbeat? { first { if case .heartbeat(let value) = $0 { value } else { nil } } }
    package var typing: Status? { first { if case .typing(let value) = $0 { value } else { nil } } }
    package var record: Record? { first { if case .record(let value) = $0 { value } else { nil } } }
    /// The text record, if any.
    package var text: Record? { record?.type == .text ? record : nil }
    /// The name record, if any.
    package var name: Record? { record?.type == .name ? record : nil }
    package var ack: Ack? { first { if case .ack(let value) = $0 { value } else { nil } } }
    package var ping: UInt16? { first { if case .ping(let value) = $0 { value } else { nil } } }
    package var pong: UInt16? { first { if case .pong(let value) = $0 { value } else { nil } } }
    package var bye: ByeReason? { first { if case .bye(let value) = $0 { value } else { nil } } }
    package var forward: UInt32? { first { if case .forward(let value) = $0 { value } else { nil } } }
    package var status: Status? { heartbeat?.status ?? typing }

    private func first<Value>(_ value: (Frame) -> Value?) -> Value? { frames.lazy.compactMap(value).first }
}

/// The actions that a peer does by itself. A case switches off those that it does by hand or does not want.
package struct PeerHabits: Sendable {
    package var answersAsks = true
    package var answersInitiations = true
    package var takesResponses = true
    package var obeysRetries = true
    /// Whether the peer pings on each session that joins, until a pong comes (L-74).
    package var comesUp = true
    /// Whether the peer sends its name as record 0 once the link is up, until the program acknowledges it (M-24).
    package var sendsName = true
    package var answersPings = true
    package var acknowledges = true
    /// The time between heartbeats; nil for none.
    package var heartbeat: Duration? = .seconds(1)

    package static let all = PeerHabits()
    /// The peer does nothing by itself.
    package static let none = PeerHabits(
        answersAsks: false, answersInitiations: false, takesResponses: false, obeysRetries: false, comesUp: false,
        sendsName: false, answersPings: false, acknowledges: false, heartbeat: nil)
    /// The peer completes its own handshakes, but sends nothing on their sessions.
    package static let quiet: PeerHabits = {
        var habits = PeerHabits.none
        (habits.takesResponses, habits.obeysRetries) = (true, true)
        return habits
    }()
    /// Like ``quiet``, but the peer also answers initiations.
    package static let answering: PeerHabits = {
        var habits = PeerHabits.quiet
        habits.answersInitiations = true
        return habits
    }()
}
