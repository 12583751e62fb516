import InklingService
import InklingModel
import Testing

/// The path of requests and answers between bytes and a node, and their order.
@Suite("The JSON interface")
struct JSONInterfaceTests {
    /// An interface over a node that the tests control.
    private final class Stage {
        let node = FakeNode()
        let service: FakeService
        private var interface: JSONInterface?
        private(set) var lines: [String] = []
        private(set) var ends: [JSONInterface.End] = []

        init(_ stream: JSONInterface.Stream = .connection(state: "1:2")) {
            service = FakeService(node)
            let interface = JSONInterface(
                service, stream, texts: DaemonStage.texts,
                write: { [unowned self] in lines.append(String(decoding: $0.dropLast(), as: UTF8.self)) },
                ended: { [unowned self] in ends.append($0) })
            self.interface = interface
            service.attach { interface.receive($0) }
            interface.begin()
        }

        func write(_ text: String) { interface?.receive(Array((text + "\n").utf8)) }
        func endInput() { interface?.endOfInput() }
        func hold(_ isHeld: Bool) { interface?.isHeld = isHeld }
        var wantsInput: Bool { interface?.wantsInput ?? false }

        /// Returns the lines written since the last call, without their times.
        func take() -> [String] {
            defer { lines = [] }
            return lines.map { line in
                guard let start = line.range(of: #""at":"#)?.lowerBound,
                    let end = line[start...].firstIndex(where: { $0 == "," || $0 == "}" })
                else { return line }
                let isLast = line[end] == "}"
                return String(line[..<(isLast ? line.index(before: start) : start)])
                    + String(line[(isLast ? end : line.index(after: end))...])
            }
        }
    }

