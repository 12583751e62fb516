import InklingWire

/// The reason why the node did not do something. In this case the node changed nothing.
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
    /// The node is not in a chat with that name.
    case unknownChat(String)
    /// The node is already in a chat with that name, or with the same secret.
    case chatExists(String)
    /// The node is in 32 chats, which is the maximum (L-39).
    case tooManyChats
    /// A message has no text (M-1).
    case messageEmpty
    /// A message is longer than 65,536 bytes of UTF-8 (M-1); `bytes` is its size.
    case messageTooLong(bytes: Int)
    /// With this message more than 4 MiB of text would wait for that person (M-14). The node sent the message to
    /// nobody.
    case queueFull(UserID)
    /// Another program or node uses the UDP port.
    case portTaken(UInt16)
    /// The UDP port needs the rights of the administrator.
    case portNotAllowed(UInt16)
    /// An address to bind to is not one of this host.
    case bindAddress(String)
    /// An address to bind to is a link-local one without its interface.
    case bindAddressWithoutInterface(String)
    /// The system can't create a UDP socket. The text is the system's reason.
    case socket(String)
    /// The state directory would put the identity at risk, or is not usable.
    case stateDirectory(StateDirectoryFault)
    /// The address of a peer named by hand is not usable.
    case peerAddress(String, PeerAddressFault)
    /// A named network interface does not exist; `known` lists the interfaces that do.
    case interface(String, known: [String])
    /// No known person has that key or user ID.
    case unknownPeer(String)
    /// The node has no open invitation with that number.
    case unknownInvitation(Int)
    /// The node can't invite anybody to that chat, for this reason.
    case noInvite(String, NoInvite)
    /// The person is in that chat already.
    case alreadyThere(UserID, chat: String)
    /// The chat has another owner, or none, so this user can't move it.
    case notOwner(String)
    /// This node moved no chat to that one in the last 30 days.
    case notMoved(String)
    /// The chat refuses the key, which its owner removed.
    case removed(UserID, chat: String)
    /// This node left that chat when its owner moved it, and does not return.
    case chatMoved(String)
    /// The chat of this name has moved too often in a short time (M-88).
    case movedTooOften(String)
    /// The node can't store a chat, for this reason, and changed nothing.
    case notKept(String)
    /// A text is not an exported identity.
    case identityText
    /// The path already has an identity.
    case identityExists(String)
    /// A running node uses that state directory.
    case stateDirectoryInUse(String)
    /// The node was stopped.
    case stopped
    /// An error of another version of this library, or of another program. `code` is for programs; `text` says what
    /// happened and what to do.
    case other(code: String, text: String)
}

/// The reason why a text can't be the name of a person or a chat.
public enum NameFault: Hashable, Sendable {
    /// The name has no characters.
    case empty
    /// The name has this many bytes in NFC, more than `maximum`.
    case tooLong(bytes: Int, maximum: Int)
    /// The name has a character of the general category Cc, such as a line break or an escape.
    case controlCharacter
    /// The name has this character, which is invisible or changes how others are shown. A person's name may contain it.
    case invisibleCharacter(Unicode.Scalar)
    /// The name is an invite, which would reveal the chat's secret.
    case invite
    /// A person's name has no letters and digits, so programs can't show it.
    case unreadable
    /// A person's name contains a user ID.
    case userID

    /// Returns the fault of a chat's name in NFC, or nil (W-2). Two names that look the same would be two chats, and
    /// some characters reverse the text next to them.
    package init?(ofChat name: String) {
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

/// The reason why a text is not the secret of a chat.
public enum SecretFault: Hashable, Sendable {
    /// The text has this many characters instead of 26.
    case length(Int)
    /// The text has a character other than `a` to `z` and `2` to `7`, or spare bits are set in the last character.
    case characters

    /// The number of characters of a secret.
    static let length = 26
}

/// The reason why a text is not an invite.
public enum InviteFault: Hashable, Sendable {
    /// The text does not begin with `inkling:`.
    case scheme
    /// The text has no `#` between the name and the secret.
    case separator
    /// The name is not percent-encoded UTF-8.
    case encoding
    /// The text after the `@` is not a static key.
    case owner
}

/// The reason why a node invites nobody to a chat.
public enum NoInvite: String, CaseIterable, Hashable, Sendable {
    /// The chat is open.
    case open
    /// The chat is a talk of two people.
    case talk
    /// The chat has another owner, who alone invites (M-46).
    case owner
}

/// The reason why a text is not the address of a peer.
public enum PeerAddressFault: Hashable, Sendable {
    /// The text has no port from 1 to 65,535.
    case port
    /// The resolver can't find the host; `reason` is the resolver's.
    case unknownHost(reason: String)
    /// The address is not the address of one host.
    case notUnicast
}

/// The reason why a node can't start with a state directory, or can't store anything in it. Nothing was changed then.
public enum StateDirectoryFault: Error, Hashable, Sendable {
    /// The key file does not have the format of this library.
    case corrupt(path: String)
    /// The key file was written by a later version.
    case newer(path: String)
    /// The key file exists, but the node can't read it; `reason` is the system's.
    case unreadable(path: String, reason: String)
    /// The file or directory belongs to another user, who could change it.
    case foreign(path: String)
    /// The directory serves several purposes, and other users may write to it.
    case shared(path: String)
    /// The node can't store anything in the directory; `reason` is the system's.
    case unwritable(path: String, reason: String)
    /// No directory was given, and the user has no home directory.
    case noHome
}
