import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("The daemon and the commands that use it", .serialized, .sideBySide) struct DaemonCommandTests {
        private static let directory = "/run/inkling-day"

        /// Runs a command to its end, with the daemon's state directory.
        private static func inkling(
            _ arguments: [String], on host: Host, input: [String] = []
        ) async throws -> (status: Child.Ending, text: String, errors: String, json: [String: Any]) {
            let child = try Child(
                host.command([try NodeProcess.program()] + arguments + ["--state-dir", directory]),
                environment: ["XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool"])
            input.forEach { child.write($0) }
            child.closeInput()
            let ending = try await child.waitForEndAndOutput(within: 20)
            let text = child.output.map(\.text).joined(separator: "\n")
            let json = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
            return (ending, text, child.errorText, json ?? [:])
        }

        /// Starts a daemon called Alice, and waits until it serves front ends.
        private static func daemon(
            on host: Host, _ arguments: [String] = [], environment: [String: String] = [:]
        ) async throws -> Child {
            let child = try Child(
                host.command(
                    [
                        try NodeProcess.program(), "daemon", "--state-dir", directory, "--name", "Alice",
                        "--no-discovery", "--peer", "127.0.0.1:40001",
                    ] + arguments),
                environment: ["XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool"].merging(environment) { $1 })
            let deadline = now() + 5
            while try await inkling(["status"], on: host).status != .exited(0) {
                if now() > deadline { throw HarnessError("no daemon: \(child.errorText)") }
                try await pause(0.05)
            }
            return child
        }

        private static func end(_ daemon: Child, _ signal: Int32 = SIGTERM) async throws {
            kill(try #require(daemon.onlyChild), signal)
            daemon.closeInput()
            #expect(try await daemon.waitForEnd() == (signal == SIGKILL ? .signalled(SIGKILL) : .exited(0)))
        }

        private static func bob(on host: Host) async throws -> NodeProcess {
            try await NodeProcess("Bob", on: host, chat: "kitchen", ["--no-discovery", "--port", "40001"])
        }

        @Test("commands use the daemon that runs, at once, and are told what only the daemon can be told")
        func commands() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                func inkling(_ arguments: String...) async throws -> (
                    status: Child.Ending, text: String, errors: String, json: [String: Any]
                ) { try await Self.inkling(arguments, on: host) }
                let none = try await inkling("status", "--json")
                #expect(none.status == .exited(3) && none.json["running"] as? Bool == false)
                #expect(try await inkling("send", "kitchen", "hi", "--attach").status == .exited(1))
                let bob = try await Self.bob(on: host)
                let daemon = try await Self.daemon(on: host)
                #expect(try await inkling("join", "kitchen").status == .exited(0))
                try await bob.wait("Alice") { $0.on == "peer" && $0.presence == "away" }
                // After this time the daemon has found all people.
                try await pause(3)

                let mark = bob.mark
                let start = now()
                let sent = try await inkling("send", "kitchen", "tea is ready")
                #expect(sent.status == .exited(0) && sent.text == "Delivered to Bob", "\(sent.errors)")
                let peers = try await inkling("peers", "kitchen")
                #expect(peers.text.hasPrefix("Bob ("), "\(peers.errors)")
                #expect(try await inkling("watch", "kitchen", "--once").text == "")
                #expect(now() - start < 1.5, "each of them alone takes longer without a daemon")
                let message = try await bob.wait("the message", from: mark) { $0.on == "message" }
                #expect(message.text == "tea is ready" && message.from?.name == "Alice")
                #expect(bob.events.dropFirst(mark).allSatisfy { $0.on != "peer" }, "nobody came or went for it")

                let status = try await inkling("status", "--json")
                let version = try await host.runAsUser("\(try NodeProcess.program()) --version")
                #expect(version.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+/) != nil, "it is \(version)")
                #expect(status.json["version"] as? String == version && status.json["program"] as? String == version)
                #expect(bob.events.first?.version == version)
                let chats = try #require(status.json["chats"] as? [[String: Any]])
                #expect(status.json["name"] as? String == "Alice" && chats.count == 1)
                #expect(try await inkling("status").text.contains(#/\nAlice, (active|away), port [0-9]+\n/#))
                #expect(chats[0]["chat"] as? String == "kitchen" && chats[0]["kept"] as? Bool == true)

                for wrong in [
                    ["send", "kitchen", "hi", "--port", "5"], ["peers", "--name", "Mallory"],
                    ["chat", "kitchen", "--standalone"],
                ] {
                    let answer = try await Self.inkling(wrong, on: host)
                    #expect(answer.status == .exited(64), "\(answer.errors)")
                    #expect(answer.errors.contains("a daemon runs") || answer.errors.contains("a daemon or a chat"))
                }
                let second = try await inkling("daemon", "--no-discovery")
                #expect(second.status == .exited(1) && second.errors.contains("is running already"))
                let alone = try await inkling(
                    "send", "kitchen", "hello", "--standalone", "--no-discovery", "--peer", "127.0.0.1:40001")
                #expect(
                    alone.status == .exited(1) && alone.errors.contains("another program of yours"), "\(alone.errors)")

                try await Self.end(daemon)
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                #expect(try await inkling("status").status == .exited(3))
            }
        }

        @Test("a daemon that answers nothing more is not waited for longer than 5 s, and each command says so")
        func silent() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let daemon = try await Self.daemon(on: host)
                // The relay greets like the daemon and then falls silent. If that file exists, it closes the
                // connection.
                let relay = try Child(
                    host.command([
                        "python3", "-c",
                        """
                        import os, socket
                        path = "\(Self.directory)/socket"
                        os.rename(path, path + ".real")
                        server = socket.socket(socket.AF_UNIX)
                        server.bind(path)
                        server.listen(16)
                        kept = []
                        while True:
                            front, _ = server.accept()
                            back = socket.socket(socket.AF_UNIX)
                            back.connect(path + ".real")
                            lines = back.makefile("rb")
                            front.sendall(lines.readline())
                            if os.path.exists("/run/goes"):
                                front.recv(1000)
                                front.close()
                                continue
                            back.sendall(b'{"do":"identity","id":0}\\n')
                            front.sendall(lines.readline())
                            kept += [front, back]
                        """,
                    ]))
                let deadline = now() + 5
                while try await host.run("ls \(Self.directory)/socket.real 2>/dev/null || :").isEmpty {
                    if now() > deadline { throw HarnessError("nothing is in between: \(relay.errorText)") }
                    try await pause(0.05)
                }
                let commands = [
                    ["status"], ["send", "kitchen", "hi"], ["peers", "kitchen"], ["watch", "kitchen", "--once"],
                    ["join", "kitchen"], ["chats"],
                ]
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for command in commands {
                        group.addTask {
                            let answer = try await Self.inkling(command, on: host)
                            #expect(answer.status == .exited(command == ["status"] ? 4 : 1), "\(command)")
                            #expect(answer.errors.contains("the daemon does not answer"), "\(answer.errors)")
                        }
                    }
                    try await group.waitForAll()
                }
                try await host.run("touch /run/goes")
                let answer = try await Self.inkling(["status", "--json"], on: host)
                #expect(answer.status == .exited(4) && answer.json["answers"] as? Bool == false)
                #expect(answer.errors.contains("does not answer"), "\(answer.errors)")
                kill(try #require(relay.onlyChild), SIGKILL)
                relay.closeInput()
                _ = try await relay.waitForEnd()
                try await Self.end(daemon)
            }
        }

        //
        @Test("a daemon joins a look-alike of a private chat only by its name, and again after a restart")
        func similarName() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let alike = "inkling:f%D0%B0mily#baaaaaaaaaaaaaaaaaaaaaaaaa"
                func inkling(_ arguments: String...) async throws -> (status: Child.Ending, text: String) {
                    let answer = try await Self.inkling(arguments, on: host)
                    return (answer.status, answer.text + answer.errors)
                }
                var daemon = try await Self.daemon(on: host)
                #expect(try await inkling("join", "inkling:family#aaaaaaaaaaaaaaaaaaaaaaaaaa").status == .exited(0))
                for command in [["join"], ["chat", "--plain", "--attach"], ["chat", "--json", "--attach"]] {
                    let refused = try await Self.inkling(command + [alike], on: host)
                    #expect(
                        refused.status == .exited(1)
                            && (refused.text + refused.errors).contains("another private chat of yours"),
                        "\(command) \(refused)")
                }
                #expect(try await inkling("join", "f\u{430}mily", "--invite", alike).status == .exited(0))
                try await Self.end(daemon)
                daemon = try await Self.daemon(on: host)
                let chats = try await Self.inkling(["chats", "--json"], on: host).json["chats"] as? [[String: Any]]
                #expect(chats?.compactMap { $0["chat"] as? String } == ["family", "f\u{430}mily"])
                try await Self.end(daemon)
            }
        }

        @Test("what comes while nobody looks waits, is counted, starts the hook, and shows at the next prompt")
        func waiting() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                try await host.run(
                    """
                    mkdir -p /run/config/inkling
                    cat >/run/hook <<'END'
                    #!/bin/sh
                    printf '%s %s/%s/%s\\n' "$(date +%s.%N)" "$INKLING_CHAT" "$INKLING_NAME" "$INKLING_TEXT" >>/run/told
                    END
                    chmod 755 /run/hook
                    echo 'on-message = ["/run/hook"]' >/run/config/inkling/config.toml
                    """)
                let bob = try await Self.bob(on: host)
                let daemon = try await Self.daemon(on: host)
                _ = try await Self.inkling(["join", "kitchen"], on: host)
                try await bob.wait("Alice") { $0.on == "peer" && $0.presence == "away" }
                // After this time the daemon has found all people.
                try await pause(3)
                bob.send("is the kettle on?")
                bob.send("hello?")
                try await bob.wait("the delivery") { $0.on == "delivered" && $0.message == 2 }
                let chats = try await Self.inkling(["chats"], on: host)
                #expect(chats.text == "kitchen (open): 1 there, 2 unread, kept")

                let terminal = try await RealTerminal(on: host)
                try await terminal.type("\(try NodeProcess.program()) chat kitchen --state-dir \(Self.directory)")
                try await terminal.press("Enter")
                try await terminal.wait("what waited") { screen in
                    screen.has("Bob: is the kettle on?") && screen.has("Bob: hello?") && screen.has("new messages")
                }
                try await pause(0.5)
                #expect(try await Self.inkling(["chats"], on: host).text == "kitchen (open): 1 there, kept")
                // The prompt may take over 2 s to start. The hook then tells the second message too.
                let told = try await host.run("cat /run/told").split(separator: "\n").map { $0.split(separator: " ") }
                #expect(told[0].dropFirst() == ["kitchen/Bob/is", "the", "kettle", "on?"])
                let times = told.compactMap { $0.first.flatMap { Double($0) } }
                #expect(times.count == 1 || times.count == 2 && times[1] - times[0] >= 1.9, "\(told)")
                try await Self.end(daemon)
            }
        }

        //
        @Test("who asks for people right after the daemon joined a chat waits for them, or hears that it still looks")
        func looking() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let daemon = try await Self.daemon(on: host, ["--port", "40002"])
                let join = try await Self.inkling(["join", "kitchen"], on: host)
                #expect(join.text.contains("still looking for others. To see who is there: inkling peers kitchen"))
                #expect(try await Self.inkling(["chats"], on: host).text == "kitchen (open): still looking, kept")
                async let peers = Self.inkling(["peers", "kitchen"], on: host)
                async let sent = Self.inkling(["send", "kitchen", "tea"], on: host)
                try await pause(0.5)
                let bob = try await NodeProcess(
                    "Bob", on: host, chat: "kitchen", ["--no-discovery", "--peer", "127.0.0.1:40002"])
                let (listed, delivered) = (try await peers, try await sent)
                #expect(listed.text.hasPrefix("Bob ("), "\(listed.errors)")
                #expect(delivered.text == "Delivered to Bob", "\(delivered.errors)")
                try await pause(1)
                #expect(try await Self.inkling(["chats"], on: host).text == "kitchen (open): 1 there, kept")
                let start = now()
                #expect(try await Self.inkling(["peers", "kitchen"], on: host).text.hasPrefix("Bob ("))
                #expect(now() - start < 1, "the daemon knows by now")
                bob.quit()
                try await Self.end(daemon)
            }
        }

        @Test("stop ends the daemon and waits for that; what is kept is there at the next start")
        func stop() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let none = try await Self.inkling(["stop"], on: host)
                #expect(none.status == .exited(0) && none.errors.contains("no daemon is running"))
                let bob = try await Self.bob(on: host)
                let daemon = try await Self.daemon(on: host)
                _ = try await Self.inkling(["join", "kitchen"], on: host)
                try await bob.wait("Alice") { $0.on == "peer" && $0.presence == "away" }
                bob.send("anybody?")
                try await bob.wait("the delivery") { $0.on == "delivered" }
                #expect(try await Self.inkling(["status"], on: host).text.contains("\nAlice, away, port "))
                let stop = try await Self.inkling(["stop"], on: host)
                #expect(
                    stop.text == "The daemon has ended\nKept for the next start: kitchen\n1 unread message is lost",
                    "\(stop.errors)")
                #expect(try await daemon.waitForEnd() == .exited(0))
                try await bob.wait("a goodbye") { $0.presence == "offline" && $0.why == "bye" }
                #expect(try await Self.inkling(["status"], on: host).status == .exited(3))
                let second = try await Self.daemon(on: host)
                #expect(try await Self.inkling(["chats"], on: host).text.hasPrefix("kitchen (open): "))
                try await Self.end(second)
            }
        }

        // R26, L-30, J-15
        @Test(
            "what is sent while the daemon stands still arrives afterwards, and what came meanwhile was written earlier"
        )
        func standstill() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let daemon = try await Self.daemon(on: host)
                let process = try #require(daemon.onlyChild)
                let terminal = try await RealTerminal(on: host)
                try await terminal.type("\(try NodeProcess.program()) chat kitchen --state-dir \(Self.directory)")
                try await terminal.press("Enter")
                try await terminal.wait("Bob") { $0.has("* Bob is here") }
                try await pause(1)
                kill(process, SIGSTOP)
                try await bob.wait("silence", within: 6) { $0.presence == "offline" && $0.why == "silence" }
                try await terminal.type("are you there?")
                try await terminal.press("Enter")
                try await terminal.wait("the wait") { $0.has("waits until it does") }
                let mark = bob.mark
                // The signal also stopped the wrapper process in front of the daemon.
                kill(process, SIGCONT)
                daemon.signal(SIGCONT)
                try await bob.wait("the message", from: mark) { $0.on == "message" && $0.text == "are you there?" }
                // A delivery after more than a second gets its own line. Which end opens the link depends on the keys.
                try await terminal.wait("the delivery") {
                    $0.has("are you there?  (delivered)") || $0.has("* Delivered: are you there?")
                }
                try await pause(1)
                kill(process, SIGSTOP)
                bob.send("hello?")
                try await bob.wait("the failure", from: mark, within: 6) { $0.on == "failed" }
                // The signal also stopped the wrapper process in front of the daemon.
                kill(process, SIGCONT)
                daemon.signal(SIGCONT)
                try await terminal.wait("what waited") { $0.has("Bob: hello?  (written earlier)") }
                try await Self.end(daemon)
            }
        }

        // R35, A-13
        @Test("a front end of another user is turned away, which the log says, and the user's own go on")
        func otherUser() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let daemon = try await Self.daemon(on: host)
                // Normally the modes of the directory and the socket stop other users. Here their connections reach the
                // daemon.
                try await host.run("chmod 755 \(Self.directory) && chmod 666 \(Self.directory)/socket")
                let other = try Child(
                    host.rootCommand(
                        User.command(
                            [try NodeProcess.program(), "chats", "--state-dir", Self.directory], id: 65_534)),
                    environment: ["HOME": "/run", "XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool"])
                other.closeInput()
                #expect(try await other.waitForEndAndOutput(within: 20) == .exited(1))
                #expect(other.errorText.contains("another user"), "\(other.errorText)")
                let log = "a front end of another user was turned away (user ID 65534)"
                // The daemon may accept a connection after its other end closed, so the log comes later.
                let deadline = now() + 5
                while !daemon.errorText.contains(log), now() < deadline { try await pause(0.01) }
                #expect(daemon.errorText.contains(log), "\(daemon.errorText)")
                #expect(try await Self.inkling(["status"], on: host).status == .exited(0))
                try await Self.end(daemon)
            }
        }

        @Test("a prompt outlives its daemon: the draft stays, and it goes on with the next one")
        func survival() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let first = try await Self.daemon(on: host)
                let terminal = try await RealTerminal(on: host)
                try await terminal.type("\(try NodeProcess.program()) chat kitchen --state-dir \(Self.directory)")
                try await terminal.press("Enter")
                try await terminal.wait("Bob") { $0.has("* Bob is here") }
                try await terminal.type("half a sen")
                try await bob.wait("typing") { $0.typists == ["Alice"] }
                let mark = bob.mark
                try await Self.end(first, SIGKILL)
                try await terminal.wait("the loss") {
                    $0.has("The daemon has ended.") && $0.last?.hasSuffix("half a sen") == true
                }
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "will" }
                let second = try await Self.daemon(on: host)
                try await terminal.wait("the return") { $0.has("* The daemon is back") }
                try await bob.wait("Alice", from: mark) { $0.presence == "online" }
                try await terminal.type("tence")
                try await terminal.press("Enter")
                try await bob.wait("the message", from: mark) { $0.on == "message" && $0.text == "half a sentence" }
                try await Self.end(second)
            }
        }

        /// Starts Alice's prompt in a new terminal.
        private static func prompt(on host: Host, home: String, _ options: String = "") async throws -> RealTerminal {
            let terminal = try await RealTerminal(on: host, home: home)
            try await terminal.type(
                "\(try NodeProcess.program()) chat kitchen --state-dir \(directory) \(options)")
            try await terminal.press("Enter")
            return terminal
        }

        private static let ownNode = "--name Alice --no-discovery --peer 127.0.0.1:40001"

        //
        @Test(
            "a prompt's user is one person for all programs: a second prompt, send, peers and watch, and no second node"
        )
        func holder() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let first = try await Self.prompt(on: host, home: "one", Self.ownNode)
                try await first.wait("Bob") { $0.has("* Bob is here") }
                let second = try await Self.prompt(on: host, home: "two")
                try await second.wait("Bob") { $0.has("* Bob is here") }
                let mark = bob.mark
                let watch = try Child(
                    host.command([
                        try NodeProcess.program(), "watch", "kitchen", "--json", "--state-dir", Self.directory,
                    ]), environment: ["XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool"])
                defer { watch.closeInput() }
                let sent = try await Self.inkling(["send", "kitchen", "-"], on: host, input: ["tea is", "ready"])
                #expect(sent.status == .exited(0) && sent.text == "Delivered to Bob", "\(sent.errors)")
                // S-4
                let openChat = "inkling: kitchen is an open chat: anybody on this network can join and read it"
                #expect(sent.errors == openChat, "\(sent.errors)")
                try await bob.wait("the message", from: mark) { $0.text == "tea is\nready" }
                for prompt in [first, second] { try await prompt.wait("the message") { $0.has("You: tea is") } }
                bob.compose("x")
                for text in ["Bob is typing", ""] {
                    let deadline = now() + 5
                    while watch.output.last?.text.contains("\"text\":\"\(text)\"") != true {
                        if now() > deadline { throw HarnessError("watch shows \(watch.output.map(\.text))") }
                        try await pause(0.01)
                    }
                    bob.compose("")
                }
                kill(try #require(watch.onlyChild), SIGINT)
                #expect(try await watch.waitForEnd() == .exited(0))
                let status = try await Self.inkling(["status", "--json"], on: host)
                #expect(status.json["holder"] as? Bool == true && status.json["name"] as? String == "Alice")
                #expect(try await Self.inkling(["peers", "kitchen"], on: host).text.hasPrefix("Bob ("))
                let stop = try await Self.inkling(["stop"], on: host)
                #expect(stop.status == .exited(1) && stop.errors.contains("/quit"), "\(stop.errors)")
                let daemon = try await Self.inkling(["daemon", "--no-discovery"], on: host)
                #expect(daemon.status == .exited(1) && daemon.errors.contains("a prompt of yours"), "\(daemon.errors)")
                let other = try await Self.inkling(["send", "kitchen", "hi", "--port", "5"], on: host)
                #expect(other.status == .exited(64) && other.errors.contains("quit it first"), "\(other.errors)")
                try await second.type("typed beside")
                try await bob.wait("typing", from: mark) { $0.typists == ["Alice"] }
                try await second.press("Enter")
                try await bob.wait("the message", from: mark) { $0.text == "typed beside" }
                try await first.wait("it shows here too") { $0.has("You: typed beside") }
                #expect(bob.events.dropFirst(mark).allSatisfy { $0.on != "peer" }, "nobody came or went for it")
            }
        }

        //
        @Test("when the prompt that runs the node quits, or is killed, another takes its place, and keeps its draft")
        func successor() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let first = try await Self.prompt(on: host, home: "one", Self.ownNode)
                try await first.wait("Bob") { $0.has("* Bob is here") }
                var others: [RealTerminal] = []
                for home in ["two", "three"] {
                    let prompt = try await Self.prompt(on: host, home: home)
                    try await prompt.wait("Bob") { $0.has("* Bob is here") }
                    others.append(prompt)
                }
                try await others[0].type("half a sen")
                let mark = bob.mark
                try await first.type("/quit")
                try await first.press("Enter")
                try await others[0].wait("one of them takes over", within: 10) { screen in
                    screen.has("runs Inkling now") && screen.last?.hasSuffix("half a sen") == true
                }
                try await others[1].wait("the other", within: 10) { $0.has("runs Inkling now") }
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                let status = try await Self.inkling(["status", "--json"], on: host)
                #expect(status.json["holder"] as? Bool == true && status.json["name"] as? String == "Alice")
            }
        }

        //
        @Test("a prompt that was stopped while the prompt that runs the node ended takes its place when it goes on")
        func stoppedSuccessor() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let first = try await Self.prompt(on: host, home: "one", Self.ownNode)
                try await first.wait("Bob") { $0.has("* Bob is here") }
                let second = try await Self.prompt(on: host, home: "two")
                try await second.wait("Bob") { $0.has("* Bob is here") }
                try await second.press("C-z")
                try await second.wait("the shell") { $0.last?.hasSuffix("$") == true }
                let mark = bob.mark
                try await first.type("/quit")
                try await first.press("Enter")
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                try await second.type("fg")
                try await second.press("Enter")
                let deadline = now() + 10
                while try await Self.inkling(["status", "--json"], on: host).json["holder"] as? Bool != true {
                    if now() > deadline { throw HarnessError("no successor: \(try await second.screen())") }
                    try await pause(0.05)
                }
                try await second.wait("the prompt") { $0.last?.hasPrefix("kitchen (") == true }
            }
        }

        //
        @Test("a prompt that is stopped does not answer: a command refuses, and starts no second node")
        func stoppedHolder() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let prompt = try await Self.prompt(on: host, home: "one", Self.ownNode)
                try await prompt.wait("Bob") { $0.has("* Bob is here") }
                let mark = bob.mark
                try await prompt.press("C-z")
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                // The prompt stops after the last copy of its goodbye.
                try await pause(0.5)
                let sent = try await Self.inkling(["send", "kitchen", "hi"], on: host)
                #expect(sent.status == .exited(1) && sent.errors.contains("continue the prompt"), "\(sent.errors)")
                #expect(bob.events.dropFirst(mark).allSatisfy { $0.presence != "online" }, "no second node came")
                try await prompt.type("fg")
                try await prompt.press("Enter")
                try await bob.wait("the return", from: mark) { $0.presence == "online" }
                let again = try await Self.inkling(["send", "kitchen", "hi"], on: host)
                #expect(again.status == .exited(0) && again.text == "Delivered to Bob", "\(again.errors)")
            }
        }
    }
}
