import InklingWire

/// Why something could not be done. Nothing was changed then.
///
/// ``fact`` says what happened, and ``advice`` what to do about it. A program that has its own option for the problem
/// can name that instead of the advice. Both are safe to print.
public enum NodeError: Error, Hashable, Sendable {
    /// A text can't be a display name, for this reason (M-25).
    case name(NameFault)
    /// A text can't be the name of a chat, for this reason (W-2).
    case chatName(NameFault)
    /// A text is not the secret of a chat, for this reason (W-7).
    case secret(SecretFault)
    /// A text is not an invite, for this reason (W-11).
    case invite(InviteFault)
    /// The node is not in the chat of that name.
    case unknownChat(String)
    /// The node is in a chat of that name already, or in one with the same secret.
    case chatExists(String)
    /// The node is in 32 chats, which is the maximum (L-39).
    case tooManyChats
    /// A message has no text (M-1).
    case messageEmpty
    /// A message is longer than 65,536 bytes of UTF-8 (M-1); `bytes` is how many it has.
    case messageTooLong(bytes: Int)
    /// With this message more than 4 MiB of text would wait for that person (M-14). The node sent the message to
    /// nobody.
    case queueFull(UserID)
    /// Another program, or node, has the UDP port.
    case portTaken(UInt16)
    /// Only the administrator may use the UDP port.
    case portNotAllowed(UInt16)
    /// An address to bind to is not one of this host.
    case bindAddress(String)
    /// An address to bind to is a link-local one without its interface.
    case bindAddressWithoutInterface(String)
    /// The system can't create a UDP socket, for this reason in its own words.
    case socket(String)
    /// The state directory would put the identity at risk, or can't be used.
    case stateDirectory(StateDirectoryFault)
    /// The address of a peer that was named by hand can't be used.
    case peerAddress(String, PeerAddressFault)
    /// A network interface that was named does not exist; `known` lists those that do.
    case interface(String, known: [String])
    /// Nobody is known by that key or user ID.
    case unknownPeer(String)
    /// A text is not an exported identity.
    case identityText
    /// An identity is at that path already.
    case identityExists(String)
    /// A running node uses that state directory.
    case stateDirectoryInUse(String)
    /// The node was stopped.
    case stopped
    /// An error of another version of this library, or of another program. `code` is for programs; `text` says what
    /// happened and what to do.
    case other(code: String, text: String)
}

/// Why a text can't name a person or a chat.
public enum NameFault: Hashable, Sendable {
    /// No characters.
    case empty
    /// This many bytes in NFC, more than `maximum`.
    case tooLong(bytes: Int, maximum: Int)
    /// A character of the general category Cc, such as a line break or an escape.
    case controlCharacter
    /// This character, which is invisible or changes how others are shown. A person's name may have it.
    case invisibleCharacter(Unicode.Scalar)
    /// An invite, which names a chat and its secret.
    case invite
    /// A person's name without letters and digits, of which programs can show nothing.
    case unreadable
    /// A person's name that has a user ID in it.
    case userID

    /// Returns the fault of a chat's name in NFC, or nil (W-2). Two names that look the same would be two chats, and
    /// some characters reverse the text next to them.
    init?(ofChat name: String) {
        if let fault = NameFault(of: name, maximumSize: Limits.chatNameSizes.upperBound) {
            self = fault
        } else if let scalar = name.unicodeScalars.first(where: Self.isInvisible) {
            self = .invisibleCharacter(scalar)
        } else {
            return nil
        }
    }

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case .spaceSeparator: scalar != " "
        default: false
        }
    }

    /// Returns the fault of a name in NFC, or nil (W-2, M-25).
    package init?(of name: String, maximumSize: Int) {
        if name.isEmpty {
            self = .empty
        } else if name.utf8.count > maximumSize {
            self = .tooLong(bytes: name.utf8.count, maximum: maximumSize)
        } else if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            self = .controlCharacter
        } else {
            return nil
        }
    }
}

/// Why a text is not the secret of a chat.
public enum SecretFault: Hashable, Sendable {
    /// This many characters instead of 26.
    case length(Int)
    /// A character other than `a` to `z` and `2` to `7`, or a last character with spare bits set.
    case characters

    /// How many characters a secret has.
    static let length = 26
}

/// Why a text is not an invite.
public enum InviteFault: Hashable, Sendable {
    /// No `inkling:` at the beginning.
    case scheme
    /// No `#` between the name and the secret.
    case separator
    /// A name that is not percent-encoded UTF-8.
    case encoding
    /// Text behind the `@` that is not a static key.
    case owner
}

/// Why a text is not the address of a peer.
public enum PeerAddressFault: Hashable, Sendable {
    /// No port from 1 to 65,535.
    case port
    /// A host that the resolver can't find; `reason` is the resolver's.
    case unknownHost(reason: String)
    /// An address that is not the address of one host.
    case notUnicast
}

/// Why a node can't start with a state directory, or nothing can be kept in it. Nothing was changed then.
public enum StateDirectoryFault: Error, Hashable, Sendable {
    /// The key file is not what this library writes.
    case corrupt(path: String)
    /// The key file was written by a later version.
    case newer(path: String)
    /// The key file exists and can't be read; `reason` is the system's.
    case unreadable(path: String, reason: String)
    /// The file or directory belongs to somebody else, who could change it.
    case foreign(path: String)
    /// A directory for several purposes that others may write to.
    case shared(path: String)
    /// Nothing can be kept in the directory; `reason` is the system's.
    case unwritable(path: String, reason: String)
    /// No directory was given, and the user has no home.
    case noHome
}
