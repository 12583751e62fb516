import InklingService
import InklingModel
import Testing

/// Requests and answers in lines, between an attached front end and a daemon.
@Suite("Lines of requests and answers")
struct RequestCodecTests {
    private static let key = AttachedNodeTests.key
    private static let other = PublicKey(String(repeating: "C", count: 42) + "A").unsafelyUnwrapped
    private static let third = PublicKey(String(repeating: "D", count: 42) + "A").unsafelyUnwrapped

    /// The requests that follow those of another case. The compiler demands a place for each case.
    private static let invite = "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa"

    private static func talk() throws -> Chat {
        try Chat("@Bob", talkWith: key, secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))
    }

    private static func samples(after request: ServiceRequest?) throws -> [ServiceRequest] {
        let (open, bob) = (try Chat("küche"), Somebody.bob.user)
        let (secret, owned) = (try Chat(invite: invite), try Chat(invite: invite + "@" + key.description))
        return switch request {
        case nil: [.join(open), .join(secret, isConfirmed: true), .join(owned)]
        case .join: [.keep(open, isConfirmed: true), .keep(secret), .keep(owned)]
        case .keep:
            [
                .enter(.talk(key), name: nil), .enter(.talk(key), name: "x", isKept: true, isConfirmed: true),
                .enter(.invitation(3), name: nil), .enter(.invitation(4), name: "x"),
            ]
        case .enter: [.knock(key: key)]
        case .knock: [.sendInvite(chat: "a", key: key)]
        case .sendInvite: [.invitations]
        case .invitations: [.decline(invitation: 5)]
        case .decline:
            [.move(chat: "a", keys: []), .move(chat: "b", keys: [key, other], removed: [third], owner: other)]
        case .move: [.admit(chat: "a", key: key)]
        case .admit: [.leave(chat: "a")]
        case .leave: [.open(chat: "a")]
        case .open: [.closeChat]
        case .closeChat: [.read(chat: "a")]
        case .read: [.recent(chat: "a")]
        case .recent: [.history(true, chat: "a"), .history(false, chat: "b")]
        case .history: [.earlier(chat: "a"), .earlier(chat: "a", before: (1 << 53) - 1, count: 200)]
        case .earlier: [.search("\u{1F600}\n", chat: "a"), .search("x", chat: "a", before: 1)]
        case .search: [.hold(true, chat: "a"), .hold(false, chat: "b")]
        case .hold: [.waitingTexts(chat: nil), .waitingTexts(chat: "a")]
        case .waitingTexts:
            [
                .forget(chat: nil, entry: nil), .forget(chat: "a", entry: nil),
                .forget(chat: nil, entry: (1 << 53) - 1),
            ]
        case .forget: [.compose("", chat: "a"), .compose("\"\u{1B}\n", chat: "b")]
        case .compose: [.startTyping(chat: "a")]
        case .startTyping: [.stopTyping(chat: "a")]
        case .stopTyping: [.send("hi \u{1F600}\u{202E}", chat: "a")]
        case .send: [.setAway(true), .setAway(false)]
        case .setAway: [.rename(" x ")]
        case .rename: [.setVerified(true, key: key), .setVerified(false, key: key)]
        case .setVerified: [.setBlocked(true, key: key), .setBlocked(false, key: key)]
        case .setBlocked: [.block(bob)]
        case .block: [.unblock(bob)]
        case .unblock: [.peers(chat: "a")]
        case .peers: [.measureRoundTrips(chat: "a")]
        case .measureRoundTrips: [.knownPeers]
        case .knownPeers: [.blockedPeople]
        case .blockedPeople: [.fingerprint(key: key)]
        case .fingerprint: [.invite(chat: "a")]
        case .invite: [.sightings(chat: "a")]
        case .sightings:
            [
                .subscribe(Subscription(chats: .all)), .subscribe(Subscription(kinds: [], chats: .named([]))),
                .subscribe(Subscription(kinds: [.peer, .notice], chats: .named(["a", "b"]))),
            ]
        case .subscribe: [.chats]
        case .chats: [.status]
        case .status: [.statistics]
        case .statistics: [.shutDown]
        case .shutDown: []
        }
    }

    private static func requests() throws -> [ServiceRequest] {
        var requests: [ServiceRequest] = []
        while case let next = try samples(after: requests.last), !next.isEmpty { requests += next }
        return requests
    }

    @Test("each request is read as it was written, and each command is that of a request")
    func requests() throws {
        var words: Set<String> = []
        for request in try Self.requests() {
            guard let members = request.members else {
                switch request {
                // A daemon learns of typing by `compose`.
                case .startTyping, .stopTyping, .measureRoundTrips, .knock: continue
                default: Issue.record("\(request) is not written")
                }
                continue
            }
            let line = JSONValue.object(members).text
            if case .string(let word) = members.first?.1 { words.insert(word) }
            guard case .success(.ask(let read, let opens)) = JSONRequest(Array(line.utf8), openChat: nil).command else {
                Issue.record("\(line) is not read")
                continue
            }
            #expect(read == request, "\(line)")
            let joins = ["join", "talk", "accept"].contains { line.contains(#""do":"\#($0)""#) }
            #expect(opens == !joins, "\(line)")
        }
        #expect(words.count == RequestCodec.all.count && words == Set(RequestCodec.all.map(\.word)))
        #expect(ServiceRequest.subscribe(Subscription(chats: .own)).members == nil, "no subscribe restores it")
    }

    /// The answers that a request can have.
    private static func answers(to request: ServiceRequest) -> [ServiceAnswer] {
        let bob = Somebody.peer(Somebody.bob)
        let chats = [
            ChatStatus("a", isKept: true, waiting: 2), ChatStatus("b", hasSecret: true, present: 3, isLooking: true),
            ChatStatus("@Bob", hasSecret: true, partner: key), ChatStatus("team", hasSecret: true, owner: key),
        ]
        let sighting = Sighting(
            instance: "x", user: bob.user, addresses: ["[fe80::1%2]:7000"], isOneself: true, isLinked: false)
        let own = OwnMessage(at: 2.5, chat: "a", message: 3, recipients: 2, text: "\n")
        let failed = RecentMessage.Failure(user: Somebody.carol.user, why: .lostState)
        var waitingMessage = RecentMessage(at: 2.5, .own(own, delivered: [], failed: []))
        waitingMessage.waiting = [bob.user]
        let recent = [
            RecentMessage(
                at: 1.5,
                .received(ReceivedMessage(chat: "a", from: Somebody.bob, id: 7, text: "hi"), isDelayed: true)),
            RecentMessage(
                at: 1.5,
                .received(
                    ReceivedMessage(chat: "a", from: Somebody.bob, id: 8, text: "hi", written: 0.5), isDelayed: false)),
            RecentMessage(at: 2.5, .own(own, delivered: [bob.user], failed: [failed])),
            waitingMessage,
        ]
        let invitation = Invitation(
            number: 3, chat: "a", sender: Somebody.bob, key: key, isVerified: true, name: "team", owner: key)
        let knock = Invitation(
            number: 4, chat: "a", sender: Somebody.bob, key: key, isVerified: false, name: nil, owner: nil)
        let kept = recent.enumerated().map { index, message in
            var message = message
            (message.entry, message.isUnread) = ((1 << 53) - 1, index == 0)
            return message
        }
        var statuses = chats
        statuses[1].keepsHistory = true
        statuses[1].holdsTexts = true
        let waiting = WaitingEntry(
            entry: 7, chat: "a", user: bob.user, name: "Bob", key: key, at: 2.5, text: "tea\n")
        return switch request {
        case .join(let chat, _), .keep(let chat, _): [.joined(chat, []), .joined(chat, [bob])]
        case .enter: (try? [.joined(talk(), [bob]), .joined(Chat(invite: invite), [])]) ?? []
        case .sendInvite: [.invited(message: 7, via: "b")]
        case .move: (try? [.moved(Chat(invite: invite + "@" + key.description))]) ?? []
        case .invitations: [.invitations([]), .invitations([invitation, knock])]
        case .send: [.sent(message: MessageID(rawValue: .max), recipients: 0)]
        case .peers: [.peers([bob, Somebody.peer(Somebody.carol, .offline)])]
        case .knownPeers, .blockedPeople: [.knownPeers([]), .knownPeers([AttachedNodeTests.known])]
        case .fingerprint: [.fingerprint(["01234", "56789"])]
        case .recent: [.recent([]), .recent(recent)]
        case .invite: [.invite(nil), .invite(invite)]
        case .waitingTexts: [.waitingTexts([]), .waitingTexts([waiting])]
        case .earlier, .search: [.recent([]), .recent(kept)]
        case .sightings: [.sightings(instance: nil, []), .sightings(instance: "own", [sighting])]
        case .chats: [.chats([]), .chats(statuses)]
        case .status: [.status(NodeStatus(since: 1.25, isAway: true, frontEnds: 2, chats: chats))]
        case .statistics: [.statistics(AttachedNodeTests.statistics())]
        case .leave, .open, .closeChat, .read, .history, .compose, .startTyping, .stopTyping, .measureRoundTrips,
            .setAway, .rename, .setVerified, .setBlocked, .block, .unblock, .subscribe, .shutDown, .decline, .knock,
            .admit, .hold, .forget:
            [.done]
        }
    }

    @Test("each answer is read as it was written")
    func answers() throws {
        let identity = FakeNode().identity
        for request in try Self.requests() {
            for answer in Self.answers(to: request) {
                let line = answer.line(to: request, of: identity, version: "1", tag: "t").text
                #expect(ServiceAnswer(try JSONMembers(Array(line.utf8)), to: request) == answer, "\(line)")
            }
        }
    }
}
