import InklingWire

extension NodeError: CustomStringConvertible {
    /// A text about the error, in one line.
    public var fact: String {
        switch self {
        case .name(let fault): "This display name can't be used: \(fault.reason)."
        case .chatName(let fault): "This chat name can't be used: \(fault.reason)."
        case .secret(let fault): "This is not a chat secret: \(fault.reason)."
        case .invite(let fault): "This is not an invite: \(fault.reason)."
        case .unknownChat(let name): "This node is not in the chat \"\(name)\"."
        case .chatExists(let name):
            "This node is already in a chat called \"\(name)\", or in one with the same secret."
        case .tooManyChats: "This node is in \(Limits.chats) chats, which is the maximum."
        case .messageEmpty: "There is nothing to send: the message is empty."
        case .messageTooLong(let bytes):
            "The message has \(bytes) bytes; the maximum is \(Limits.messageSizes.upperBound)."
        case .queueFull(let user): "Too many messages are already waiting for \(user): nothing was sent."
        case .portTaken(let port): "Can't bind UDP port \(port): another program is using it."
        case .portNotAllowed(let port): "This user may not use UDP port \(port)."
        case .bindAddress(let address): "\(address) is not an address of this host."
        case .bindAddressWithoutInterface(let address):
            "\(address) is a link-local address, which needs its interface after it."
        case .socket(let reason): "Can't create a UDP socket: \(reason)."
        case .stateDirectory(let fault): fault.fact
        case .peerAddress(let address, let fault): "The peer \"\(address)\" can't be used: \(fault.reason)."
        case .interface(let name, _):
            "There is no network interface \"\(String(name.unicodeScalars.filter { 33...126 ~= $0.value }))\"."
        case .unknownPeer(let peer): "No known person has the key or user ID \"\(peer)\"."
        case .unknownInvitation(let number): "There is no open invitation \(number)."
        case .noInvite(let chat, let reason): "Nobody can be invited to \"\(chat)\": \(reason.text)."
        case .alreadyThere(let user, let chat): "\(user) is in \"\(chat)\" already."
        case .notOwner(let chat): "\"\(chat)\" is not a private chat of your own: only its owner can move it."
        case .notMoved(let chat):
            "This node moved no chat to \"\(chat)\" in the last \(Limits.departure.components.seconds / 86_400) days."
        case .removed(let user, let chat): "\(user) was removed from \"\(chat)\"."
        case .chatMoved(let chat): "\"\(chat)\" has moved to a new secret: this invite is no longer valid."
        case .movedTooOften(let chat): "\"\(chat)\" has moved too often in a short time: nothing has changed."
        case .notKept(let reason): "The chat can't be stored: \(reason)."
        case .identityText: "This is not an exported identity, or it is damaged."
        case .identityExists(let path): "\(printable(path)) already holds an identity."
        case .stateDirectoryInUse(let path): "A running node uses \(printable(path))."
        case .stopped: "The node was stopped."
        case .other(_, let text): text
        }
    }

    /// The advice to the user, in one line.
    public var advice: String {
        switch self {
        case .name, .chatName: "Choose another."
        case .secret: "A secret is 26 random characters; a passphrase can't be one."
        case .invite: "An invite looks like inkling:NAME#SECRET."
        case .unknownChat: "Join it first."
        case .chatExists: "Use that one, or leave it first."
        case .tooManyChats: "Leave one first."
        case .messageEmpty: "Write some text."
        case .messageTooLong: "Send it in parts."
        case .queueFull: "Try again when some of them have been delivered."
        case .portTaken: "Choose another, or 0 for a free one."
        case .portNotAllowed: "Choose one above 1023."
        case .bindAddress: "Choose one of its addresses, or none to use all."
        case .bindAddressWithoutInterface: "Write it as fe80::1%eth0."
        case .socket: "Check the limits and permissions of this process."
        case .stateDirectory(let fault): fault.advice
        case .peerAddress: "Write it as HOST:PORT or [IPV6]:PORT."
        case .interface(_, let known): "Choose among: \(known.joined(separator: ", "))."
        case .unknownPeer: "You can only name people you have met in a chat."
        case .unknownInvitation, .alreadyThere: ""
        case .noInvite(_, .open): "Tell them its name."
        case .noInvite(_, .talk): "Make a private chat for more people."
        case .noInvite(_, .owner): "Ask its owner."
        case .notOwner: "Ask its owner, or make a private chat of your own."
        case .notMoved: "Send them an invite."
        case .removed: "Invite them to another private chat, or move this one once more and choose them."
        case .chatMoved: "Use the present chat, or ask its owner for a new invite."
        case .movedTooOften: "Try again in \(Limits.moveInterval.components.seconds) seconds."
        case .notKept: "Repair the state directory, then try again."
        case .identityText: "Export it again."
        case .identityExists: "Keep a copy of it, then replace it."
        case .stateDirectoryInUse: "Stop it first."
        case .stopped: "Start another."
        case .other: ""
        }
    }

