import InklingModel

/// A parser for a daemon's lines that are not answers.
enum AttachedEvents {
    /// Returns the output in a line; nil for a line that no front end uses or that a later version added.
    static func output(_ line: JSONMembers) -> ServiceOutput? {
        guard let at = line["at"]?.time else { return nil }
        if line["own"]?.boolean == true { return own(line, at) }
        if line["on"]?.string == "self" { return user(line, at) }
        guard let event = event(line) else { return nil }
        let timed = TimedEvent(at: at, event: event, isDelayed: line["delayed"]?.boolean ?? false)
        return line["waited"]?.boolean == true ? .waited(timed) : .event(timed)
    }

    private static func own(_ line: JSONMembers, _ at: Timestamp) -> ServiceOutput? {
        guard let chat = line["chat"]?.string, let message = line["sent"]?.message, let text = line["text"]?.string
        else { return nil }
        // A daemon of version 0.2 does not write the number.
        let recipients = line["to"]?.integer ?? 0
        return .own(OwnMessage(at: at, chat: chat, message: message, recipients: recipients, text: text))
    }

    private static func user(_ line: JSONMembers, _ at: Timestamp) -> ServiceOutput? {
        guard let name = line["name"]?.string, let isAway = line["away"]?.boolean else { return nil }
        return .user(UserState(at: at, name: name, isAway: isAway))
    }

    private static func event(_ line: JSONMembers) -> Event? {
        guard let kind = line["on"]?.string else { return nil }
        if kind == "notice" { return notice(line).map { .notice($0) } }
        guard let chat = line["chat"]?.string else { return nil }
        switch kind {
        case "peer":
            guard let peer = line.peer, let why = line["why"]?.string.flatMap({ PresenceReason(rawValue: $0) }) else {
                return nil
            }
            return .peer(.init(chat: chat, peer, why: why))
        case "typing": return line.list("users", \.person).map { .typing(chat: chat, $0) }
        case "message":
            guard let from = line["from"]?.object?.person, let number = line["message"]?.message,
                let text = line["text"]?.string
            else { return nil }
            return .message(.init(chat: chat, from: from, id: number, text: text, written: line["written"]?.time))
        case "delivered":
            guard let (message, entry) = outcome(line), let user = line["user"]?.user else { return nil }
            return .delivered(.init(chat: chat, message: message, user: user, entry: entry))
        case "failed":
            guard let (message, entry) = outcome(line), let user = line["user"]?.user,
                let why = line["why"]?.string.flatMap({ FailureReason(rawValue: $0) })
            else { return nil }
            return .failed(.init(chat: chat, message: message, user: user, why: why, entry: entry))
        case "waiting":
            guard let message = line["message"]?.message, let user = line["user"]?.user else { return nil }
            return .waiting(.init(chat: chat, message: message, user: user))
        case "missed":
            return .missed(
                .init(
                    chat: chat, messages: line["messages"]?.integer ?? 0, outcomes: line["outcomes"]?.integer ?? 0))
        default: return nil
        }
    }

    /// Returns what an outcome is about: a message, or a text that an earlier run of the node sent.
    private static func outcome(_ line: JSONMembers) -> (MessageID, entry: UInt64?)? {
        if let message = line["message"]?.message { return (message, nil) }
        return line["entry"]?.unsigned.map { (0, $0) }
    }

    /// Returns a notice as its own case if programs act upon it, and any other by its code and text.
    private static func notice(_ line: JSONMembers) -> Notice? {
        guard let code = line["code"]?.string else { return nil }
        switch code {
        // A front end that joins a chat already knows whether the chat is open.
        case "open-chat": return nil
        case "discovery-up": return .discoveryUp
        case "peer-is-oneself": return .peerIsOneself
        case "key-changed":
            guard let person = line.person, let known = line["known"]?.user else { break }
            return .keyChanged(person, known: known, isVerified: line["verified"]?.boolean ?? false)
        case "invited":
            if let invitation = line.invitation { return .invited(invitation) }
        case "invitation-over":
            guard let number = line["invitation"]?.integer,
                let end = line["why"]?.string.flatMap({ Invitation.End(rawValue: $0) })
            else { break }
            return .invitationOver(number, end)
        case "moved":
            if let chat = line.joinedChat { return .moved(chat) }
        case "moved-apart":
            if let chat = line["chat"]?.string { return .movedApart(chat: chat) }
        case "newcomer":
            guard let chat = line["chat"]?.string, let key = line["key"]?.key else { break }
            return .newcomer(
                Newcomer(
                    chat: chat, key: key, name: line["name"]?.string, isVerified: line["verified"]?.boolean ?? false,
                    namesakes: line.namesakes, namesake: line["namesake"]?.object?.namesake))
        default: break
        }
        return .other(code: code, text: line["text"]?.string ?? "")
    }

    /// Returns why a daemon ends the connection, from its last line.
    static func endReason(_ line: JSONMembers) -> ServiceEnd? {
        guard line["on"]?.string == "error", line["line"] == nil, line["id"] == nil else { return nil }
        return switch line["code"]?.string {
        case "too-slow": .tooSlow
        case "stopped": .stopped
        default: .lost
        }
    }
}
