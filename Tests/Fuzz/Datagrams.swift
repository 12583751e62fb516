import InklingWire

/// What is wrong with some bytes by the table of datagrams, read a second time and without the parser (W-12 to W-14).
private func expectedError(_ bytes: [UInt8]) -> DatagramError? {
    guard let first = bytes.first else { return .empty }
    guard first & 0xF0 == 0x10 else { return .version }
    switch first {
    case 0x11: return bytes.count == 109 || bytes.count == 125 ? nil : .length
    case 0x12: return bytes.count == 57 ? nil : .length
    case 0x13: return bytes.count >= 27 && bytes.count <= 1_200 ? nil : .length
    case 0x14: return bytes.count == 21 ? nil : .length
    case 0x15: return bytes.count != 45 ? .length : bytes[13...].allSatisfy { $0 == 0 } ? nil : .padding
    case 0x16: return bytes.count == 45 ? nil : .length
    default: return .kind
    }
}

/// What the parts of a datagram say of its beginning.
private func checkHeader(_ datagram: Datagram, _ bytes: [UInt8]) {
    switch datagram {
    case .initiation(let initiation):
        check(initiation.header.elementsEqual(bytes[..<13]), "the header is not the first 13 bytes")
        check(initiation.prologue.elementsEqual(Array("inkling/1\0".utf8) + bytes[..<13]), "another prologue")
        check((initiation.cookie != nil) == (bytes.count == 125), "a cookie is there or it is not")
    case .sealed(let sealed):
        check(sealed.header.elementsEqual(bytes[..<9]), "the header is not the first 9 bytes")
        check(sealed.ciphertext.count == bytes.count - 9, "the ciphertext is not all the rest")
    case .response, .retry, .ask, .tell: break
    }
}

/// Datagrams: each is refused for the reason that the table gives, or it is encoded as the same bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDatagrams(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    do {
        let datagram = try Datagram.parse(bytes)
        check(expectedError(bytes) == nil, "taken, although \(String(describing: expectedError(bytes)))")
        check(datagram.kind.rawValue | 0x10 == bytes[0], "another kind than its first byte's")
        checkHeader(datagram, bytes)
        let encoded = datagram.encode()
        check(encoded == bytes, "encoded as other bytes: \(encoded)")
        check((try? Datagram.parse(encoded)) == datagram, "parsed as another datagram the second time")
    } catch {
        check(expectedError(bytes) == error, "refused for \(error), not \(String(describing: expectedError(bytes)))")
    }
    return 0
}