    /// The fact and the advice, with a blank between them.
    public var description: String { joined(fact, advice) }
}

extension NameFault {
    /// The reason, as a part of a sentence.
    package var reason: String {
        switch self {
        case .empty: "it is empty"
        case .tooLong(let bytes, let maximum):
            "it is too long (\(bytes) of at most \(maximum) letters; accents and emoji count as several)"
        case .controlCharacter: "it contains a control character"
        case .invisibleCharacter(let scalar):
            "it contains the invisible character U+" + String(scalar.value, radix: 16, uppercase: true)
        case .invite: "it is an invite, which names a chat and its secret"
        case .unreadable: "it has no letter or digit that others could read"
        case .userID: "it has a user ID in it, or what looks like one; others see yours anyway"
        }
    }
}

extension SecretFault {
    /// The reason, as a part of a sentence, which reveals nothing of the text.
    var reason: String {
        switch self {
        case .length(let count): "it has \(count) character\(count == 1 ? "" : "s") instead of \(Self.length)"
        case .characters: "it has a character other than a-z and 2-7, or its last character has spare bits set"
        }
    }
}

extension InviteFault {
    /// The reason, as a part of a sentence.
    var reason: String {
        switch self {
        case .scheme: "it does not begin with \"\(Chat.scheme)\""
        case .separator: "there is no \"#\" before the secret"
        case .encoding: "its name is not percent-encoded UTF-8"
        case .owner: "the public key behind its @ is not whole: it has 43 characters"
        }
    }
}

extension NoInvite {
    /// The reason, as a part of a sentence.
    var text: String {
        switch self {
        case .open: "it is open, so anybody joins it by its name"
        case .talk: "a talk is for two"
        case .owner: "only its owner invites"
        }
    }
}

extension PeerAddressFault {
    /// The reason, as a part of a sentence.
    var reason: String {
        switch self {
        case .port: "there is no port from 1 to 65535 after a colon"
        case .unknownHost(let reason): "its host is not known (\(reason))"
        case .notUnicast: "it is not the address of one host"
        }
    }
}

extension StateDirectoryFault: CustomStringConvertible {
    /// A text about the fault, in one line.
    public var fact: String {
        switch self {
        case .corrupt(let path): "The identity in \(printable(path)) is damaged."
        case .newer(let path): "The identity in \(printable(path)) was made by a later version."
        case .unreadable(let path, let reason): "The identity in \(printable(path)) can't be read (\(reason))."
        case .foreign(let path): "\(printable(path)) belongs to another user."
        case .shared(let path): "Others may write to \(printable(path))."
        case .unwritable(let path, let reason): "Nothing can be kept in \(printable(path)) (\(reason))."
        case .noHome: "HOME is not set, so there is no state directory."
        }
    }

    /// The advice to the user, in one line.
    public var advice: String {
        switch self {
        case .corrupt:
            "Restore it from a copy, or remove it to get a new identity: peers will then see another person."
        case .newer: "Use that version, or choose another state directory."
        case .unreadable: "Make it readable, or choose another state directory."
        case .foreign: "Choose another directory."
        case .shared: "Choose another directory, or revoke their access: chmod go-w."
        case .unwritable: "Make it writable, or choose another."
        case .noHome: "Set HOME, or choose a state directory."
        }
    }

    /// The fact and the advice, with a blank between them.
    public var description: String { joined(fact, advice) }
}
