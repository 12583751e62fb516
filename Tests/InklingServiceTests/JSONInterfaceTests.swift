import InklingService
import InklingModel
import Testing

/// The path of requests and answers between bytes and a node, and their order.
@Suite("The JSON interface")
struct JSONInterfaceTests {
    /// An interface over a node that the tests control.
    private final class Stage {
        let service = ServiceStage()
        var node: FakeNode { service.node }
        private var interface: JSONInterface?
        private(set) var lines: [String] = []
        private(set) var ends: [JSONInterface.End] = []

        init(_ stream: JSONInterface.Stream = .connection(state: "1:2")) {
            let frontEnd = service.frontEnd().service
            let interface = JSONInterface(
                frontEnd, stream, texts: DaemonStage.texts,
                write: { [unowned self] in lines.append(String(decoding: $0.dropLast(), as: UTF8.self)) },
                ended: { [unowned self] in ends.append($0) })
            self.interface = interface
            frontEnd.attach { interface.receive($0) }
            interface.begin()
        }

        func write(_ text: String) { interface?.receive(Array((text + "\n").utf8)) }
        func receive(_ output: ServiceOutput) { interface?.receive(output) }
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
        #expect(requests.last == .send("x", chat: "kitchen"))
        for chat in ["kitchen", "hall"] { stage.node.tell(Somebody.message(1, in: chat)) }
        #expect(!stage.service.service.isUnseen("kitchen") && stage.service.service.isUnseen("hall"))
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
        stage.receive(.answer(.sent(message: 6, recipients: 1), to: RequestID()))
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
        stage.write(#"{"do":"send","text":"x"}"#)
        #expect(stage.take().count == 1)
        stage.write(#"{"do":"stop","id":1}"#)
        #expect(stage.take() == [#"{"on":"ok","id":1}"#] && stage.ends == [.input])
        stage.node.tell(.failed(.init(chat: "kitchen", message: 1, user: Somebody.bob.user, why: .quit)))
        stage.node.stop {}
        #expect(stage.take().count == 1 && stage.ends.count == 1)
    }
}
