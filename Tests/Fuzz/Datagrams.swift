import InklingWire

/// The error of some bytes by the table of datagrams, read a second time and without the parser (W-12 to W-14).
private func expectedError(_ bytes: [UInt8]) -> DatagramError? {
    guard let first = bytes.first else { return .empty }
    guard first & 0xF0 == 0x20 else { return .version }
    switch first {
    case 0x21: return bytes.count == 121 || bytes.count == 137 ? nil : .length
    case 0x22: return bytes.count == 69 ? nil : .length
    case 0x23: return bytes.count >= 27 && bytes.count <= 1_200 ? nil : .length
    case 0x24: return bytes.count == 21 ? nil : .length
    case 0x25: return bytes.count != 65 ? .length : bytes[17...].allSatisfy { $0 == 0 } ? nil : .zeros
    case 0x26: return bytes.count == 65 ? nil : .length
    default: return .kind
    }
}

/// The open chat of the vectors.
private let chat: ChatKeys = {
    guard let name = try? ChatName("lobby") else { fatalError("the name of the vectors") }
    return ChatKeys(openName: name)
}()

/// The parts of a datagram stand at their places, and what the chat makes of them fits and opens.
private func checkParts(_ datagram: Datagram, _ bytes: [UInt8]) {
    switch datagram {
    case .initiation(let initiation):
        check(initiation.noise.elementsEqual(bytes[13..<121]), "another Noise message")
        check(initiation.ephemeralKey.elementsEqual(bytes[13..<45]), "another ephemeral key")
        check((initiation.cookie ?? []).elementsEqual(bytes[121...]), "another cookie")
        let again = chat.initiation(senderIndex: initiation.senderIndex, noise: initiation.noise)
        check(chat.fits(again), "an initiation whose own check does not fit")
        check(chat.fits(initiation) == (again.check == initiation.check), "an initiation with two checks")
    case .sealed(let sealed):
        check(sealed.ciphertext.elementsEqual(bytes[9...]), "the ciphertext is not all the rest")
        let again = SealedDatagram(
            receiverIndex: sealed.receiverIndex, counter: sealed.counter, ciphertext: sealed.ciphertext)
        check(again.encode() == bytes, "the header is not the first 9 bytes")
    case .ask(let ask):
        check(chat.fits(ask) == (chat.ask(token: ask.token) == ask), "an ask with two checks")
    case .tell(let tell):
        if let key = try? chat.open(tell) {
            check(chat.tell(token: tell.token, nonce: tell.nonce, key: key) == tell, "another tell of one key")
        }
    case .response, .retry: break
    }
}

/// Checks that the parser refuses a datagram for the table's reason, or that the datagram is encoded as the same
/// bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDatagrams(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    do {
        let datagram = try Datagram.parse(bytes)
        check(expectedError(bytes) == nil, "taken, although \(String(describing: expectedError(bytes)))")
        check(datagram.kind.rawValue | 0x20 == bytes[0], "another kind than its first byte's")
        checkParts(datagram, bytes)
        let encoded = datagram.encode()
        check(encoded == bytes, "encoded as other bytes: \(encoded)")
    } catch {
        check(expectedError(bytes) == error, "refused for \(error), not \(String(describing: expectedError(bytes)))")
    }
    return 0
}
