import Foundation
import Inkling
import InklingService
import Testing

/// The words of the interface upon which programs act. None of them may change.
@Suite("Words of the JSON interface")
struct WordTests {
    private static let person = Person(user: UserID("mfrggzdfmztwq2lk") ?? fallback, name: "Bob")
    private static let invite = "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa@\(Somebody.key)"
    private static let fallback = UserID("aaaaaaaaaaaaaaaa").unsafelyUnwrapped

    private static func line(_ event: Event) throws -> String {
        let events = JSONEvents(indicator: { "\($0.count) typing" }, notice: { _ in "text" })
        return events.line(for: TimedEvent(at: 1.5, event: event)).text
    }

    @Test("an event is one object, its members in order")
    func events() throws {
        let bob = Self.person
        let from = #"{"user":"mfrggzdfmztwq2lk","name":"Bob"}"#
        let peer = Peer(
            user: bob.user, name: bob.name, presence: .online, key: Somebody.key, onlineSince: 1,
            firstSeen: 1, isVerified: true, names: ["Bob", "Bobby"], namedSince: 1)
        let rows: [(Event, String)] = [
            (
                .peer(.init(chat: "c", peer, why: .hello)),
                #""on":"peer","at":1.500000,"chat":"c","why":"hello","user":"mfrggzdfmztwq2lk","name":"Bob","#
                    + #""presence":"online","key":"\#(peer.key)","verified":true,"blocked":false,"onlineSince":1.000000,"#
                    + #""firstSeen":1.000000,"names":["Bob","Bobby"],"namedSince":1.000000"#
            ),
            (
                .typing(chat: "c", [bob]),
                #""on":"typing","at":1.500000,"chat":"c","users":[\#(from)],"text":"1 typing""#
            ),
            (
                .message(.init(chat: "c", from: bob, id: 7, text: "a\"\u{1B}")),
                #""on":"message","at":1.500000,"chat":"c","from":\#(from),"message":7,"text":"a\"\u001b""#
            ),
            (
                .delivered(.init(chat: "c", message: 7, user: bob.user)),
                #""on":"delivered","at":1.500000,"chat":"c","message":7,"user":"mfrggzdfmztwq2lk""#
            ),
            (
                .failed(.init(chat: "c", message: 7, user: bob.user, why: .lostState)),
                #""on":"failed","at":1.500000,"chat":"c","message":7,"user":"mfrggzdfmztwq2lk","why":"lost-state""#
            ),
            (
                .notice(.keyChanged(bob, known: Self.fallback, isVerified: true)),
                #""on":"notice","at":1.500000,"code":"key-changed","text":"text","user":"mfrggzdfmztwq2lk","name":"Bob","#
                    + #""known":"aaaaaaaaaaaaaaaa","verified":true"#
            ),
            (
                .notice(.movedApart(chat: "team")),
                #""on":"notice","at":1.500000,"code":"moved-apart","text":"text","chat":"team""#
            ),
            (
                .notice(.moved(try Chat(invite: Self.invite))),
                #""on":"notice","at":1.500000,"code":"moved","text":"text","chat":"team","#
                    + #""owner":"\#(Somebody.key)","invite":"\#(Self.invite)""#
            ),
            (
                .notice(
                    .newcomer(
                        Newcomer(
                            chat: "team", key: Somebody.key, name: "Bob", namesakes: [Self.fallback],
                            namesake: Peer.Namesake(user: Self.fallback, names: ["Bob"], isVerified: true)))),
                #""on":"notice","at":1.500000,"code":"newcomer","text":"text","chat":"team","#
                    + #""user":"\#(Somebody.key.userID)","key":"\#(Somebody.key)","name":"Bob","verified":false,"#
                    + #""namesakes":["\#(Self.fallback)"],"#
                    + #""namesake":{"user":"\#(Self.fallback)","names":["Bob"],"verified":true}"#
            ),
            (.notice(.discoveryUp), #""on":"notice","at":1.500000,"code":"discovery-up","text":"text""#),
            (
                .missed(.init(chat: "c", messages: 7, outcomes: 1)),
                #""on":"missed","at":1.500000,"chat":"c","messages":7,"outcomes":1"#
            ),
        ]
        for (event, members) in rows { #expect(try Self.line(event) == "{" + members + "}") }
    }

    // R28
    @Test("reasons, presences and what statistics count have their words")
    func rawValues() {
        #expect(
            PresenceReason.allCases.map(\.rawValue) == [
                "hello", "back", "away", "bye", "removed", "will", "silence", "blocked", "replaced", "full",
            ])
        #expect(
            FailureReason.allCases.map(\.rawValue) == [
                "bye", "silence", "will", "left", "blocked", "replaced", "quit", "stalled", "full",
                "lost-state", "given-up", "no-room",
            ])
        #expect(Presence.allCases.map(\.rawValue) == ["online", "away", "offline"])
        #expect(
            Statistics.ReceivedKind.allCases.map(\.rawValue) == [
                "initiation", "response", "sealed", "retry", "ask", "tell",
            ])
        #expect(
            Statistics.SentKind.allCases.map(\.rawValue) == [
                "initiation", "response", "retry", "ask", "tell", "heartbeat", "typing", "record", "ack", "forward",
                "ping", "pong", "bye",
            ])
        #expect(
            Statistics.Drop.allCases.map(\.rawValue) == [
                "malformed", "unknownChat", "unknownIndex", "replayed", "unauthenticated", "frames", "notUnicast",
                "ownIdentity", "blocked", "cookie", "answerLimit", "responseLimit", "sourceLimit", "linkLimit",
                "peerLimit", "unexpected", "suspended", "offLink", "interface",
            ])
    }

    @Test("notices have their codes")
    func notices() throws {
        let rows: [(Notice, String)] = [
            (.discoveryDown(.gone), "discovery-down"), (.discoveryUp, "discovery-up"),
            (.identityTemporary(.noHome), "identity-temporary"), (.lastWillOff(.ended), "last-will-off"),
            (.peerIsOneself, "peer-is-oneself"),
            (.keyChanged(Self.person, known: Self.fallback, isVerified: false), "key-changed"),
            (.moved(try Chat("c")), "moved"),
            (.newcomer(Newcomer(chat: "c", key: Somebody.key, name: nil)), "newcomer"),
            (.movedApart(chat: "c"), "moved-apart"),
        ]
        for (notice, code) in rows { #expect(notice.code == code) }
    }

    @Test("errors have their codes")
    func errors() {
        let rows: [(NodeError, String)] = [
            (.name(.empty), "bad-name"), (.chatName(.invite), "bad-chat-name"), (.secret(.characters), "bad-secret"),
            (.invite(.scheme), "bad-invite"), (.unknownChat("c"), "unknown-chat"), (.chatExists("c"), "chat-exists"),
            (.tooManyChats, "too-many-chats"), (.messageEmpty, "message-empty"),
            (.messageTooLong(bytes: 1), "message-too-long"), (.queueFull(Self.fallback), "queue-full"),
            (.portTaken(1), "port-taken"), (.portNotAllowed(1), "port-not-allowed"),
            (.bindAddress("a"), "bad-bind-address"), (.bindAddressWithoutInterface("a"), "bad-bind-address"),
            (.socket("r"), "socket"), (.stateDirectory(.noHome), "state-directory"),
            (.peerAddress("a", .port), "bad-peer-address"), (.interface("i", known: []), "bad-interface"),
            (.unknownPeer("p"), "unknown-peer"), (.identityText, "bad-identity"),
            (.identityExists("p"), "identity-exists"), (.stateDirectoryInUse("p"), "state-directory-in-use"),
            (.stopped, "stopped"), (.notOwner("c"), "not-owner"), (.notMoved("c"), "not-moved"),
            (.removed(Self.fallback, chat: "c"), "removed"), (.chatMoved("c"), "chat-moved"),
            (.movedTooOften("c"), "moved-too-often"),
            (.notKept("r"), "not-kept"),
        ]
        for (error, code) in rows { #expect(error.code == code) }
    }

    @Test("input is cut into lines, and one that is too long is left out")
    func lines() {
        var splitter = LineSplitter()
        #expect(splitter.feed(Array("one\r\ntw".utf8)) == [.line(Array("one".utf8), number: 1)])
        let long = [UInt8](repeating: 0x20, count: LineSplitter.longestLine)
        #expect(splitter.feed(long) == [])
        #expect(splitter.feed(Array("\nthree".utf8)) == [.tooLong(number: 2)])
        #expect(splitter.finish() == .line(Array("three".utf8), number: 3))
        #expect(splitter.finish() == nil)
    }
}
