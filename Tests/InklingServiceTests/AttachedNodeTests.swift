import Glibc
import InklingService
import InklingModel
import NIOCore
import NIOPosix
import Testing

/// A front end of a daemon sees the same as a front end on the node's own event loop.
@Suite("A front end that is attached to a daemon", .serialized, .timeLimit(.minutes(2)))
struct AttachedNodeTests {
    static let key = Somebody.key
    private static let secret = Result { try Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa") }
    static let known = KnownPeer(
        user: Somebody.bob.user, key: key, names: ["Bob", "B\u{202E}ob"], namedSince: 0.5, firstSeen: 0.25,
        lastSeen: 7.125, isVerified: true, isBlocked: false)

    static func statistics() -> Statistics {
        var statistics = Statistics()
        statistics.datagramsReceived = [.sealed: 3, .ask: 1]
        statistics.datagramsSent = [.typing: 5]
        statistics.drops = [.malformed: 2]
        statistics.sendErrors = ["ENETUNREACH": 4]
        (statistics.bytesReceived, statistics.bytesSent) = (101, 102)
        (statistics.staleClears, statistics.retransmissions, statistics.lateTimers) = (103, 104, 105)
        (statistics.typingStartsSent, statistics.typingStartsReceived, statistics.typingStartsLimited) = (106, 107, 108)
        (statistics.messagesSent, statistics.messagesReceived) = (109, 110)
        (statistics.messagesDelivered, statistics.messagesFailed) = (111, 112)
        (statistics.handshakesCompleted, statistics.linksMade, statistics.linksLostToSilence) = (113, 114, 115)
        (statistics.links, statistics.indicatedShare) = (116, 0.375)
        (statistics.roundTripMinimum, statistics.roundTripMaximum) = (0.125, 12.5)
        return statistics
    }

    @Test("it is known who the node is, and each request has the answer that the node gave")
    func requests() async throws {
        let stage = try await DaemonStage()
        let frontEnd = try await stage.attach()
        #expect(try await frontEnd.run { $0.service.identity } == (try await stage.run { $0.node.identity }))
        let team = try Chat("team", secret: Self.secret.get())
        let bob = Somebody.peer(Somebody.bob)
        let sighting = Sighting(
            instance: "x", user: Somebody.bob.user, addresses: ["[fe80::1%2]:7000"], isOneself: false, isLinked: true)
        let passed: [(ServiceRequest, ServiceAnswer)] = [
            (.setVerified(true, key: Self.key), .done),
            (.setBlocked(true, .key(Self.key)), .failed(.unknownPeer("\(Self.key)"))),
            (.peers(chat: "kitchen"), .peers([bob, Somebody.peer(Somebody.carol)])),
            (.peers(chat: "attic"), .failed(.unknownChat("attic"))), (.knownPeers(), .knownPeers([Self.known])),
            (.fingerprint(key: Self.key), .fingerprint(["01234", "56789"])),
            (.sightings(chat: "kitchen"), .sightings(instance: "own", [sighting])),
            (.sightings(chat: "team"), .sightings(instance: nil, [])), (.statistics, .statistics(Self.statistics())),
            (.send("a", chat: "kitchen"), .failed(.queueFull(Somebody.bob.user))),
            (.send("b", chat: "kitchen"), .failed(.messageTooLong(bytes: 65_537))),
            (.send("", chat: "kitchen"), .failed(.messageEmpty)), (.send("c", chat: "kitchen"), .failed(.stopped)),
            (.rename("\u{1B}"), .failed(.name(.controlCharacter))), (.rename(" "), .failed(.name(.empty))),
            (.rename("x"), .failed(.other(code: "quota", text: "No more names today."))),
        ]
        try await stage.run { world in
            world.node.people["team"] = [bob]
            for (request, answer) in passed { world.node.answers[request] = answer }
        }
        let own: [(ServiceRequest, ServiceAnswer)] = [
            (.join(try Chat("kitchen")), .joined(try Chat("kitchen"), [])),
            (.join(team, isKept: true), .joined(team, [bob])),
            (.join(team), .failed(.chatExists("team"))), (.compose("x", chat: "kitchen"), .done),
            (
                .startTyping(chat: "kitchen"),
                .failed(.other(code: "unsupported", text: "A daemon is not asked for this."))
            ),
            (.send("hi \u{1F600}\u{7}", chat: "kitchen"), .sent(message: 1, recipients: 1)),
            (.rename("  Alicia "), .done),
            (.leave(chat: "team"), .done),
            (.leave(chat: "team"), .failed(.unknownChat("team"))), (.shutDown, .done),
        ]
        for (request, answer) in own.prefix(1) + passed + own.dropFirst() {
            #expect(try await frontEnd.ask(request) == answer, "\(request)")
        }
        #expect(try await frontEnd.run { $0.service.identity.name } == "Alicia")
        // Now all requests follow each other without a wait. Their answers must keep the order.
        try await frontEnd.run { $0.forget() }
        let requests = passed.map(\.0) + [.startTyping(chat: "kitchen"), .chats]
        let asked = try await frontEnd.run { frontEnd in requests.map { frontEnd.service.ask($0) } }
        let answers =
            passed.map(\.1) + [
                .failed(.other(code: "unsupported", text: "A daemon is not asked for this.")),
                .chats([ChatStatus("kitchen")]),
            ]
        try await frontEnd.wait { $0.answers.count == requests.count }
        #expect(try await frontEnd.run { $0.outputs } == zip(answers, asked).map { .answer($0, to: $1) })
        try await stage.end()
    }

    @Test("each event comes as it was told, at its time")
    func events() async throws {
        let stage = try await DaemonStage()
        let frontEnd = try await stage.attach()
        _ = try await frontEnd.ask(.join(try Chat("kitchen")))
        _ = try await frontEnd.ask(.send("hi", chat: "kitchen"))
        let full = Peer(
            user: Somebody.bob.user, name: "B\u{1B}\u{2028}o\"b\\", presence: .away, key: Self.key, onlineSince: 3.25,
            roundTrip: .microseconds(412), firstSeen: 0.5, isVerified: false, isBlocked: true,
            namesakes: [Somebody.carol.user],
            namesake: Peer.Namesake(user: Somebody.carol.user, names: ["Bob", ""], isVerified: true),
            names: ["a", "b"],
            namedSince: 0.75)
        var events: [Event] = [
            .peer(.init(chat: "kitchen", full, why: .away)),
            .typing(chat: "kitchen", [Somebody.bob, Somebody.carol]), .typing(chat: "kitchen", []),
            Somebody.message(7, "Ünï\u{0}code\n\u{202E}👩‍👩‍👧"),
            .message(.init(chat: "kitchen", from: Somebody.bob, id: 8, text: "tea", written: 1_767_261_500.25)),
            .waiting(.init(chat: "kitchen", message: 1, user: Somebody.bob.user)),
            .delivered(.init(chat: "kitchen", message: 1, user: Somebody.bob.user)),
            .delivered(.init(chat: "kitchen", message: 0, user: Somebody.bob.user, entry: 9)),
            .failed(.init(chat: "kitchen", message: 0, user: Somebody.bob.user, why: .givenUp, entry: 10)),
            .missed(.init(chat: "kitchen", messages: 3, outcomes: 4)), .notice(.discoveryUp), .notice(.peerIsOneself),
            .notice(.keyChanged(Somebody.bob, known: Somebody.carol.user, isVerified: true)),
        ]
        for why in PresenceReason.allCases {
            let presence: Presence = why == .away ? .away : why == .hello || why == .back ? .online : .offline
            events.append(.peer(.init(chat: "kitchen", Somebody.peer(Somebody.bob, presence), why: why)))
        }
        // The departure of people whom the front end did not know makes no difference to it.
        let told = events.filter { event in
            if case .peer(let change) = event { change.peer.presence != .offline } else { true }
        }
        for event in told {
            try await frontEnd.run { $0.forget() }
            try await stage.run { $0.node.tell(event, at: 1_767_261_600.125) }
            try await frontEnd.wait("\(event)") { !$0.outputs.isEmpty }
            #expect(
                try await frontEnd.run { $0.outputs } == [.event(TimedEvent(at: 1_767_261_600.125, event: event))])
        }
        // J-15
        try await frontEnd.run { $0.forget() }
        try await stage.run { $0.node.tell(Somebody.message(8), isDelayed: true) }
        try await frontEnd.wait("a delayed message") {
            $0.outputs == [.event(TimedEvent(at: 1.5, event: Somebody.message(8), isDelayed: true))]
        }
        for why in PresenceReason.allCases {
            try await stage.run {
                $0.node.tell(.peer(.init(chat: "kitchen", Somebody.peer(Somebody.bob), why: .hello)))
            }
            let gone = Event.peer(.init(chat: "kitchen", Somebody.peer(Somebody.bob, .offline), why: why))
            try await stage.run { $0.node.tell(gone) }
            try await frontEnd.wait("\(gone)") { $0.events.last == gone }
        }
        for why in FailureReason.allCases {
            _ = try await frontEnd.ask(.send("hi", chat: "kitchen"))
            let sent = try await frontEnd.run { frontEnd in
                if case .sent(let message, _) = frontEnd.answers.last { message } else { 0 as MessageID }
            }
            let failed = Event.failed(.init(chat: "kitchen", message: sent, user: Somebody.bob.user, why: why))
            try await stage.run { $0.node.tell(failed) }
            try await frontEnd.wait("\(failed)") { $0.events.last == failed }
        }
        let outage = Notice.lastWillOff(.ended)
        try await stage.run { $0.node.tell(.notice(outage)) }
        let other = Event.notice(.other(code: "last-will-off", text: outage.description))
        try await frontEnd.wait("\(other)") { $0.events.last == other }
        try await stage.end()
    }