    // A-29
    @Test("while answers wait to be written no further request is begun, and none is lost, nor the end")
    func held() {
        let stage = Self.inKitchen()
        stage.hold(true)
        stage.write(#"{"do":"people","id":1}"# + "\n" + #"{"do":"chats","id":2}"#)
        #expect(stage.take().isEmpty && stage.node.takeRequests().isEmpty && !stage.wantsInput)
        stage.endInput()
        #expect(stage.ends.isEmpty)
        stage.hold(false)
        #expect(stage.take().count == 2 && stage.ends == [.input])
    }

    private static func inKitchen() -> Stage {
        let stage = Stage()
        stage.write(#"{"do":"join","chat":"kitchen","id":0}"#)
        _ = stage.take()
        _ = stage.node.takeRequests()
        return stage
    }

    // A-2
    @Test(
        "an ID is an integer from 0 to 2^53 - 1 or a text of 1 to 64 bytes; with any other nothing happens",
        arguments: [
            ("0", true), ("9007199254740991", true), ("9007199254740992", false), ("-1", false), ("-0", false),
            ("1.0", false), ("1e3", false), ("null", false), ("true", false), ("[1]", false), ("{}", false),
            (#""""#, false), (#""x""#, true), (#""\#(String(repeating: "é", count: 32))""#, true),
            (#""\#(String(repeating: "é", count: 32))x""#, false), ("18446744073709551616", false),
        ])
    func identifiers(_ id: String, _ isValid: Bool) {
        let stage = Stage()
        _ = stage.take()
        stage.write(#"{"do":"away","id":\#(id)}"#)
        if isValid {
            #expect(stage.take() == [#"{"on":"ok","id":\#(id)}"#] && stage.node.takeRequests() == [.setAway(true)])
        } else {
            let line = stage.take().first ?? ""
            #expect(line.contains(#""code":"bad-command""#) && line.hasSuffix(#""line":1}"#))
            #expect(stage.node.takeRequests().isEmpty)
        }
    }

    // A-3, A-4, A-5
    @Test("a request with an ID has exactly one answer with it, and one without has no ok")
    func answers() {
        let stage = Self.inKitchen()
        let quiet = [
            #"{"do":"compose","text":"x""#, #"{"do":"open","chat":"kitchen""#, #"{"do":"read""#, #"{"do":"away""#,
            #"{"do":"back""#, #"{"do":"nick","name":"x""#, #"{"do":"block","user":"bbbbbbbbbbbbbbbb""#,
            #"{"do":"unblock","user":"bbbbbbbbbbbbbbbb""#, #"{"do":"subscribe""#,
            #"{"do":"verify","key":"\#(String(repeating: "B", count: 42))A""#,
            #"{"do":"unblock","key":"\#(String(repeating: "B", count: 42))A""#,
        ]
        for (number, line) in quiet.enumerated() {
            stage.write(line + "}")
            #expect(stage.take().isEmpty, "\(line)")
            stage.write(line + #","id":\#(number)}"#)
            #expect(stage.take() == [#"{"on":"ok","id":\#(number)}"#], "\(line)")
        }
        for word in ["chats", "status", "identity", "stats", "who"] {
            stage.write(#"{"do":"\#(word)"}"#)
            let plain = stage.take()
            stage.write(#"{"do":"\#(word)","id":"i"}"#)
            #expect(plain.count == 1 && plain.first?.hasPrefix(#"{"on":"\#(word)","#) == true)
            #expect(stage.take() == plain.map { $0.dropLast() + #","id":"i"}"# })
        }
        for line in [
            #"{"do":"x","id":7}"#, #"{"id":7}"#, #"{"do":1,"id":7}"#, #"{"do":"join","id":7}"#,
            #"{"id":7,"do":"block","user":"b","key":"b"}"#, #"{"do":"subscribe","events":["x"],"id":7}"#,
            #"{"do":"verify","key":"x","id":7}"#, #"{"do":"join","chat":"x","keep":1,"id":7}"#,
            #"{"do":"block","user":"bbbbbbbbbbbbbbbb","key":"\#(String(repeating: "B", count: 42))A","id":7}"#,
            #"{"do":"join","chat":"x","invite":"x","id":7}"#, #"{"do":"subscribe","chats":[""],"id":7}"#,
        ] {
            stage.write(line)
            let lines = stage.take()
            #expect(lines.count == 1 && lines.first?.contains(#""code":"bad-command""#) == true, "\(line)")
            #expect(lines.first?.hasSuffix(#","id":7}"#) == true, "\(line)")
        }
    }

    // A-6, W-34
    @Test("an invite stands for a chat and its secret, and a bad one says what is wrong with it")
    func invites() throws {
        let stage = Stage()
        _ = stage.take()
        let invite = "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa"
        stage.write(#"{"do":"join","invite":"\#(invite)","id":1}"#)
        #expect(stage.take() == [#"{"on":"ok","chat":"team","peers":[],"invite":"\#(invite)","id":1}"#])
        #expect(stage.node.chats == [try Chat(invite: invite)])
        for (text, code) in [
            ("team", "bad-invite"), ("inkling:team", "bad-invite"),
            ("inkling:#aaaaaaaaaaaaaaaaaaaaaaaaaa", "bad-chat-name"),
            ("inkling:team#a", "bad-secret"), (" \(invite)", "bad-invite"), ("\(invite)@a", "bad-invite"),
        ] {
            stage.write(#"{"do":"join","invite":"\#(text)","id":2}"#)
            #expect(stage.take().first?.contains(#""code":"\#(code)""#) == true)
        }
    }

    @Test("the first chat that is joined is the open one, unless it is not to be; the node is told")
    func openChat() {
        let stage = Stage()
        _ = stage.take()
        stage.write(#"{"do":"join","chat":"attic","open":false}"#)
        stage.write(#"{"do":"compose","text":"x","id":1}"#)
        #expect(stage.take().last?.contains(#""code":"bad-command""#) == true)
        stage.write(#"{"do":"join","chat":"kitchen"}"# + "\n" + #"{"do":"join","chat":"hall"}"#)
        stage.write(#"{"do":"send","text":"x"}"#)
        let requests = stage.node.takeRequests()
        #expect(requests.contains(.open(chat: "kitchen")) && !requests.contains(.open(chat: "hall")))
        #expect(requests.last == .send("x", chat: "kitchen"))
        stage.write(#"{"do":"leave","chat":"kitchen"}"# + "\n" + #"{"do":"send","text":"x","id":9}"#)
        #expect(
            stage.take().last?.hasSuffix(#","id":9}"#) == true
                && !stage.node.takeRequests().contains(.send("x", chat: "kitchen")))
    }

    // A-28
    @Test("a join without an ID tells who is there, one with an ID lists them")
    func peersOfJoin() {
        let stage = Stage()
        _ = stage.take()
        stage.node.people = [
            "kitchen": [Somebody.peer(Somebody.bob), Somebody.peer(Somebody.carol, .offline)],
            "attic": [Somebody.peer(Somebody.bob, .away)],
        ]
        stage.write(#"{"do":"join","chat":"kitchen"}"#)
        let lines = stage.take()
        #expect(
            lines.count == 2
                && lines.first?.contains(#""chat":"kitchen","why":"hello","user":"bbbbbbbbbbbbbbbb""#) == true)
        stage.write(#"{"do":"join","chat":"attic","id":1}"#)
        #expect(
            stage.take().first?.contains(#""peers":[{"user":"bbbbbbbbbbbbbbbb","name":"Bob","presence":"away""#) == true
        )
    }

    // A-4, A-16
    @Test("what follows a request waits until it is answered, and so does the end of input")
    func oneAfterTheOther() {
        let stage = Self.inKitchen()
        stage.node.isSlow = true
        stage.write(#"{"do":"who","id":1}"# + "\n" + #"{"do":"identity","id":2}"#)
        stage.endInput()
        #expect(stage.node.takeRequests() == [.peers(chat: "kitchen")] && !stage.wantsInput)
        #expect(stage.take().isEmpty && stage.ends.isEmpty)
        for _ in 1...2 { stage.node.release() }
        let lines = stage.take()
        #expect(lines.count == 2 && lines.first?.hasSuffix(#""id":1}"#) == true && stage.ends == [.input])
        #expect(lines.last?.hasSuffix(#""id":2}"#) == true)
        let other = Self.inKitchen()
        other.node.isSlow = true
        other.write(#"{"do":"who","id":3}"#)
        other.endInput()
        #expect(other.ends.isEmpty)
        other.node.release()
        #expect(other.take().count == 1 && other.ends == [.input])
    }

    // A-3
    @Test("two equal requests at once get each their own answer, and an answer to another request is none to them")
    func equalRequests() {
        let stage = Self.inKitchen()
        stage.node.isSlow = true
        stage.node.messageAnswers = [.failed(.queueFull(Somebody.bob.user)), .sent(message: 7, recipients: 1)]
        let line = #"{"do":"send","text":"x","id":"#
        stage.write(line + "1}\n" + line + "2}")
        stage.service.say(.answer(.sent(message: 6, recipients: 1), to: stage.service.nextRequestID))
        #expect(stage.take().isEmpty)
        stage.node.release()
        let refusals = stage.take()
        #expect(refusals.count == 1 && refusals.first?.contains(#""code":"queue-full""#) == true)
        #expect(refusals.first?.contains(#""id":1,"#) == true)
        stage.node.release()
        #expect(stage.take() == [#"{"on":"sent","chat":"kitchen","message":7,"to":1,"id":2}"#])
    }

    // A-27
    @Test("one that wants neither presence nor notices is told neither by a join")
    func unwanted() {
        let stage = Stage()
        _ = stage.take()
        stage.node.people = ["kitchen": [Somebody.peer(Somebody.bob)]]
        stage.write(#"{"do":"subscribe","events":["message"]}"# + "\n" + #"{"do":"join","chat":"kitchen"}"#)
        #expect(stage.take().isEmpty)
    }

    // A-9
    @Test("a name that nobody can have is refused by the word for it")
    func names() {
        let stage = Self.inKitchen()
        let long = String(repeating: "x", count: 65)
        stage.node.answers[.rename("")] = .failed(.name(.empty))
        stage.node.answers[.rename(long)] = .failed(.name(.tooLong(bytes: 65, maximum: 64)))
        for name in ["", long] {
            stage.write(#"{"do":"nick","name":"\#(name)","id":1}"#)
            let lines = stage.take()
            #expect(lines.count == 1 && lines.first?.contains(#""code":"bad-name""#) == true, "\(lines)")
        }
        stage.write(#"{"do":"nick","id":2}"#)
        #expect(stage.take().first?.contains(#""code":"bad-command""#) == true)
    }

    // A-31
    @Test("this node leaves nothing out, so ready names nothing; what a node can't do is refused by the word for it")
    func leftOut() throws {
        let key = String(repeating: "B", count: 42) + "A"
        for stream in [JSONInterface.Stream.standard(try Chat("kitchen")), .connection(state: "1:2")] {
            let stage = Stage(stream)
            #expect(stage.take().first?.contains("unsupported") == false)
            for request in [
                #""nick","name":"x""#, #""people""#, #""verify","key":"\#(key)""#, #""unverify","key":"\#(key)""#,
                #""block","key":"\#(key)""#, #""unblock","key":"\#(key)""#, #""sightings","chat":"kitchen""#,
            ] {
                stage.write(#"{"do":\#(request),"id":1}"#)
                let lines = stage.take()
                #expect(lines.count == 1 && lines.first?.contains("unsupported") == false, "\(lines)")
            }
            stage.node.answers[.join(try Chat("attic"), isKept: true)] = .failed(
                .other(code: "unsupported", text: "no"))
            stage.write(#"{"do":"join","chat":"attic","keep":true,"id":2}"#)
            #expect(stage.take() == [#"{"on":"error","code":"unsupported","text":"no","line":8,"id":2}"#])
        }
    }

    // A-10
    @Test("an error carries whom and how much it is about")
    func errors() {
        let stage = Self.inKitchen()
        stage.node.answers[.send("a", chat: "kitchen")] = .failed(.queueFull(Somebody.bob.user))
        stage.node.answers[.send("b", chat: "kitchen")] = .failed(.messageTooLong(bytes: 65_537))
        stage.write(#"{"do":"send","text":"a","tag":"t"}"#)
        #expect(stage.take().first?.hasSuffix(#""line":2,"tag":"t","user":"bbbbbbbbbbbbbbbb"}"#) == true)
        stage.write(#"{"do":"send","text":"b"}"#)
        #expect(stage.take().first?.hasSuffix(#""line":3,"bytes":65537}"#) == true)
    }

    // A-16
    @Test("quit is answered and nothing after it is read; so it is at the end of input, half a line included")
    func ends() {
        let stage = Self.inKitchen()
        stage.write(#"{"do":"quit","id":1}"# + "\n" + #"{"do":"who","id":2}"#)
        #expect(stage.take() == [#"{"on":"ok","id":1}"#] && stage.ends == [.input] && !stage.wantsInput)
        let other = Self.inKitchen()
        other.endInput()
        #expect(other.take().isEmpty && other.ends == [.input])
        other.node.tell(Somebody.message(1))
        #expect(other.take().isEmpty)
    }

    @Test("a program of its own begins with its chat, and its end comes after what that brings")
    func standard() throws {
        let stage = Stage(.standard(try Chat("kitchen")))
        let first = stage.take()
        #expect(first.count == 2 && first.first?.hasPrefix(#"{"on":"ready","#) == true)
        #expect(first.first?.hasSuffix(#""chat":"kitchen","interface":1}"#) == true)
        stage.write(#"{"do":"stop","id":1}"#)
        #expect(stage.take() == [#"{"on":"ok","id":1}"#] && stage.ends == [.input])
        stage.node.tell(.failed(.init(chat: "kitchen", message: 1, user: Somebody.bob.user, why: .quit)))
        stage.node.stop {}
        #expect(stage.take().count == 1 && stage.ends.count == 1)
    }
}
