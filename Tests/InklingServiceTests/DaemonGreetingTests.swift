import InklingService
import InklingModel
import Testing

@Suite("The first line of a daemon")
struct DaemonGreetingTests {
    private static func greeting(_ line: String) -> DaemonGreeting? { DaemonGreeting(line: Array(line.utf8)) }

    // A-1, A-15
    @Test("it says whose daemon it is, of which version, and on which port; what is new in it does not matter")
    func ready() {
        let line =
            #"{"on":"ready","at":1.5,"user":"aaaaaaaaaaaaaaaa","name":"A","port":7000,"version":"0.9.1","key":"k","#
            + #""interface":1,"state":"1:2","mood":"fine"}"#
        let ready = DaemonGreeting.Ready(state: "1:2", version: "0.9.1", interface: 1, port: 7_000)
        #expect(Self.greeting(line) == .ready(ready))
        #expect(ready.obstacle(state: "1:2") == nil && ready.obstacle(state: nil) == nil)
        #expect(ready.obstacle(state: "1:3") == .otherState("1:2"))
    }

    // A-1
    @Test("a later interface is not used, and it is known which version has it; an earlier one is")
    func interface() {
        func ready(_ interface: Int) -> DaemonGreeting.Ready {
            DaemonGreeting.Ready(state: "1:2", version: "2.0.0", interface: interface, port: 1)
        }
        #expect(ready(interfaceVersion + 1).obstacle(state: nil) == .newerInterface(2, version: "2.0.0"))
        #expect(ready(interfaceVersion + 1).obstacle(state: "x") == .otherState("1:2"), "it is none of ours anyway")
        #expect(ready(0).obstacle(state: nil) == nil)
    }

    // A-17
    @Test("a daemon that serves nobody says why")
    func refusal() {
        #expect(
            Self.greeting(#"{"on":"error","code":"state-in-use","text":"No."}"#)
                == .refusal(.other(code: "state-in-use", text: "No.")))
    }

    @Test(
        "what else may listen there is no daemon",
        arguments: [
            "", "HTTP/1.1 400 Bad Request", "{}", #"{"on":"hello"}"#, #"{"on":"ready"}"#,
            #"{"on":"ready","state":"1:2","interface":"1","port":1}"#,
            #"{"on":"ready","state":"1:2","interface":1,"port":70000}"#, "\u{FFFD}",
        ])
    func others(_ line: String) {
        #expect(Self.greeting(line) == nil)
    }
}
