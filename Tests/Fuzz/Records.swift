import InklingWire

/// The three chats of the vectors: an open one, a secret one, and one with an owner.
private let chats: [ChatKeys] = {
    guard
        let name = try? ChatName("lobby"), let secret = try? ChatSecret(base32: "aaaqeayeaudaocajbifqydiob4"),
        let owner = try? PublicKey(base64url: "zEQ4EaeBoq0nuAbKAJVpbKa4s4sXP4MxwehdbjanFiE")
    else { fatalError("the chats of the vectors") }
    return [ChatKeys(openName: name), ChatKeys(secret: secret), ChatKeys(secret: secret, owner: owner)]
}()

/// The nonce of the vectors.
private let nonce: UInt64 = 0x0123_4567_89AB_CDEF

/// The strings of a TXT record, read a second time and without the parser: each value in its text (D-5, D-6).
private struct Strings {
    /// The values by key; empty for a key without `=`.
    private var values: [(key: [UInt8], value: ArraySlice<UInt8>)] = []
    private var error: ServiceRecordError?

    init(_ record: [UInt8]) {
        guard record.count <= 1_300 else {
            error = .length
            return
        }
        var start = 0
        while start < record.count {
            let end = start + 1 + Int(record[start])
            guard end <= record.count else {
                error = .format
                return
            }
            let string = record[start + 1..<end]
            let equals = string.firstIndex(of: UInt8(ascii: "=")) ?? end
            let key = string[..<equals].map { (65...90).contains($0) ? $0 + 32 : $0 }
            if !key.isEmpty, !values.contains(where: { $0.key == key }) {
                values.append((key, string[min(equals + 1, end)...]))
            }
            start = end
        }
    }

    func value(_ key: String) -> ArraySlice<UInt8>? { values.first { $0.key.elementsEqual(key.utf8) }?.value }

    /// The error of the record up to the seal; nil for none.
    var expectedError: ServiceRecordError? {
        if let error { return error }
        guard value("txtvers")?.elementsEqual([UInt8(ascii: "2")]) == true else { return .version }
        guard let text = value("k"), text.count == 64 else { return .text }
        let isBase64 = text.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte & 0xDF) || byte == 45 || byte == 95
        }
        return isBase64 ? nil : .text
    }
}

/// A record is refused for the first reason that applies, or read as the key that its own record gives back.
private func checkRecord(_ record: [UInt8], _ strings: Strings, in chat: ChatKeys) {
    do {
        let key = try ServiceRecord.parse(record, nonce: nonce, for: chat)
        check(strings.expectedError == nil, "taken, although \(String(describing: strings.expectedError))")
        check(PublicKey(key.bytes) == key, "a key that is not canonical")
        let encoded = ServiceRecord.encode(key: key, nonce: nonce, for: chat)
        check(encoded.count <= Limits.maximumTXTSizeSent, "a record of \(encoded.count) bytes")
        check(encoded.suffix(64).elementsEqual(strings.value("k") ?? []), "another seal of the key")
    } catch {
        if let expected = strings.expectedError {
            check(error == expected, "refused for \(error), not \(expected)")
        } else {
            check(error == .seal || error == .key, "refused for \(error), not for its seal")
        }
    }
}

/// A name is of one chat at most, by its first 26 characters in either case (D-21).
private func checkName(_ name: String) {
    let nonces = chats.map { chat in (try? chat.nonce(ofInstance: name)).map { (chat, $0) } }.compactMap { $0 }
    check(nonces.count <= 1, "an instance of \(nonces.count) chats")
    for (chat, nonce) in nonces {
        let characters = name.unicodeScalars.prefix(26)
        check(characters.count == 26, "an instance name of \(characters.count) characters")
        let lowered = String(String.UnicodeScalarView(characters)).lowercased()
        check(chat.instanceName(nonce: nonce) == lowered, "another name of the nonce")
    }
}

/// TXT records and instance names, each in three chats.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecords(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    let strings = Strings(bytes)
    for chat in chats { checkRecord(bytes, strings, in: chat) }
    checkName(String(decoding: bytes, as: UTF8.self))
    return 0
}
