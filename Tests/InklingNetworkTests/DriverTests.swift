import Glibc
import Testing

extension NetworkTests {
    @Suite("JSON lines", .serialized, .sideBySide) struct DriverTests {
        private static let alone = Network.Options(hosts: 1, discovery: false)

        /// Runs two nodes on one host. Each knows the other's address.
        private static func pair(_ body: (NodeProcess, NodeProcess) async throws -> Void) async throws {
            try await Network.with(alone) { network in
                let alice = try await NodeProcess("Alice", on: network[0], ["--no-discovery", "--port", "40001"])
                let bob = try await NodeProcess(
                    "Bob", on: network[0], ["--no-discovery", "--peer", "127.0.0.1:40001"])
                try await waitUntilAllOnline([alice, bob])
                try await body(alice, bob)
            }
        }

        // J-1, J-2, J-3, J-5, J-6, J-7, J-8
        @Test("what one writes the other reads: typing with its text, messages unchanged, and what became of them")
        func conversation() async throws {
            try await DriverTests.pair { alice, bob in
                let marks = (alice.mark, bob.mark)
                alice.compose("h")
                let typing = try await bob.waitForTyping(of: alice, from: marks.1)
                #expect(typing.text == "Alice is typing")
                let text = "\u{1b}[2Ja \"b\"\n\u{202e}ü🖋\u{0}"
                alice.tell(["do": "send", "text": text, "tag": "a1"])
                let sent = try await alice.wait("sent", from: marks.0) { $0.on == "sent" }
                #expect(sent.tag == "a1")
                #expect(sent.to == 1)
                let message = try await bob.wait("the message", from: marks.1) { $0.on == "message" }
                #expect(message.text == text)
                #expect(message.from?.user == alice.events.first?.user)
                let delivered = try await alice.wait("delivered", from: marks.0) { $0.on == "delivered" }
                #expect(delivered.message == sent.message)
                let end = try await bob.waitForTyping(of: alice, false, from: marks.1)
                #expect(end.text == "")
                for node in [alice, bob] {
                    #expect(node.events.first?.on == "ready")
                    #expect(node.events.allSatisfy { $0.on != "unreadable" && abs($0.at - now()) < 60 })
                    #expect(node.events.count { $0.on == "ready" } == 1)
                }
            }
        }

        // J-6, J-10
        @Test(
            "what is open at the end is told, however much it is; what comes after quit changes nothing",
            .standalone("a front end is not told what becomes of its messages after its end (A-16)"))
        func end() async throws {
            try await Network.with(DriverTests.alone) { network in
                let ports = (40_001...40_005).map { "\($0)" }
                var peers: [NodeProcess] = []
                for port in ports {
                    peers.append(
                        try await NodeProcess("Peer\(port)", on: network[0], ["--no-discovery", "--port", port]))
                }
                let alice = try await NodeProcess(
                    "Alice", on: network[0], ["--no-discovery"] + ports.flatMap { ["--peer", "127.0.0.1:" + $0] })
                for peer in peers { try await alice.waitForPresence("online", of: peer) }
                for peer in peers { try peer.signal(SIGSTOP) }
                for number in 0..<14_000 { alice.write(#"{"do":"send","text":"\#(number)"}"#) }
                alice.tell(["do": "quit"])
                alice.write("late")
                alice.endInput()
                let deadline = now() + 30
                while alice.ending == nil, now() < deadline { try await pause(0.01) }
                #expect(alice.ending == .exited(0), "\(alice.errorText)")
                try await pause(0.2)
                let recipients = alice.events.filter { $0.on == "sent" }.reduce(0) { $0 + ($1.to ?? 0) }
                #expect(recipients > 0 && alice.count(of: "failed") + alice.count(of: "delivered") == recipients)
                figure("messages open at the end: \(recipients)")
            }
        }
    }
}
