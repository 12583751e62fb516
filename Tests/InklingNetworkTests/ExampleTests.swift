import Foundation
import Glibc
import Testing

extension NetworkTests {
    /// The programs of Protocol/examples and Sources/Examples, on a host with Bob in the kitchen.
    @Suite("Examples", .serialized, .sideBySide, .long) struct ExampleTests {
        private static let bobAddress = "127.0.0.1:40001"
        private static let directory = "/run/inkling-day"

        /// Runs a host without discovery, with Bob on it.
        private static func withBob(
            named name: String = "Bob", _ body: (Host, NodeProcess) async throws -> Void
        ) async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let bob = try await NodeProcess(
                    name, on: network[0], chat: "kitchen", ["--no-discovery", "--port", "40001"])
                try await body(network[0], bob)
            }
        }

        /// Starts an example that uses the program under test as `inkling`. The example's home directory lasts as long
        /// as the host.
        private static func start(_ program: String, _ arguments: [String], on host: Host) throws -> Child {
            let folder = URL(filePath: try NodeProcess.program()).deletingLastPathComponent()
            let scripts = URL(filePath: #filePath).appending(path: "../../../Protocol/examples").standardized
            let path = (program.contains(".") ? scripts : folder).appending(path: program).path
            return try Child(
                host.command(["env", "-u", "XDG_RUNTIME_DIR", "-u", "XDG_STATE_HOME", path] + arguments),
                environment: ["PATH": "\(folder.path):\(User.searchPath)"])
        }

        /// Waits for a matching line of an example's output.
        private static func wait(
            for what: String, of example: Child, within seconds: Double = 10, where fits: (String) -> Bool
        ) async throws {
            let deadline = now() + seconds
            while !example.output.contains(where: { fits($0.text) }) {
                if now() > deadline || example.ending != nil {
                    let lines = example.output.map(\.text).joined(separator: "\n")
                    throw HarnessError("\(what) was not printed:\n\(lines)\n\(example.errorText)")
                }
                try await pause(0.01)
            }
        }

        private static func wait(forLine line: String, of example: Child) async throws {
            try await wait(for: line, of: example) { $0 == line }
        }

        /// Starts Alice's daemon, which stays in the kitchen, and waits until Bob sees her as away.
        private static func daemon(on host: Host, seenBy bob: NodeProcess) async throws -> Child {
            let program = try NodeProcess.program()
            let daemon = try Child(
                host.command([
                    program, "daemon", "--no-config", "--state-dir", directory, "--name", "Alice", "--no-discovery",
                    "--peer", bobAddress,
                ]))
            try await host.runAsUser(
                """
                for _ in $(seq 200); do
                    \(program) join kitchen --state-dir \(directory) 2>/dev/null && exit
                    sleep 0.05
                done
                exit 1
                """)
            try await bob.wait("Alice") { $0.isPresence("away", of: "Alice") }
            return daemon
        }

        private static func end(_ example: Child, _ signal: Int32) async throws {
            kill(try #require(example.onlyChild), signal)
            #expect(try await example.waitForEnd() == .exited(0), "\(example.errorText)")
        }

        @Test("the app that embeds the library answers a question, is seen typing before, and says goodbye")
        func embedding() async throws {
            try await Self.withBob { host, bob in
                let oracle = try Self.start("inkling-example-embed", ["kitchen", Self.bobAddress], on: host)
                try await bob.wait("Oracle", within: 10) { $0.isPresence("online", of: "Oracle") }
                let mark = bob.mark
                bob.send("I have a question.")
                bob.send("Is it tea time?")
                try await bob.wait("typing", from: mark) { $0.typists == ["Oracle"] }
                let answer = try await bob.wait("the answer", from: mark) { $0.on == "message" }
                #expect(["Yes.", "No.", "Ask again later."].contains(answer.text))
                try await Self.wait(forLine: "Bob: online (hello)", of: oracle)
                try await Self.wait(forLine: "Bob: Is it tea time?", of: oracle)
                let bobsID = try #require(bob.events.first?.user)
                try await Self.wait(forLine: "\(bobsID) has message 1", of: oracle)
                try await Self.end(oracle, SIGINT)
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                #expect(bob.events.count { $0.on == "message" } == 1, "the first message was no question")
            }
        }

        @Test("the bot answers the words that it knows and no others, and says goodbye")
        func bot() async throws {
            try await Self.withBob { host, bob in
                let bot = try Self.start("bot.py", ["kitchen", "--no-discovery", "--peer", Self.bobAddress], on: host)
                try await bob.wait("Bot", within: 10) { $0.isPresence("online", of: "Bot") }
                let mark = bob.mark
                bob.send("!load; reboot")
                bob.send("!load")
                bob.send("!uptime")
                try await bob.wait("typing", from: mark) { $0.typists == ["Bot"] }
                let answer = try await bob.wait("the load", from: mark) { $0.on == "message" }
                #expect(answer.text?.hasPrefix("load: ") == true)
                try await bob.wait("the uptime", from: mark) { $0.text?.hasPrefix("up for ") == true }
                try await Self.wait(forLine: "\(try #require(bob.events.first?.user)) has message 2", of: bot)
                try await Self.end(bot, SIGTERM)
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
            }
        }

        @Test("the shell script sends each line as it is, and says who got it")
        func tell() async throws {
            try await Self.withBob { host, bob in
                let arguments = ["kitchen", "--no-discovery", "--peer", Self.bobAddress]
                let tell = try Self.start("tell.sh", arguments, on: host)
                let lines = [#"50 % of "it" \n is $(done)"#, "-n", "the last"]
                for line in lines { tell.write(line, end: line == lines.last ? "" : "\n") }
                tell.closeInput()
                #expect(try await tell.waitForEndAndOutput(within: 20) == .exited(0), "\(tell.errorText)")
                #expect(tell.output.map(\.text) == lines.map { "1 of 1: \($0)" })
                #expect(bob.events.filter { $0.on == "message" }.map(\.text) == lines)
                try await bob.wait("the end") { $0.presence == "offline" && $0.why == "bye" }
            }
        }

        @Test("the shell script fails if a line can't be sent, or nobody can get it")
        func untold() async throws {
            try await Self.withBob { host, bob in
                let arguments = ["kitchen", "--no-discovery", "--peer", Self.bobAddress]
                let tell = try Self.start("tell.sh", arguments, on: host)
                tell.write(String(repeating: "x", count: 65_537))
                try await Self.wait(for: "the failure", of: tell) { $0.hasPrefix("0 of 0: xxx") }
                bob.quit()
                #expect(try await bob.waitForEnd() == .exited(0))
                tell.write("Is anybody there?")
                tell.closeInput()
                #expect(try await tell.waitForEndAndOutput(within: 20) == .exited(1))
                #expect(tell.output.last?.text.hasSuffix("Is anybody there?") == true)
                #expect(tell.output.last?.text.hasPrefix("0 of ") == true)
                #expect(tell.errorText.contains("error "))
            }
        }

        @Test("the app that attaches is one of its user's front ends, and leaves the daemon behind")
        func attaching() async throws {
            try await Self.withBob { host, bob in
                let arguments = ["kitchen", Self.directory + "/socket"]
                let early = try Self.start("inkling-example-attach", arguments, on: host)
                #expect(try await early.waitForEndAndOutput(within: 10) == .exited(1))
                #expect(early.errorText.contains("Start it with: inkling daemon"))

                let daemon = try await Self.daemon(on: host, seenBy: bob)
                bob.send("Is anybody there?")
                try await bob.wait("the delivery") { $0.on == "delivered" }
                let mark = bob.mark
                let app = try Self.start("inkling-example-attach", arguments, on: host)
                for line in ["attached as Alice", "there: Bob", "Bob: Is anybody there?"] {
                    try await Self.wait(forLine: line, of: app)
                }
                try await bob.wait("Alice is back", from: mark) { $0.isPresence("online", of: "Alice") }
                let chats = "\(try NodeProcess.program()) chats --state-dir \(Self.directory)"
                let status = try await host.runAsUser(chats)
                #expect(status.hasPrefix("kitchen (open): 1 there") && status.hasSuffix("kept"), "\(status)")
                #expect(!status.contains("unread"), "\(status)")
                app.write("I am.")
                try await bob.wait("the message", from: mark) { $0.on == "message" && $0.text == "I am." }
                for line in ["sent to 1", "delivered"] { try await Self.wait(forLine: line, of: app) }
                bob.compose("And")
                try await Self.wait(forLine: "Bob is typing", of: app)
                app.closeInput()
                #expect(try await app.waitForEnd() == .exited(0), "\(app.errorText)")
                try await bob.wait("Alice is away", from: mark, within: 10) { $0.isPresence("away", of: "Alice") }
                try await Self.end(daemon, SIGTERM)
            }
        }

        @Test("the status bar shows typing and what waits, harmless, without its user looking present")
        func statusBar() async throws {
            try await Self.withBob(named: "x<b>#[blink]") { host, bob in
                let socket = ["--socket", Self.directory + "/socket"]
                let bar = try Self.start("status_bar.py", socket, on: host)
                let tmux = try Self.start("status_bar.py", socket + ["--tmux"], on: host)
                // Python starts slowly while other suites keep the processors busy.
                try await Self.wait(for: "an empty bar", of: bar, within: 30) { $0.contains(#""text": """#) }
                let daemon = try await Self.daemon(on: host, seenBy: bob)
                let mark = bob.mark
                // The examples find the daemon within 2 s.
                try await pause(2.5)
                bob.compose("Is")
                try await Self.wait(for: "typing", of: bar) {
                    $0.contains(##""full_text": "x&lt;b&gt;#[blink] is typing""##)
                }
                try await Self.wait(forLine: "x<b>##[blink] is typing", of: tmux)
                bob.send("Is anybody there?")
                try await Self.wait(for: "a message", of: bar) { $0.contains(#""text": "1 in kitchen""#) }
                try await Self.wait(forLine: "1 in kitchen", of: tmux)
                #expect(bob.events.dropFirst(mark).allSatisfy { $0.on != "peer" }, "nobody came or went for it")
                let lines = tmux.outputCount
                try await Self.end(daemon, SIGTERM)
                try await Self.wait(for: "the end", of: tmux) { _ in tmux.output(from: lines).last?.text == "" }
                for example in [bar, tmux] { try await Self.end(example, SIGINT) }
            }
        }
    }
}
