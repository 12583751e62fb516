import Inkling
import InklingModel

/// The lines of requests to a daemon, and of its answers.
enum AttachedRequest {
    /// Returns the members of the line; nil for a request that a daemon's interface does not have.
    static func members(_ request: ServiceRequest) -> [(String, JSONValue)]? {
        switch request {
        case .join(let chat, let isConfirmed): join(chat, isConfirmed)
        case .keep(let chat, let isConfirmed): join(chat, isConfirmed) + [("keep", .boolean(true))]
        case .leave(let chat): command("leave", chat: chat)
        case .open(let chat): command("open", chat: chat)
        case .read(let chat): command("read", chat: chat)
        case .compose(let text, let chat): command("compose", chat: chat) + [("text", .string(text))]
        // A daemon learns of typing by `compose`.
        case .startTyping, .stopTyping, .measureRoundTrips: nil
        case .send(let text, let chat): command("send", chat: chat) + [("text", .string(text))]
        case .setAway(let isAway): command(isAway ? "away" : "back")
        case .rename(let name): command("nick") + [("name", .string(name))]
        case .setVerified(let isVerified, let key): command(isVerified ? "verify" : "unverify", key: key)
        case .setBlocked(let isBlocked, let key): command(isBlocked ? "block" : "unblock", key: key)
        case .block(let user): command("block") + [("user", .string(user.description))]
        case .unblock(let user): command("unblock") + [("user", .string(user.description))]
        case .peers(let chat): command("who", chat: chat)
        case .knownPeers: command("people")
        case .blockedPeople: command("people") + [("blocked", .boolean(true))]
        case .fingerprint(let key): command("fingerprint", key: key)
        case .invite(let chat): command("invite", chat: chat)
        case .sightings(let chat): command("sightings", chat: chat)
        case .subscribe(let subscription): subscribe(subscription)
        case .chats: command("chats")
        case .status: command("status")
        case .statistics: command("stats")
        case .shutDown: command("stop")
        }
    }

    private static func command(_ name: String) -> [(String, JSONValue)] { [("do", .string(name))] }

    private static func command(_ name: String, chat: String) -> [(String, JSONValue)] {
        command(name) + [("chat", .string(chat))]
    }

    private static func command(_ name: String, key: PublicKey) -> [(String, JSONValue)] {
        command(name) + [("key", .string(key.description))]
    }

    /// Returns a join that opens nothing: the front end opens the chat by a separate request.
    private static func join(_ chat: Chat, _ isConfirmed: Bool) -> [(String, JSONValue)] {
        let secret: [(String, JSONValue)] = chat.secret.map { [("secret", .string($0.text))] } ?? []
        let confirmation: [(String, JSONValue)] = isConfirmed ? [("confirm", .boolean(true))] : []
        return command("join", chat: chat.name) + secret + [("open", .boolean(false))] + confirmation
    }

    /// Nil for the subscription before any `subscribe`, which no `subscribe` can restore.
    private static func subscribe(_ subscription: Subscription) -> [(String, JSONValue)]? {
        let events: [(String, JSONValue)] = [("events", .strings(subscription.kinds.map(\.rawValue).sorted()))]
        return switch subscription.chats {
        case .own: nil
        case .all: command("subscribe") + events
        case .named(let names): command("subscribe") + events + [("chats", .strings(names.sorted()))]
        }
    }

    /// The answer to a request that a daemon's interface does not have.
    static let unsupported = ServiceAnswer.failed(
        .other(code: "unsupported", text: "A daemon is not asked for this."))

    // MARK: Answers

    /// Returns the answer in the line that answers a request.
    static func answer(_ line: JSONMembers, to request: ServiceRequest) -> ServiceAnswer {
        guard line["on"]?.string != "error" else { return .failed(error(line, request)) }
        return read(line, request) ?? .failed(.other(code: "bad-answer", text: "The daemon's answer can't be read."))
    }

    private static func read(_ line: JSONMembers, _ request: ServiceRequest) -> ServiceAnswer? {
        switch request {
        case .join(let chat, _), .keep(let chat, _):
            guard let peers = line.list("peers", \.peer) else { return nil }
            let given = line["invite"]?.string.flatMap { try? Chat(invite: $0) }
            return .joined(given ?? chat, peers)
        case .send:
            guard let message = line["message"]?.message, let recipients = line["to"]?.integer else { return nil }
            return .sent(message: message, recipients: recipients)
        case .peers: return line.list("peers", \.peer).map { .peers($0) }
        case .knownPeers, .blockedPeople: return line.list("people", \.knownPeer).map { .knownPeers($0) }
        case .fingerprint: return line["groups"]?.strings.map { .fingerprint($0) }
        case .invite: return .invite(line["invite"]?.string)
        case .sightings:
            return line.list("found", \.sighting).map { .sightings(instance: line["instance"]?.string, $0) }
        case .chats: return line.list("chats", \.chatStatus).map { .chats($0) }
        case .status:
            guard let since = line["since"]?.time, let chats = line.list("chats", \.chatStatus) else { return nil }
            return .status(
                NodeStatus(
                    since: since, isAway: line["away"]?.boolean ?? false, frontEnds: line["frontEnds"]?.integer ?? 0,
                    chats: chats))
        case .statistics: return .statistics(line.statistics)
        case .leave, .open, .read, .compose, .startTyping, .stopTyping, .measureRoundTrips, .setAway, .rename,
            .setVerified, .setBlocked, .block, .unblock, .subscribe, .shutDown:
            return line["on"]?.string == "ok" ? .done : nil
        }
    }

    /// Returns an error that programs act upon as its own case, and any other by its code and text.
    private static func error(_ line: JSONMembers, _ request: ServiceRequest) -> NodeError {
        let code = line["code"]?.string ?? ""
        let other = NodeError.other(code: code, text: line["text"]?.string ?? "")
        switch (code, request) {
        case ("unknown-chat", _): return chat(of: request).map { .unknownChat($0) } ?? other
        case ("chat-exists", _): return chat(of: request).map { .chatExists($0) } ?? other
        case ("too-many-chats", _): return .tooManyChats
        case ("message-empty", _): return .messageEmpty
        case ("message-too-long", _): return line["bytes"]?.integer.map { .messageTooLong(bytes: $0) } ?? other
        case ("queue-full", _): return line["user"]?.user.map { .queueFull($0) } ?? other
        case ("stopped", _): return .stopped
        case ("unknown-peer", .setVerified(_, let key)), ("unknown-peer", .setBlocked(_, let key)),
            ("unknown-peer", .fingerprint(let key)):
            return .unknownPeer(key.description)
        // The same check finds the name's fault here.
        case ("bad-name", .rename(let name)): return fault(ofName: name) ?? other
        default: return other
        }
    }

    private static func fault(ofName name: String) -> NodeError? {
        do {
            _ = try Configuration.checked(name: name)
            return nil
        } catch {
            return error
        }
    }

    private static func chat(of request: ServiceRequest) -> String? {
        switch request {
        case .join(let chat, _), .keep(let chat, _): chat.name
        case .leave(let chat), .open(let chat), .read(let chat), .compose(_, let chat), .startTyping(let chat),
            .stopTyping(let chat), .send(_, let chat), .peers(let chat), .invite(let chat), .sightings(let chat):
            chat
        default: nil
        }
    }
}
