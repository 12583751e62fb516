import InklingModel

// The words by which the JSON interface names errors and notices for programs. The raw values of reasons, presences and
// kinds of counters are such words too.

extension NodeError {
    /// The word for the error in a line.
    package var code: String {
        switch self {
        case .name: "bad-name"
        case .chatName: "bad-chat-name"
        case .secret: "bad-secret"
        case .invite: "bad-invite"
        case .unknownChat: "unknown-chat"
        case .chatExists: "chat-exists"
        case .tooManyChats: "too-many-chats"
        case .messageEmpty: "message-empty"
        case .messageTooLong: "message-too-long"
        case .queueFull: "queue-full"
        case .portTaken: "port-taken"
        case .portNotAllowed: "port-not-allowed"
        case .bindAddress, .bindAddressWithoutInterface: "bad-bind-address"
        case .socket: "socket"
        case .stateDirectory: "state-directory"
        case .peerAddress: "bad-peer-address"
        case .interface: "bad-interface"
        case .unknownPeer: "unknown-peer"
        case .unknownInvitation: "unknown-invitation"
        case .noInvite: "no-invite"
        case .alreadyThere: "already-there"
        case .notOwner: "not-owner"
        case .notMoved: "not-moved"
        case .removed: "removed"
        case .chatMoved: "chat-moved"
        case .movedTooOften: "moved-too-often"
        case .notKept: "not-kept"
        case .identityText: "bad-identity"
        case .identityExists: "identity-exists"
        case .stateDirectoryInUse: "state-directory-in-use"
        case .stopped: "stopped"
        case .other(let code, _): code
        }
    }

    /// Reads an error that answers a request. An error that programs act upon is a case of its own.
    init(_ line: JSONMembers, to request: ServiceRequest) {
        let code = line["code"]?.string ?? ""
        let known: NodeError? =
            switch (code, request) {
            case ("unknown-chat", _): request.chat.map { .unknownChat($0) }
            case ("chat-exists", _): request.chat.map { .chatExists($0) }
            case ("too-many-chats", _): .tooManyChats
            case ("message-empty", _): .messageEmpty
            case ("message-too-long", _): line["bytes"].flatMap(Int.init).map { .messageTooLong(bytes: $0) }
            case ("queue-full", _): line["user"].flatMap(UserID.init).map { .queueFull($0) }
            case ("not-owner", _): request.chat.map { .notOwner($0) }
            case ("not-moved", _): request.chat.map { .notMoved($0) }
            case ("removed", .admit(let chat, let key)): .removed(key.userID, chat: chat)
            case ("chat-moved", _): request.chat.map { .chatMoved($0) }
            case ("moved-too-often", _): request.chat.map { .movedTooOften($0) }
            case ("stopped", _): .stopped
            case ("unknown-peer", _): request.key.map { .unknownPeer($0.description) }
            // The same check finds the name's fault here.
            case ("bad-name", .rename(let name)): NodeError(ofName: name)
            default: nil
            }
        self = known ?? .other(code: code, text: line["text"]?.string ?? "")
    }

    private init?(ofName name: String) {
        do {
            _ = try NormalForm.displayName(name)
            return nil
        } catch {
            self = error
        }
    }
}
