import Glibc
import Testing

extension NetworkTests {
    @Suite("Standard input and output", .serialized, .sideBySide) struct StreamTests {
        /// Runs a shell script to its end, with the program as `$0`.
        private static func shell(_ script: String, on host: Host) async throws -> CommandTests.Answer {
            let child = try Child(
                host.command(["sh", "-c", script, try NodeProcess.program()]),
                environment: ["XDG_CONFIG_HOME": "/run/config", "XDG_STATE_HOME": "/run/state"])
            child.closeInput()
            let ending = try await child.waitForEndAndOutput(within: 10)
            return CommandTests.Answer(
                ending: ending, text: child.output.map(\.text).joined(separator: "\n"), errors: child.errorText)
        }

        @Test("output that can't be written is a failure, and one that nobody reads ends a watch")
        func output() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                for place in [">/dev/full", ">&-"] {
                    for command in ["invite team", "peers --json --wait 0.1 --no-discovery"] {
                        let answer = try await StreamTests.shell("\"$0\" \(command) \(place)", on: network[0])
                        #expect(answer.ending == .exited(1), "\(command) \(place)")
                        #expect(answer.errors.contains("the output can't be written"), "\(answer.errors)")
                    }
                }
                let copy = try await StreamTests.shell(
                    """
                    "$0" identity export - 2>/dev/null | XDG_STATE_HOME=/run/other "$0" identity import - >/dev/null
                    cmp /run/state/inkling/identity /run/other/inkling/identity && test ! -e ./- && echo same
                    """, on: network[0])
                #expect(copy.text == "same", "\(copy.errors)")
                let watched = try await StreamTests.shell(
                    "{ \"$0\" watch --no-discovery; echo $? >&2; } | head -n 1", on: network[0])
                #expect(watched.ending == .exited(0) && watched.errors.hasSuffix("\n0"), "\(watched.errors)")
            }
        }

        /// Runs Alice's program with shell redirections. Alice chats with Bob on the same host.
        private static func chat(_ redirections: String, on host: Host) async throws -> CommandTests.Answer {
            let alice = "--name Alice --no-discovery --peer 127.0.0.1:40001"
            return try await shell("\"$0\" chat kitchen \(alice) \(redirections)", on: host)
        }

        private static func bob(on host: Host) async throws -> NodeProcess {
            try await NodeProcess("Bob", on: host, chat: "kitchen", ["--no-discovery", "--port", "40001"])
        }

        // Reading such an end never blocks. The program must still leave time for the network.
        @Test("the lines of a file reach a peer in order, also a last one without a newline, and then a goodbye")
        func fileAsInput() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let lines = (1...500).map { "line \($0)" } + ["the last"]
                try await network[0].run("{ seq -f 'line %.0f' 500; printf 'the last'; } >/run/lines")
                let bob = try await StreamTests.bob(on: network[0])
                let answer = try await StreamTests.chat("</run/lines", on: network[0])
                #expect(answer.ending == .exited(0) && answer.errors.isEmpty, "\(answer)")
                #expect(answer.text.contains("Bob is here"), "\(answer)")
                try await bob.wait("Alice's goodbye") { $0.isPresence("offline", of: "Alice") && $0.why == "bye" }
                #expect(bob.events.filter { $0.on == "message" }.map { $0.text ?? "" } == lines)
                let mark = bob.mark
                let empty = try await StreamTests.chat("</dev/null", on: network[0])
                #expect(empty.ending == .exited(0) && empty.errors.isEmpty && empty.text.contains("Bob is here"))
                try await bob.wait("another goodbye", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                let presences = bob.events.filter { $0.on == "peer" }.map(\.presence)
                #expect(presences == ["online", "offline", "online", "offline"])
            }
        }

        // J-6, J-10
        @Test("what is open at the end is told, however much it is; what comes after quit changes nothing")
        func end() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
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

        @Test(
            "a chat whose output can't be written says so in one line, and fails",
            arguments: ["</dev/null", "</run/lines", "<>/run/pipe"])
        func fullOutput(input: String) async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                // A pipe that is also open for writing never ends.
                try await network[0].runAsUser("seq 500 >/run/lines; mkfifo /run/pipe")
                _ = try await StreamTests.bob(on: network[0])
                for words in ["", "--json "] {
                    let answer = try await StreamTests.chat("\(words)\(input) >/dev/full", on: network[0])
                    #expect(answer.ending == .exited(1), "\(words)")
                    #expect(
                        answer.errors == "inkling: the output can't be written (No space left on device)",
                        "\(words)\(answer.errors)")
                }
            }
        }
    }
}