    @Test("what waited, and what another front end sent, is told as such")
    func waitedAndOwn() async throws {
        let stage = try await DaemonStage()
        let (first, second) = (try await stage.attach(), try await stage.attach())
        let secret = try Chat("kitchen", secret: Self.secret.get())
        _ = try await first.ask(.join(secret, isKept: true))
        try await stage.run { world in
            for number in 1...126 { world.node.tell(Somebody.message(number), at: 0.5) }
        }
        #expect(try await second.ask(.join(try Chat("kitchen"))) == .joined(secret, []), "as the node has it (A-20)")
        _ = try await second.ask(.open(chat: "kitchen"))
        try await second.wait { $0.unread.count == 126 }
        let waited = try await second.run { $0.unread }
        #expect(
            waited.first == .missed(.init(chat: "kitchen", messages: 1, outcomes: 0))
                && waited.last == Somebody.message(126))
        _ = try await first.ask(.send("own", chat: "kitchen"))
        try await second.wait { !$0.own.isEmpty }
        #expect(
            try await second.run { $0.outputs.last }
                == .own(OwnMessage(at: 5.5, chat: "kitchen", message: 1, recipients: 1, text: "own")))
        try await stage.end()
    }

    @Test("while a front end takes nothing, nothing is read, and all comes when it does again")
    func takesNothing() async throws {
        let stage = try await DaemonStage()
        let frontEnd = try await stage.attach()
        _ = try await frontEnd.ask(.join(try Chat("kitchen")))
        try await frontEnd.run { $0.service.takesEvents = false }
        // The front end may still be reading a piece of input.
        try await stage.run { $0.node.tell(Somebody.message(1)) }
        try await Task.sleep(for: .milliseconds(50))
        let before = try await frontEnd.run { $0.texts.count }
        try await stage.run { world in for number in 2...9 { world.node.tell(Somebody.message(number)) } }
        try await Task.sleep(for: .milliseconds(50))
        #expect(try await frontEnd.run { $0.texts.count } == before)
        try await frontEnd.run { $0.service.takesEvents = true }
        try await frontEnd.wait { $0.texts.count == 9 }
        try await stage.end()
    }

    // A-3
    @Test("an edit has no answer, and one that fails answers no other request")
    func edits() async throws {
        let stage = try await DaemonStage()
        let frontEnd = try await stage.attach()
        _ = try await frontEnd.ask(.join(try Chat("kitchen")))
        try await frontEnd.run { frontEnd in
            frontEnd.forget()
            for chat in ["attic", "kitchen"] { #expect(frontEnd.service.report(.compose("x", chat: chat))) }
            frontEnd.ask(.chats)
        }
        try await frontEnd.wait("the answer") { !$0.answers.isEmpty }
        let list = ServiceAnswer.chats([ChatStatus("kitchen")])
        #expect(try await frontEnd.run { $0.outputs == [.answer(list, to: $0.lastID)] })
        #expect(try await stage.run { $0.node.requests.contains(.startTyping(chat: "kitchen")) })
        try await stage.end()
    }

    // A-16
    @Test("to stop is to go, once all is answered; its draft ends, and the node stays")
    func stopping() async throws {
        let stage = try await DaemonStage()
        let frontEnd = try await stage.attach()
        _ = try await frontEnd.ask(.join(try Chat("kitchen")))
        _ = try await frontEnd.ask(.compose("x", chat: "kitchen"))
        let stopped = frontEnd.loop.makePromise(of: Void.self)
        try await frontEnd.run { frontEnd in
            frontEnd.service.ask(.chats)
            frontEnd.service.stop { stopped.succeed() }
        }
        try await stopped.futureResult.get()
        #expect(try await frontEnd.run { $0.answers.last } == .chats([ChatStatus("kitchen")]))
        #expect(try await frontEnd.run { $0.end } == .stopped)
        #expect(try await stage.run { $0.node.stops } == 0)
        try await stage.wait { $0.node.requests.suffix(2) == [.stopTyping(chat: "kitchen"), .leave(chat: "kitchen")] }
        try await stage.end()
    }

    @Test("the end of the daemon is told, and why; nothing comes after it")
    func ends() async throws {
        let stage = try await DaemonStage()
        let (first, second) = (try await stage.attach(), try await stage.attach())
        let suspended = second.loop.makePromise(of: Void.self)
        try await second.run { $0.service.suspend { suspended.succeed() } }
        try await suspended.futureResult.get()
        try await stage.wait { $0.service.frontEndCount == 1 }
        #expect(try await second.run { $0.end } == nil)
        try await second.run { $0.service.resume() }
        #expect(try await second.run { $0.end } == .lost)
        try await stage.end()
        try await first.wait { $0.end == .stopped }
        try await first.run { $0.service.ask(.chats) }
        #expect(try await first.run { $0.answers.isEmpty })
    }

    @Test("a daemon that leaves a request unanswered for too long counts as gone, and one that answers does not")
    func unanswered() async throws {
        let stage = try await DaemonStage()
        let (patient, frontEnd, heard) = (
            try await stage.attach(), try await stage.attach(), try await stage.attach()
        )
        func wait(_ time: TimeAmount, _ frontEnd: AttachedStage) async throws {
            try await frontEnd.run { ($0.service as? AttachedNode)?.longestAnswer = time }
        }
        try await wait(.seconds(1), heard)
        #expect(try await heard.ask(.chats) == .chats([]))
        try await stage.run { world in
            world.node.answers[.knownPeers()] = .knownPeers([])
            world.node.isSlow = true
        }
        // If a time ran on after its answer, that of `heard` would pass first.
        try await wait(.milliseconds(1_200), frontEnd)
        try await wait(.minutes(1), patient)
        for stage in [frontEnd, patient] { try await stage.run { $0.service.ask(.knownPeers()) } }
        try await frontEnd.wait("the end") { $0.end == .silent }
        try await stage.run { $0.node.release() }
        try await patient.wait("the answer") { $0.answers == [.knownPeers([])] }
        #expect(try await patient.run { $0.end } == nil)
        #expect(try await heard.run { $0.end } == nil, "it asked for nothing that was not answered")
        #expect(try await frontEnd.run { $0.answers.isEmpty })
        try await stage.end()
    }

    // A-15
    @Test("the daemon of another state directory is no daemon for this front end")
    func otherState() async throws {
        let stage = try await DaemonStage()
        await #expect(throws: AttachedNode.Failure.otherState(DaemonStage.state)) {
            _ = try await stage.attach(state: "1:2")
        }
        _ = try await stage.attach(state: nil)
        try await stage.end()
    }

    // A-3
    @Test("an edit is one line without an ID, so no line comes back")
    func editLine() async throws {
        let stage = try await DaemonStage()
        var pair: [Int32] = [0, 0]
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        try #require(socketpair(AF_UNIX, Int32(kind), 0, &pair) == 0)
        let (own, loop) = (pair[0], stage.loop)
        let (daemon, front) = (try RawFrontEnd(stage), RawFrontEnd(descriptor: pair[1]))
        let attached = loop.makePromise(of: NIOLoopBound<AttachedNode>.self)
        loop.execute {
            AttachedNode.attach(own, state: nil, on: loop) {
                attached.completeWith($0.map { NIOLoopBound($0, eventLoop: loop) }.mapError { $0 as any Error })
            }
        }
        front.write(try #require(daemon.lines(until: "ready").last) + "\n")
        daemon.write(try #require(front.line()) + "\n")
        front.write(try #require(daemon.lines(until: "identity").last) + "\n")
        let node = try await attached.futureResult.get()
        #expect(try await loop.submit { node.value.report(.compose("x", chat: "kitchen")) }.get())
        let line = try #require(front.line())
        #expect(line.contains("compose") && !line.contains("id"), "\(line)")
        // In JSON lines, the edit passes as the program wrote it, if its form is the usual one and a chat is current.
        let lines = NIOLoopBoundBox.makeBoxSendingValue([String](), eventLoop: loop)
        let program = try await loop.submit {
            let program = JSONInterface(
                node.value, .standard(try Chat("kitchen")), texts: DaemonStage.texts,
                write: { lines.value.append(String(decoding: $0, as: UTF8.self)) }, ended: { _ in })
            node.value.attach { program.receive($0) }
            program.begin()
            return NIOLoopBound(program, eventLoop: loop)
        }.get()
        func write(_ line: String) async throws {
            try await loop.submit { program.value.receive(Array((line + "\n").utf8)) }.get()
        }
        func answer(_ word: String) throws {
            let line = try #require(front.line())
            #expect(line.hasPrefix(#"{"do":"\#(word)""#))
            daemon.write(line + "\n")
            front.write(try #require(daemon.lines(until: #""ok""#).last) + "\n")
        }
        for word in ["join", "open"] { try answer(word) }
        let edit = #"{ "do": "compose", "text": "ü" }"#
        try await write(edit)
        #expect(front.line() == edit)
        try await write(#"{ "do": "compose", "text": "\u0061" }"#)
        #expect(front.line() == #"{"do":"compose","chat":"kitchen","text":"a"}"#)
        try await write(#"{"do":"leave","chat":"kitchen"}"#)
        try answer("leave")
        try await write(edit + "\n" + #"{"do":"chats"}"#)
        #expect(try #require(front.line()).hasPrefix(#"{"do":"chats""#))
        let refusal = try await loop.submit { lines.value.last }.get()
        #expect(try #require(refusal).contains(#""code":"bad-command""#) && refusal?.contains(#""line":4"#) == true)
        front.close()
        daemon.close()
        try await stage.end()
    }

    @Test("a program of JSON lines writes the same, whether a daemon's lines pass unchanged or are written again")
    func passedEvents() async throws {
        let stage = try await DaemonStage()
        let loop = stage.loop
        var (frontEnds, written): ([AttachedStage], [NIOLoopBoundBox<[String]>]) = ([], [])
        for (version, isStandard) in [("1.2.3", true), ("1.2.4", true), ("1.2.3", false)] {
            let (frontEnd, lines) = (
                try await stage.attach(), NIOLoopBoundBox.makeBoxSendingValue([""], eventLoop: loop)
            )
            try await frontEnd.run { frontEnd in
                let texts = JSONTexts(
                    version: version, indicator: { "\($0.count) typing" }, notice: \.description, error: \.description,
                    isStandard: isStandard)
                let program = JSONInterface(
                    frontEnd.service, .standard(try Chat("kitchen")), texts: texts,
                    write: { lines.value.append(String(decoding: $0, as: UTF8.self)) }, ended: { _ in })
                frontEnd.react = { program.receive($0) }
                program.begin()
            }
            try await frontEnd.wait("the open chat") { $0.answers.count == 2 }
            frontEnds.append(frontEnd)
            written.append(lines)
        }
        let other = try await stage.attach()
        _ = try await other.ask(.join(try Chat("kitchen")))
        let full = Peer(
            user: Somebody.bob.user, name: "B\u{1B}\u{2028}o\"b\\", presence: .away, key: Self.key, onlineSince: 3.25,
            roundTrip: .microseconds(412), firstSeen: 0.5, isVerified: false, isBlocked: true,
            namesakes: [Somebody.carol.user],
            namesake: Peer.Namesake(user: Somebody.carol.user, names: ["Bob", ""], isVerified: true),
            names: ["a", "b"], namedSince: 0.75)
        let events: [Event] = [
            .peer(.init(chat: "kitchen", full, why: .away)), .typing(chat: "kitchen", [Somebody.bob, Somebody.carol]),
            .notice(.discoveryUp), .typing(chat: "kitchen", []), Somebody.message(7, "Ünï\u{0}code\n\u{202E}👩‍👩‍👧"),
            .message(.init(chat: "kitchen", from: Somebody.bob, id: 8, text: "tea", written: 1_767_261_500.25)),
            .missed(.init(chat: "kitchen", messages: 3, outcomes: 4)),
        ]
        try await stage.run { world in for event in events { world.node.tell(event, at: 1_767_261_600.125) } }
        try await stage.run { $0.node.tell(Somebody.message(9), isDelayed: true) }
        _ = try await other.ask(.send("own", chat: "kitchen"))
        for (index, frontEnd) in frontEnds.enumerated() {
            // The answer comes after all events.
            _ = try await frontEnd.ask(.chats)
            let parsed = index == 0 ? [.notice(.discoveryUp), events[6]] : events + [Somebody.message(9)]
            #expect(try await frontEnd.run { $0.events } == parsed)
            #expect(try await frontEnd.run { $0.own.isEmpty } == (index == 0))
        }
        let lines = try await loop.submit { [written] in written.map { Array($0.value.suffix(events.count + 2)) } }
            .get()
        #expect(lines[0].first?.contains("peer") == true && lines == [lines[0], lines[0], lines[0]])
        try await stage.end()
    }

    @Test("a daemon that does not answer is not waited for")
    func silent() async throws {
        var pair: [Int32] = [0, 0]
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        try #require(socketpair(AF_UNIX, Int32(kind), 0, &pair) == 0)
        let (own, loop) = (pair[0], MultiThreadedEventLoopGroup.singleton.next())
        let failure = loop.makePromise(of: AttachedNode.Failure?.self)
        loop.execute {
            AttachedNode.attach(own, state: nil, on: loop) { result in
                if case .failure(let reason) = result { failure.succeed(reason) } else { failure.succeed(nil) }
            }
        }
        let text = "The daemon does not answer."
        #expect(try await failure.futureResult.get() == .refused(.other(code: "no-answer", text: text)))
        var byte: UInt8 = 0
        #expect(read(pair[1], &byte, 1) == 0, "the connection is closed")
        close(pair[1])
    }
}
