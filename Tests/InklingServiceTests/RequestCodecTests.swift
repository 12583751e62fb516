import Foundation
import InklingService
import InklingModel
import Testing

/// Requests and answers in lines, between an attached front end and a daemon.
@Suite("Lines of requests and answers")
struct RequestCodecTests {
    private static let key = AttachedNodeTests.key
    private static let other = PublicKey(String(repeating: "C", count: 42) + "A").unsafelyUnwrapped
    private static let third = PublicKey(String(repeating: "D", count: 42) + "A").unsafelyUnwrapped

    private static let invite = "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa"

    private static func talk() throws -> Chat {
        try Chat("@Bob", talkWith: key, secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))
    }

    private static func requests() throws -> [ServiceRequest] {
        let (open, bob) = (try Chat("küche"), Somebody.bob.user)
        let (secret, owned) = (try Chat(invite: invite), try Chat(invite: invite + "@" + key.description))
        return [
            .join(open), .join(secret, isConfirmed: true), .join(owned),
            .join(open, isKept: true, isConfirmed: true), .join(owned, isKept: true), .enter(.talk(key), name: nil),
            .enter(.talk(key), name: "x", isKept: true, isConfirmed: true), .enter(.invitation(3), name: nil),
            .enter(.invitation(4), name: "x"), .knock(key: key), .invite(chat: "a", key: key), .invitations,
            .decline(invitation: 5), .move(chat: "a", keys: []),
            .move(chat: "b", keys: [key, other], removed: [third], owner: other), .admit(chat: "a", key: key),
            .leave(chat: "a"), .open(chat: "a"), .open(chat: nil), .read(chat: "a"), .messages(chat: "a"),
            .history(true, chat: "a"), .history(false, chat: "b"),
            .messages(chat: "a", before: (1 << 53) - 1, count: 200),
            .messages(chat: "a", before: 1, text: "\u{1F600}\n"), .hold(true, chat: "a"), .hold(false, chat: "b"),
            .waitingTexts(chat: nil), .waitingTexts(chat: "a"), .forget(chat: nil, entry: nil),
            .forget(chat: "a", entry: nil), .forget(chat: nil, entry: (1 << 53) - 1), .compose("", chat: "a"),
            .compose("\"\u{1B}\n", chat: "b"), .startTyping(chat: "a"), .stopTyping(chat: "a"),
            .send("hi \u{1F600}\u{202E}", chat: "a"), .setAway(true), .setAway(false), .rename(" x "),
            .setVerified(true, key: key), .setVerified(false, key: key), .setBlocked(true, .key(key)),
            .setBlocked(false, .key(key)), .setBlocked(true, .user(bob)), .setBlocked(false, .user(bob)),
            .peers(chat: "a"), .peers(chat: nil), .measureRoundTrips(chat: "a"), .knownPeers(),
            .knownPeers(areBlocked: true), .fingerprint(key: key), .invite(chat: "a"), .sightings(chat: "a"),
            .subscribe(Subscription(chats: .all)), .subscribe(Subscription(kinds: [], chats: .named([]))),
            .subscribe(Subscription(kinds: [.peer, .notice], chats: .named(["a", "b"]))), .chats, .status, .identity,
            .statistics, .quit, .shutDown,
        ]
    }

    @Test("each request is read as it was written, and each command is that of a request")
    func requests() throws {
        var words: Set<String> = []
        for request in try Self.requests() {
            guard let line = request.line?.text else {
                switch request {
                // A daemon learns of typing by `compose`.
                case .startTyping, .stopTyping, .measureRoundTrips, .knock: continue
                default: Issue.record("\(request) is not written")
                }
                continue
            }
            words.insert(String(line.dropFirst(7).prefix { $0 != "\"" }))
            guard case .success(let asked) = JSONRequest(Array(line.utf8), openChat: nil).asked else {
                Issue.record("\(line) is not read")
                continue
            }
            #expect(asked.request == request, "\(line)")
            let joins = ["join", "talk", "accept"].contains { line.contains(#""do":"\#($0)""#) }
            #expect(asked.opens == !joins, "\(line)")
        }
        #expect(words == Set(Vocabulary.requestWords))
        #expect(ServiceRequest.subscribe(Subscription(chats: .own)).line == nil, "no subscribe restores it")
    }

    /// The answers that a request can have.
    private static func answers(to request: ServiceRequest) -> [ServiceAnswer] {
        let bob = Somebody.peer(Somebody.bob)
        let chats = [
            ChatStatus("a", isKept: true, unread: 2), ChatStatus("b", hasSecret: true, present: 3, isLooking: true),
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
        case .join(let chat, _, _): [.joined(chat, []), .joined(chat, [bob])]
        case .enter: (try? [.joined(talk(), [bob]), .joined(Chat(invite: invite), [])]) ?? []
        case .invite(_, _?): [.invited(message: 7, via: "b")]
        case .move: (try? [.moved(Chat(invite: invite + "@" + key.description))]) ?? []
        case .invitations: [.invitations([]), .invitations([invitation, knock])]
        case .send: [.sent(message: MessageID(rawValue: .max), recipients: 0)]
        case .peers: [.peers([bob, Somebody.peer(Somebody.carol, .offline)])]
        case .knownPeers: [.knownPeers([]), .knownPeers([AttachedNodeTests.known])]
        case .fingerprint: [.fingerprint(["01234", "56789"])]
        case .invite: [.invite(nil), .invite(invite)]
        case .waitingTexts: [.waitingTexts([]), .waitingTexts([waiting])]
        case .messages: [.messages([]), .messages(recent), .messages(kept)]
        case .sightings: [.sightings(instance: nil, []), .sightings(instance: "own", [sighting])]
        case .chats: [.chats([]), .chats(statuses)]
        case .status: [.status(NodeStatus(since: 1.25, isAway: true, frontEnds: 2, chats: chats))]
        case .statistics: [.statistics(Statistics()), .statistics(AttachedNodeTests.statistics())]
        case .identity: [.identity(FakeNode().identity)]
        case .leave, .open, .read, .history, .compose, .startTyping, .stopTyping, .measureRoundTrips,
            .setAway, .rename, .setVerified, .setBlocked, .quit, .subscribe, .shutDown, .decline, .knock,
            .admit, .hold, .forget:
            [.done]
        }
    }

    @Test("each answer is read as it was written")
    func answers() throws {
        let identity = FakeNode().identity
        for request in try Self.requests() {
            for answer in Self.answers(to: request) {
                let line = answer.line(to: request, of: identity, version: "1", tag: "t", at: 1.5).text
                #expect(ServiceAnswer(try JSONMembers(Array(line.utf8)), to: request) == answer, "\(line)")
                guard case .statistics(let counters) = answer else { continue }
                // All counters differ, and none has the name of another.
                #expect(try JSONDecoder().decode(Statistics.self, from: Data(line.utf8)) == counters)
            }
        }
    }
}
