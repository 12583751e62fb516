import InklingWire

extension Catalogue {
    /// The reading of TXT records that peers publish.
    static let recordCases: [Case] = [
        ignored("D-5.1", "a TXT record without txtvers is ignored") { key, _ in ["k=" + key] },
        ignored("D-5.2", "a TXT record with another txtvers is ignored") { key, _ in ["txtvers=1", "k=" + key] },
        ignored("D-5.3", "a TXT record without a key is ignored") { _, _ in ["txtvers=2"] },
        ignored("D-5.4", "a TXT record whose key is a character short is ignored") { key, _ in
            ["txtvers=2", "k=" + key.dropLast()]
        },
        ignored("D-5.5", "a TXT record whose key is padded is ignored") { key, _ in ["txtvers=2", "k=\(key)="] },
        Case("D-5.6", "a TXT record whose key is not canonical is ignored", also: "W-3") { trial in
            let (program, peer) = try start(trial)
            // The key is the prime 2^255 - 19 itself, which is not canonical.
            let prime: [UInt8] = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
            let nonce = trial.generator.next()
            let sealed = seal(prime, nonce: nonce, chatName: trial.chatName)
            try expectIgnored(["txtvers=2", "k=" + base64url(sealed)], nonce, peer, program)
        },
        ignored("D-5.7", "a TXT record of more than 1,300 bytes is ignored") { key, _ in
            ["txtvers=2", "k=" + key] + (0..<7).map { "x\($0)=" + String(repeating: "y", count: 200) }
        },
        taken("D-5.10", "a TXT record of 1,300 bytes is taken") { key, _ in
            let strings = ["txtvers=2", "k=" + key] + (0..<6).map { "x\($0)=" + String(repeating: "y", count: 190) }
            let left = 1_300 - record(strings).count - 1
            return strings + [String(repeating: "z", count: left)]
        },
        Case("D-5.11", "a key that was sealed for another chat is ignored", also: "W-10") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let other = ChatKeys(open: trial.chatName + "-other")
            try expectIgnored(["txtvers=2", "k=" + sealedText(peer, nonce: nonce, in: other)], nonce, peer, program)
        },
        Case("D-5.12", "a key that was sealed under another nonce is ignored", also: "W-10") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            try expectIgnored(
                ["txtvers=2", "k=" + sealedText(peer, nonce: nonce ^ 1, in: peer.chat)], nonce, peer, program)
        },
        taken("D-6.1", "unknown keys in a TXT record are ignored") { key, _ in
            ["txtvers=2", "a=b", "flag", "k=" + key, "zz=", "n=0000000000000000"]
        },
        taken("D-6.2", "the keys of a TXT record are compared without regard to case") { key, _ in
            ["TxtVers=2", "K=" + key]
        },
        taken("D-6.3", "the first of a repeated key counts") { key, other in
            ["txtvers=2", "k=" + key, "txtvers=1", "k=" + other]
        },
        taken("D-6.4", "empty strings, and those that begin with =, mean nothing") { key, _ in
            ["", "=txtvers=1", "txtvers=2", "=k=x", "k=" + key, ""]
        },
        ignored("D-6.5", "a key without = has an empty value, and counts if it is the first") { key, _ in
            ["txtvers", "txtvers=2", "k=" + key]
        },
    ]

    /// Returns strings as a TXT record.
    static func record(_ strings: [String]) -> [UInt8] {
        strings.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
    }

    /// Returns a peer's sealed key as text.
    static func sealedText(_ peer: Peer, nonce: UInt64, in chat: ChatKeys) -> String {
        base64url(chat.instanceKey(of: peer.identity.publicKey, nonce: nonce))
    }

    /// Returns the base64url of a sealed key, whose 48 bytes need no padding.
    static func base64url(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return stride(from: 0, to: bytes.count - 2, by: 3).map { place in
            let group = bytes[place..<place + 3].reduce(0) { $0 << 8 | Int($1) }
            return String([18, 12, 6, 0].map { alphabet[group >> $0 & 63] })
        }.joined()
    }

    /// Seals a key that the specification forbids, for an open chat.
    private static func seal(_ bytes: [UInt8], nonce: UInt64, chatName: String) -> [UInt8] {
        func derive(_ key: [UInt8], _ salt: [UInt8], _ label: String) -> [UInt8] {
            deriveKey(key, salt: salt, info: Array(label.utf8))
        }
        let chatKey = SHA256.hash(Array("inkling/2 open chat".utf8) + [0] + chatName.utf8)
        let sealKey = derive(chatKey, [], "inkling/2 seal")
        return CipherKey(bytes: derive(sealKey, nonce.bigEndianBytes, "inkling/2 instance"))
            .seal(bytes, counter: 0, associatedData: [])
    }

    /// Returns a case with a record that the program must ignore, made from the peer's sealed key and another one.
    private static func ignored(
        _ id: String, _ title: String, _ strings: @escaping @Sendable (_ key: String, _ other: String) -> [String]
    ) -> Case {
        Case(id, title) { trial in
            let (program, peer) = try start(trial)
            let (nonce, key, other) = keys(of: peer)
            try expectIgnored(strings(key, other), nonce, peer, program)
        }
    }

    /// Returns a case with a record that the program must accept.
    private static func taken(
        _ id: String, _ title: String, _ strings: @escaping @Sendable (_ key: String, _ other: String) -> [String]
    ) -> Case {
        Case(id, title) { trial in
            let (program, peer) = try start(trial)
            let (nonce, key, other) = keys(of: peer)
            try advertise(peer, in: trial, nonce: nonce, txt: record(strings(key, other)))
            try awaitLink(peer, from: program)
        }
    }

    private static func keys(of peer: Peer) -> (nonce: UInt64, key: String, other: String) {
        let nonce = peer.trial.generator.next()
        let other = KeyPair(using: &peer.trial.generator).publicKey
        return (
            nonce, sealedText(peer, nonce: nonce, in: peer.chat),
            base64url(peer.chat.instanceKey(of: other, nonce: nonce))
        )
    }
}
