import InklingWire

extension Peer {
    /// Returns whether a pong with a token has arrived.
    package func hasPong(_ token: UInt16) -> Bool { received.contains { $0.pong == token } }
}

/// A datagram or plaintext to send, with a description for reports.
package struct Sample {
    package let what: String
    package let bytes: [UInt8]

    package init(_ what: String, _ bytes: [UInt8]) {
        self.what = what
        self.bytes = bytes
    }
}

extension Trial {
    /// The most bytes of frames that a datagram can hold.
    package static let plaintextSize = Limits.maximumDatagramSize - SealedDatagram.headerSize - CipherKey.tagSize

    /// Sends datagrams in small groups from a peer that has no link, and fails if one is answered.
    ///
    /// `witness` has a link. Its pongs show that the program still runs, and has read the datagrams before them.
    package func expectSilence(
        to samples: [Sample], from stranger: Peer, at program: Program, witness: Peer, batch: Int = 24,
        pause: Duration = .zero
    ) throws {
        var rest = samples[...]
        while let first = rest.first {
            let some = rest.prefix(batch)
            let last = some.last ?? first
            rest = rest.dropFirst(batch)
            let start = now
            let count = stranger.datagramCount
            for sample in some { stranger.sendBytes(sample.bytes, to: program.address) }
            let what = some.count == 1 ? first.what : "\(first.what) … \(last.what)"
            do {
                try witness.ping()
            } catch let finding as Finding {
                let actual = program.exit.map { "it ended: \($0.status)" } ?? finding.actual
                throw Finding(expected: "the program lives on after \(what)", actual: actual)
            }
            run(for: max(.zero, pause - (now - start)))
            guard stranger.datagramCount == count else {
                throw Finding(expected: "no answer to \(what)", actual: answer(to: stranger, since: start))
            }
        }
        let start = now
        let count = stranger.datagramCount
        try never(
            for: .milliseconds(300), "no answer to any of \(samples.count) datagrams",
            actual: { self.answer(to: stranger, since: start) }, when: { stranger.datagramCount > count })
    }

    private func answer(to stranger: Peer, since start: Duration) -> String {
        let answer = trace.last { stranger.addresses.contains($0.destination) && $0.at >= start }
        return answer.map { "the answer \($0.bytes.hex)" } ?? "an answer came"
    }

    /// Sends plaintexts on a peer's link, each with a ping before its frames, and judges which ones the program
    /// accepts. The program must accept all of them as a whole if `areValid`, and none otherwise. The peer opens
    /// another link after each plaintext that ends the link.
    package func expectParsing(of samples: [Sample], areValid: Bool, by program: Program, from peer: Peer) throws {
        var pending: [(what: String, token: UInt16)] = []
        for sample in samples {
            if areValid, peer.sending == nil { try peer.open(to: program) }
            let token = token()
            let start = now
            if sample.bytes.count > Trial.plaintextSize - 3 {
                // The datagram has no room for the ping.
                peer.sendPlaintext(sample.bytes)
                try peer.ping()
                continue
            }
            peer.sendPlaintext([0x06] + token.bigEndianBytes + sample.bytes)
            if areValid {
                try peer.await("a pong to the ping before \(sample.what)", since: start) { $0.pong == token }
                let frames = (try? Frames.parse(sample.bytes)) ?? []
                if frames.contains(where: \.endsLink) { peer.forget() }
            } else {
                pending.append((sample.what, token))
                if pending.count % 16 == 0 { try peer.ping() }
            }
        }
        if areValid, peer.sending == nil { try peer.open(to: program) }
        try peer.ping()
        guard !areValid else { return }
        run(for: .milliseconds(200))
        for (what, token) in pending where peer.hasPong(token) {
            throw Finding(expected: "a datagram with \(what) is dropped as a whole", actual: "its ping was answered")
        }
    }

    /// Starts the program in a secret chat, or ends the case as unsupported.
    package func startInSecretChat(
        _ secret: ChatSecret, chat: String? = nil, peers: [Peer] = [], needs features: Feature...
    ) throws -> Program {
        let arguments = ProgramArguments(
            chat: chat ?? chatName, secret: secret.base32, peers: peers.map(\.address), state: "secret")
        let program = try launch(arguments)
        do {
            try program.awaitReady()
        } catch {
            // A program without secret chats may refuse the argument. Its `ready` in an open chat then lacks `secret`.
            try start(ProgramArguments(chat: chatName, state: "plain")).need(.secret)
            throw error
        }
        try program.need([.secret] + features)
        return program
    }
}

extension Peer {
    /// Returns an identity from the vectors, which list its private key too.
    package static func identity(privateKey: [UInt8]) throws -> KeyPair {
        guard let pair = KeyPair(privateKey: privateKey) else { throw Untried(reason: "the vector's key is no key") }
        return pair
    }
}

extension Frame {
    /// Whether the frame ends the link: a bye, or an ack for records that the program never sent (L-94).
    var endsLink: Bool {
        switch self {
        case .bye, .ack: true
        case .heartbeat, .typing, .record, .ping, .pong, .forward, .textID, .unknown: false
        }
    }
}

extension ChatKeys {
    /// Makes the keys of an open chat, whose name must be valid.
    package init(open name: String) {
        guard let name = try? ChatName(name) else { preconditionFailure("the case names a chat") }
        self.init(openName: name)
    }
}

/// Returns the bytes of hex digits. Other characters count as 0.
package func bytes(hex: String) -> [UInt8] {
    let digits = hex.utf8.map { UInt8(Character(Unicode.Scalar($0)).hexDigitValue ?? 0) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
