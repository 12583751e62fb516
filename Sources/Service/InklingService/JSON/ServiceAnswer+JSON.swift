import InklingModel

/// The version of the interface.
package let interfaceVersion = 1

extension ServiceAnswer {
    /// Returns the line that answers a request.
    ///
    /// - Parameters:
    ///   - version: The program's.
    ///   - tag: The tag of a `send`, by which its front end recognizes the message.
    package func line(to request: ServiceRequest, of node: NodeIdentity, version: String, tag: String?) -> JSONLine {
        let chat = request.chat.map(JSONValue.string)
        return switch self {
        case .done, .failed: JSONLine(on: "ok")
        case .joined(let chat, let peers):
            JSONLine(
                on: "ok",
                [
                    ("chat", .string(chat.name)), ("peers", .array(peers.map { .peer($0) })),
                    ("invite", chat.invite.map(JSONValue.string)),
                    ("owner", chat.owner.map { .string($0.description) }),
                    ("with", chat.partner.map { .string($0.description) }),
                    ("secret", chat.partner == nil ? nil : chat.secret.map { .string($0.text) }),
                ])
        case .moved(let chat): JSONLine(on: "ok", chat.movedMembers)
        case .sent(let message, let recipients):
            JSONLine(
                on: "sent",
                [
                    ("chat", chat), ("message", .unsigned(message.rawValue)), ("tag", tag.map(JSONValue.string)),
                    ("to", .integer(recipients)),
                ])
        case .invited(let message, let via):
            JSONLine(
                on: "sent", [("chat", .string(via)), ("message", .unsigned(message.rawValue)), ("to", .integer(1))])
        case .invitations(let invitations):
            JSONLine(on: "invitations", [("invitations", .array(invitations.map { .object($0.members) }))])
        case .peers(let peers): JSONLine(on: "who", [("chat", chat), ("peers", .array(peers.map { .peer($0) }))])
        case .knownPeers(let people): JSONLine(on: "people", [("people", .array(people.map { .known($0) }))])
        case .fingerprint(let groups):
            JSONLine(
                on: "fingerprint", [("key", request.key.map { .string($0.description) }), ("groups", .strings(groups))])
        case .recent(let messages):
            JSONLine(on: request.listing, [("chat", chat), ("messages", .array(messages.map { $0.value(of: node) }))])
        case .waitingTexts(let texts): JSONLine(on: "waiting", [("waiting", .array(texts.map(\.value)))])
        case .invite(let invite): JSONLine(on: "invite", [("chat", chat), ("invite", invite.map(JSONValue.string))])
        case .sightings(let instance, let found):
            JSONLine(
                on: "sightings",
                [("chat", chat), ("instance", instance.map(JSONValue.string)), ("found", .array(found.map(\.value)))])
        case .chats(let chats): JSONLine(on: "chats", [("chats", .array(chats.map(\.value)))])
        case .status(let status):
            JSONLine(
                on: "status",
                [
                    ("user", .string(node.user.description)), ("name", .string(node.name)),
                    ("version", .string(version)), ("interface", .integer(interfaceVersion)),
                    ("since", .seconds(status.since)), ("away", .boolean(status.isAway)),
                    ("frontEnds", .integer(status.frontEnds)), ("chats", .array(status.chats.map(\.value))),
                ])
        case .statistics(let statistics): statistics.line
        }
    }

    /// Reads the line that answers a request.
    package init(_ line: JSONMembers, to request: ServiceRequest) {
        self =
            if line["on"]?.string == "error" {
                .failed(NodeError(line, to: request))
            } else {
                Self.read(line, request)
                    ?? .failed(.other(code: "bad-answer", text: "The daemon's answer can't be read."))
            }
    }

    private static func read(_ line: JSONMembers, _ request: ServiceRequest) -> ServiceAnswer? {
        switch request {
        case .join(let chat, _), .keep(let chat, _):
            return line.list("peers", \.peer).map { .joined(line.joinedChat ?? chat, $0) }
        case .enter:
            guard let peers = line.list("peers", \.peer), let chat = line.joinedChat else { return nil }
            return .joined(chat, peers)
        case .sendInvite:
            guard let message = line["message"]?.message, let via = line["chat"]?.string else { return nil }
            return .invited(message: message, via: via)
        case .move: return line.joinedChat.map { .moved($0) }
        case .invitations: return line.list("invitations", \.invitation).map { .invitations($0) }
        case .send:
            guard let message = line["message"]?.message, let recipients = line["to"]?.integer else { return nil }
            return .sent(message: message, recipients: recipients)
        case .peers: return line.list("peers", \.peer).map { .peers($0) }
        case .knownPeers, .blockedPeople: return line.list("people", \.knownPeer).map { .knownPeers($0) }
        case .fingerprint: return line["groups"]?.strings.map { .fingerprint($0) }
        case .recent(let chat), .earlier(let chat, _, _), .search(_, let chat, _):
            return line.list("messages") { $0.recentMessage(in: chat) }.map { .recent($0) }
        case .waitingTexts: return line.list("waiting", \.waitingEntry).map { .waitingTexts($0) }
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
        case .leave, .open, .closeChat, .read, .history, .compose, .startTyping, .stopTyping, .measureRoundTrips,
            .setAway, .rename, .setVerified, .setBlocked, .block, .unblock, .subscribe, .shutDown, .decline, .knock,
            .admit, .hold, .forget:
            return line["on"]?.string == "ok" ? .done : nil
        }
    }
}

extension ChatStatus {
    fileprivate var value: JSONValue {
        .object(
            [
                ("chat", .string(name)), ("secret", .boolean(hasSecret)), ("kept", .boolean(isKept)),
                ("present", .integer(present)), ("waiting", .integer(waiting)), ("looking", .boolean(isLooking)),
                ("history", .boolean(keepsHistory)), ("hold", .boolean(holdsTexts)),
            ] + (owner.map { [("owner", .string($0.description))] } ?? [])
                + (partner.map { [("with", .string($0.description))] } ?? []))
    }
}

extension Sighting {
    fileprivate var value: JSONValue {
        .object([
            ("instance", .string(instance)), ("user", .string(user.description)), ("addresses", .strings(addresses)),
            ("self", .boolean(isOneself)), ("linked", .boolean(isLinked)),
        ])
    }
}
