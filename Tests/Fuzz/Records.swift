import InklingWire

/// The chats of the vectors: an open and a secret one.
private let open = ChatKeys(openName: "lobby")
private let secret = ChatKeys(secret: vectorSecret)

private let vectorSecret: ChatSecret = {
    guard let secret = ChatSecret(base32: "aaaqeayeaudaocajbifqydiob4") else { fatalError("the secret of the vectors") }
    return secret
}()

/// What a TXT record says, read a second time and without the parser: each value in its text (D-3, D-5, D-6).
private struct Strings {
    /// The values by name, nil for a name without one.
    private var values: [(name: [UInt8], value: ArraySlice<UInt8>?)] = []
    let error: ServiceRecordError?

    init(_ txt: [UInt8]) {
        guard txt.count <= 1_300 else {
            error = .length
            return
        }
        var start = 0
        while start < txt.count {
            let end = start + 1 + Int(txt[start])
            guard end <= txt.count else {
                error = .format
                return
            }
            let string = txt[start + 1..<end]
            let equals = string.firstIndex(of: UInt8(ascii: "="))
            let name = string[..<(equals ?? end)].map { (65...90).contains($0) ? $0 + 32 : $0 }
            if !name.isEmpty, !values.contains(where: { $0.name == name }) {
                values.append((name, equals.map { string[($0 + 1)...] }))
            }
            start = end
        }
        error = nil
    }

    func value(_ name: String) -> [UInt8]? {
        values.first { $0.name.elementsEqual(name.utf8) }.flatMap { $0.value.map { Array($0) } }
    }

    /// The error of a record in a chat; nil if there is none but in the key itself.
    func error(isOpen: Bool) -> ServiceRecordError? {
        if let error { return error }
        guard value("txtvers") == [UInt8(ascii: "1")] else { return .version }
        let digits = Array("0123456789abcdef".utf8)
        if !isOpen {
            guard let nonce = value("n"), nonce.count == 16, nonce.allSatisfy(digits.contains) else { return .nonce }
        }
        return nil
    }
}

private func checkRecord(_ txt: [UInt8], _ strings: Strings, in chat: ChatKeys) {
    do {
        let key = try ServiceRecord.parse(txt, for: chat)
        check(strings.error(isOpen: chat.isOpen) == nil, "taken, although \(String(describing: strings.error))")
        check(PublicKey(key.bytes) == key, "a key that is not canonical")
        if chat.isOpen {
            let text = strings.value("k") ?? []
            check(key.base64url.utf8.elementsEqual(text), "a key in another text than its own")
        }
        let nonce = key.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        let encoded = ServiceRecord.encode(key: key, nonce: nonce, for: chat)
        check(encoded.count <= Limits.maximumTXTSizeSent, "a record of \(encoded.count) bytes")
        check((try? ServiceRecord.parse(encoded, for: chat)) == key, "another key from its own record")
    } catch {
        if let expected = strings.error(isOpen: chat.isOpen) {
            check(error == expected, "refused for \(error), not \(expected)")
        } else {
            check(error == .key, "refused for \(error), not for its key")
        }
    }
}

/// TXT records, each in an open and in a secret chat: refused for the first reason that applies, or read as the key
/// that its own record gives back.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecords(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let txt = input(data, count)
    let strings = Strings(txt)
    checkRecord(txt, strings, in: open)
    checkRecord(txt, strings, in: secret)
    return 0
}
