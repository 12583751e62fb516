import InklingWire2

extension Catalogue {
    /// What a node makes of the TXT records that peers publish.
    static let recordCases: [Case] = [
        ignored("D-5.1", "a TXT record without txtvers is ignored") { key, _ in ["k=" + key] },
        ignored("D-5.2", "a TXT record with another txtvers is ignored") { key, _ in ["txtvers=2", "k=" + key] },
        ignored("D-5.3", "a TXT record without a key is ignored") { _, _ in ["txtvers=1"] },
        ignored("D-5.4", "a TXT record whose key is a character short is ignored") { key, _ in
            ["txtvers=1", "k=" + key.dropLast()]
        },
        ignored("D-5.5", "a TXT record whose key is padded is ignored") { key, _ in ["txtvers=1", "k=\(key)="] },
        ignored("D-5.6", "a TXT record whose key is not canonical is ignored", also: "W-3") { _, _ in
            // The prime 2^255 - 19 itself.
            ["txtvers=1", "k=7f_______________________________________38"]
        },
        ignored("D-5.7", "a TXT record of more than 1,300 bytes is ignored") { key, _ in
            ["txtvers=1", "k=" + key] + (0..<7).map { "x\($0)=" + String(repeating: "y", count: 200) }
        },
        Case("D-5.8", "in a secret chat a TXT record without a nonce is ignored", group: .discovery) { trial in
            let secret = ChatSecret(using: &trial.generator)
            let (program, peer) = try start(trial, secret: secret)
            try program.need(.secret)
            let strings = strings(of: ServiceRecord.encode(key: peer.identity.publicKey, nonce: 7, for: peer.chat))
            try expectIgnored(record(strings.filter { !$0.hasPrefix("n=") }), peer, program)
        },
        Case("D-5.9", "in a secret chat a nonce in upper case is ignored", group: .discovery) { trial in
            let secret = ChatSecret(using: &trial.generator)
            let (program, peer) = try start(trial, secret: secret)
            try program.need(.secret)
            let nonce: UInt64 = 0xABCD
            let strings = strings(of: ServiceRecord.encode(key: peer.identity.publicKey, nonce: nonce, for: peer.chat))
            let upper = strings.map { $0.hasPrefix("n=") ? "n=" + $0.dropFirst(2).uppercased() : $0 }
            try expectIgnored(record(upper), peer, program)
        },
        taken("D-5.10", "a TXT record of 1,300 bytes is taken") { key, _ in
            let strings = ["txtvers=1", "k=" + key] + (0..<6).map { "x\($0)=" + String(repeating: "y", count: 197) }
            let left = 1_300 - record(strings).count - 1
            return strings + [String(repeating: "z", count: left)]
        },
        taken("D-6.1", "unknown keys in a TXT record are ignored") { key, _ in
            ["txtvers=1", "a=b", "flag", "k=" + key, "zz=", "n=0000000000000000"]
        },
        taken("D-6.2", "the keys of a TXT record are compared without regard to case") { key, _ in
            ["TxtVers=1", "K=" + key]
        },
        taken("D-6.3", "the first of a repeated key counts") { key, other in
            ["txtvers=1", "k=" + key, "txtvers=2", "k=" + other]
        },
        taken("D-6.4", "empty strings, and those that begin with =, mean nothing") { key, _ in
            ["", "=txtvers=2", "txtvers=1", "=k=x", "k=" + key, ""]
        },
    ]

    /// Strings as a TXT record.
    private static func record(_ strings: [String]) -> [UInt8] {
        strings.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
    }

    /// A case with a record, made from the peer's key in text and another one, that the program has to ignore.
    private static func ignored(
        _ id: String, _ title: String, also clause: String? = nil,
        _ strings: @escaping @Sendable (_ key: String, _ other: String) -> [String]
    ) -> Case {
        Case(id, title, alsoAll: clause.map { [$0] } ?? [], group: .discovery) { trial in
            let (program, peer) = try start(trial)
            let other = KeyPair(using: &trial.generator).publicKey
            let txt = record(strings(peer.identity.publicKey.base64url, other.base64url))
            try expectIgnored(txt, peer, program)
        }
    }

    /// The same with a record that it has to take.
    private static func taken(
        _ id: String, _ title: String, _ strings: @escaping @Sendable (_ key: String, _ other: String) -> [String]
    ) -> Case {
        Case(id, title, group: .discovery) { trial in
            let (program, peer) = try start(trial)
            let other = KeyPair(using: &trial.generator).publicKey
            try advertise(peer, in: trial, txt: record(strings(peer.identity.publicKey.base64url, other.base64url)))
            try awaitLink(peer, from: program)
        }
    }
}
