import InklingModel
import InklingWire

/// A chat has a name in its normal form that shows all of its characters (W-2).
private func checkName(_ chat: Chat) {
    check((1...64).contains(chat.name.utf8.count), "a name of \(chat.name.utf8.count) bytes")
    check(areIdentical(NormalForm.canonical(chat.name), chat.name), "a name that is not in NFC")
    for scalar in chat.name.unicodeScalars {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: fatalError("a name with \(scalar.value)")
        case .spaceSeparator: check(scalar == " ", "a name with the blank \(scalar.value)")
        default: break
        }
    }
}

/// An invite gives the same chat again, also from its own text and from one that was copied with blanks (W-11). Without
/// blanks around it, the wire reads the same (W-34).
private func checkInvite(_ text: String) {
    do {
        let chat = try Chat(invite: text)
        check(Chat.isInvite(text), "read as an invite, but not known as one")
        checkName(chat)
        guard let invite = chat.invite else { fatalError("an invite without a secret") }
        check(invite.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "an invite that can't be passed on")
        for spelling: String in [invite, " \t\r\n" + invite + "\u{2028} ", "INKLING:" + invite.dropFirst(8)] {
            let again = try? Chat(invite: spelling)
            check(again == chat && areIdentical(again?.name ?? "", chat.name), "another chat from its own invite")
        }
        let renamed = "inkling:x" + invite.drop { $0 != "#" }
        check(chat.keys == (try? Chat(invite: renamed))?.keys, "the name takes part in a secret chat's keys")
        let isOwned = (try? Invite(invite))?.owner != nil
        check(isOwned == invite.contains("@"), "an invite that names its owner and does not")
        check(isOwned == (chat.keys != (try? Chat("x", secret: chat.secret))?.keys), "the owner takes no part in keys")
    } catch {
        switch error {
        case .invite(.scheme): check(!Chat.isInvite(text), "known as an invite, but not read as one")
        case .invite, .chatName, .secret: check(Chat.isInvite(text), "no invite, but refused for \(error)")
        default: fatalError("refused for \(error)")
        }
        checkText(of: error)
    }
}

/// A name that is taken is no invite, and stays as it is.
private func checkChatName(_ text: String) {
    do {
        let chat = try Chat(text)
        checkName(chat)
        check(chat.isOpen && chat.invite == nil, "an open chat that has an invite")
        check(!Chat.isInvite(chat.name) && !Chat.isInvite(text), "an open chat named after an invite")
        check((try? Chat(chat.name)).map { areIdentical($0.name, chat.name) } == true, "another chat of its own name")
        check((try? ChatName(text)).map { chat.keys == ChatKeys(openName: $0) } == true, "keys of another name")
    } catch {
        guard case .chatName = error else { fatalError("refused for \(error)") }
        checkText(of: error)
    }
}

/// An error is one short line.
private func checkText(of error: NodeError) {
    let text = error.description
    check(!text.isEmpty && text.utf8.count < 500, "an error of \(text.utf8.count) bytes")
    check(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "an error on several lines")
}

/// A text form that is taken is the one that the value gives (W-5 to W-7, W-11).
private func checkTextForms(_ text: String) {
    if let key = try? PublicKey(base64url: text) { check(areIdentical(key.base64url, text), "another text of a key") }
    if let secret = try? ChatSecret(base32: text) {
        check(areIdentical(secret.base32, text), "another text of a secret")
    }
    if let user = UserID(text) { check(areIdentical(user.description, text), "another text of a user ID") }
    do {
        let secret = try Secret(text)
        check(areIdentical(secret.text, text), "another text of a secret")
    } catch {
        check((try? ChatSecret(base32: text)) == nil, "a secret that is refused")
        checkText(of: error)
    }
}

/// A value that bytes make is read back from its text.
private func checkValues(_ bytes: [UInt8]) {
    if bytes.count >= 16, let secret = ChatSecret(Array(bytes[..<16])) {
        check((try? ChatSecret(base32: secret.base32)) == secret, "another secret from its own text")
    }
    if bytes.count >= 32, let key = PublicKey(Array(bytes[..<32])) {
        check(key.bytes.elementsEqual(bytes[..<32]), "a key of other bytes")
        check((try? PublicKey(base64url: key.base64url)) == key, "another key from its own text")
        check(UserID(key.userID.description) == key.userID, "another user ID from its own text")
    }
}

/// Texts that people pass on: invites, chat names, secrets, keys, user IDs.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzInvites(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    // Texts from outside are valid by the time that they are read, so what is not is repaired here.
    let text = String(decoding: bytes, as: UTF8.self)
    checkInvite(text)
    checkChatName(text)
    checkTextForms(text)
    checkValues(bytes)
    let canonical = NormalForm.canonical(text)
    check(areIdentical(NormalForm.canonical(canonical), canonical), "NFC changes what is in NFC")
    let compatible = NormalForm.compatible(text)
    check(areIdentical(NormalForm.compatible(compatible), compatible), "NFKC changes what is in NFKC")
    return 0
}
