import InklingWire

/// The keys of one handshake, as a peer of a case has them.
package final class PeerSession {
    package enum Role: Sendable { case initiator, responder }

    package let role: Role
    package let localIndex: UInt32
    package let remoteIndex: UInt32
    package let keys: TransportKeys
    package let chat: ChatKeys
    package let createdAt: Duration
    /// Where its datagrams go.
    package var destination: UDPAddress
    /// Where they come from.
    package var source: UDPAddress
    /// The counter of the next datagram.
    package var nextCounter: UInt64 = 0
    /// Whether the program's hello has come.
    package var hasHello = false
    /// Whether a datagram of the program has opened on it.
    package var isConfirmed = false
    package var lastHelloSent: Duration?
    package var helloAnswers = 0
    package var ended = false

    init(
        role: Role, localIndex: UInt32, remoteIndex: UInt32, keys: TransportKeys, chat: ChatKeys, at now: Duration,
        source: UDPAddress, destination: UDPAddress
    ) {
        self.role = role
        self.localIndex = localIndex
        self.remoteIndex = remoteIndex
        self.keys = keys
        self.chat = chat
        createdAt = now
        self.source = source
        self.destination = destination
    }

    /// The bytes of a sealed datagram.
    package func seal(_ plaintext: [UInt8], counter: UInt64) -> [UInt8] {
        let header = SealedDatagram.header(receiverIndex: remoteIndex, counter: UInt32(truncatingIfNeeded: counter))
        return header + keys.send.seal(plaintext, counter: counter, associatedData: header)
    }
}

/// A handshake that a peer has begun.
package struct PeerOpening {
    package let handshake: NoiseInitiator
    package var initiation: Initiation
    package let chat: ChatKeys
    package let source: UDPAddress
    package let destination: UDPAddress
    package var bytes: [UInt8] { initiation.encode() }
}

/// A sealed datagram of the program that a peer has opened.
package struct ReceivedFrames {
    package let at: Duration
    package let session: PeerSession
    package let counter: UInt32
    package let plaintext: [UInt8]
    /// Empty where the plaintext is in error.
    package let frames: [Frame]
    package let bytes: [UInt8]
    package let source: UDPAddress
    package let destination: UDPAddress

    package var heartbeat: Heartbeat? { first { if case .heartbeat(let value) = $0 { value } else { nil } } }
    package var typing: Status? { first { if case .typing(let value) = $0 { value } else { nil } } }
    package var hello: Hello? { first { if case .hello(let value) = $0 { value } else { nil } } }
    package var record: Record? { first { if case .message(let value) = $0 { value } else { nil } } }
    package var ack: Ack? { first { if case .ack(let value) = $0 { value } else { nil } } }
    package var ping: UInt16? { first { if case .ping(let value) = $0 { value } else { nil } } }
    package var pong: UInt16? { first { if case .pong(let value) = $0 { value } else { nil } } }
    package var bye: ByeReason? { first { if case .bye(let value) = $0 { value } else { nil } } }
    package var status: Status? { heartbeat?.status ?? typing }

    private func first<Value>(_ value: (Frame) -> Value?) -> Value? { frames.lazy.compactMap(value).first }
}

/// What a peer does by itself. A case switches off what it wants to do by hand, or not to happen.
package struct PeerHabits: Sendable {
    package var answersAsks = true
    package var answersInitiations = true
    package var takesResponses = true
    package var obeysRetries = true
    package var saysHello = true
    package var answersPings = true
    package var acknowledges = true
    /// The time between heartbeats; nil for none.
    package var heartbeat: Duration? = .seconds(1)

    package static let all = PeerHabits()
    /// It does nothing at all.
    package static let none = PeerHabits(
        answersAsks: false, answersInitiations: false, takesResponses: false, obeysRetries: false, saysHello: false,
        answersPings: false, acknowledges: false, heartbeat: nil)
}
