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

        @Test(
            "output that can't be written is a failure, and one that nobody reads ends a watch",
            .standalone("it is about the commands' own output"))
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

        private static let alice = ["--name", "Alice", "--no-discovery", "--peer", "127.0.0.1:40001"]

        /// Runs Alice's program with shell redirections. Alice chats with Bob on the same host.
        private static func chat(_ redirections: String, on host: Host) async throws -> CommandTests.Answer {
            guard isAttached else {
                return try await shell("\"$0\" chat kitchen \(alice.joined(separator: " ")) \(redirections)", on: host)
            }
            let state = ["--state-dir", "/run/inkling-Alice"]
            let daemon = try await DaemonProcess(
                on: host, socket: "/run/inkling-Alice/socket", alice + state + ["--no-config"])
            let answer = try await shell(
                "\"$0\" chat kitchen --attach \(state.joined(separator: " ")) \(redirections)", on: host)
            daemon.signal(SIGTERM)
            #expect(try await daemon.waitForEnd() == .exited(0), "\(daemon.errorText)")
            return answer
        }

        private static func bob(on host: Host) async throws -> NodeProcess {
            try await NodeProcess("Bob", on: host, chat: "kitchen", ["--no-discovery", "--port", "40001"])
        }

        // Reading such an end never blocks. The program must still leave time for the network.
        @Test("a chat whose input has nothing in it comes online, says goodbye and ends well")
        func emptyInput() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let bob = try await StreamTests.bob(on: network[0])
                let answer = try await StreamTests.chat("</dev/null", on: network[0])
                #expect(answer.ending == .exited(0) && answer.errors.isEmpty, "\(answer)")
                #expect(answer.text.contains("Bob is here"), "\(answer)")
                let left = try await bob.wait("Alice's goodbye") { $0.isPresence("offline", of: "Alice") }
                #expect(left.why == "bye")
                // No person looks at a pipe, so the user of a daemon stays away (A-26).
                let coming = isAttached ? "away" : "online"
                #expect(bob.events.filter { $0.on == "peer" }.map(\.presence) == [coming, "offline"])
            }
        }

        @Test("the lines of a file reach a peer in order, also a last one without a newline")
        func fileAsInput() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let lines = (1...500).map { "line \($0)" } + ["the last"]
                try await network[0].run("{ seq -f 'line %.0f' 500; printf 'the last'; } >/run/lines")
                let bob = try await StreamTests.bob(on: network[0])
                let answer = try await StreamTests.chat("</run/lines", on: network[0])
                #expect(answer.ending == .exited(0) && answer.errors.isEmpty, "\(answer)")
                try await bob.wait("Alice's goodbye") { $0.isPresence("offline", of: "Alice") && $0.why == "bye" }
                #expect(bob.events.filter { $0.on == "message" }.map { $0.text ?? "" } == lines)
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
                // A daemon's first line comes only after such an input has ended, so no output is lost.
                let isHarmless = isAttached && input == "</dev/null"
                for words in isHarmless ? ["--json "] : ["", "--json "] {
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
