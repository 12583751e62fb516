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
        private static func daemon(on host: Host) async throws -> Child {
            let child = try Child(
                host.command([
                    try NodeProcess.program(), "daemon", "--state-dir", directory, "--name", "Alice", "--no-discovery",
                    "--port", "40002", "--peer", "127.0.0.1:40001",
                ]), environment: ["XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool"])
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
            let options = ["--no-discovery", "--port", "40001", "--peer", "127.0.0.1:40002"]
            return try await NodeProcess("Bob", on: host, chat: "kitchen", options)
        }

        //
        @Test(
            """
            commands use the daemon that runs, wait while it looks for people, then get answers at once, and give the \
            daemon requests that only it serves; a message starts the hook
            """)
        func commands() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                func inkling(_ arguments: String...) async throws -> (
                    status: Child.Ending, text: String, errors: String, json: [String: Any]
                ) { try await Self.inkling(arguments, on: host) }
                let none = try await inkling("status", "--json")
                #expect(none.status == .exited(3) && none.json["running"] as? Bool == false)
                #expect(try await inkling("send", "kitchen", "hi", "--attach").status == .exited(1))
                let early = try await inkling("stop")
                #expect(early.status == .exited(0) && early.errors.contains("no daemon is running"))
                try await host.run(
                    """
                    mkdir -p /run/config/inkling
                    printf '#!/bin/sh\\necho "$INKLING_CHAT/$INKLING_NAME/$INKLING_TEXT" >>/run/told\\n' >/run/hook
                    chmod 755 /run/hook
                    echo 'on-message = ["/run/hook"]' >/run/config/inkling/config.toml
                    """)
                let daemon = try await Self.daemon(on: host)
                let join = try await inkling("join", "kitchen")
                #expect(join.text.contains("still looking for others. To see who is there: inkling peers kitchen"))
                async let looking = inkling("peers", "kitchen")
                async let waiting = inkling("send", "kitchen", "tea")
                try await pause(0.5)
                let bob = try await Self.bob(on: host)
                let (listed, delivered) = (try await looking, try await waiting)
                #expect(listed.text.hasPrefix("Bob ("), "\(listed.errors)")
                #expect(delivered.text == "Delivered to Bob", "\(delivered.errors)")
                try await bob.wait("Alice") { $0.on == "peer" && $0.presence == "away" }
                // After this time the daemon has found all people.
                try await pause(3)

                let mark = bob.mark
                let start = now()
                let sent = try await inkling("send", "kitchen", "tea is ready")
                #expect(sent.status == .exited(0) && sent.text == "Delivered to Bob", "\(sent.errors)")
                let peers = try await inkling("peers", "kitchen")
                #expect(peers.text.hasPrefix("Bob ("), "\(peers.errors)")
                let port = "UDP port 40002 answers only peers"
                #expect(daemon.errorText.contains(port) && !peers.errors.contains(port), "the daemon logs it")
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
                #expect(try await inkling("join", "inkling:family#aaaaaaaaaaaaaaaaaaaaaaaaaa").status == .exited(0))
                let alike = try await inkling("join", "inkling:f%D0%B0mily#baaaaaaaaaaaaaaaaaaaaaaaaa")
                #expect(alike.status == .exited(1) && alike.errors.contains("another private chat of yours"))
                #expect(try await inkling("leave", "family").status == .exited(0))

                bob.send("is the kettle on?")
                try await bob.wait("the delivery", from: mark) { $0.on == "delivered" }
                let deadline = now() + 5
                let told = "cat /run/told 2>/dev/null || :"
                while try await host.run(told) != "kitchen/Bob/is the kettle on?" {
                    if now() > deadline { throw HarnessError("the hook received \(try await host.run(told))") }
                    try await pause(0.05)
                }
                let stop = try await inkling("stop")
                #expect(
                    stop.text == "The daemon has ended\nKept for the next start: kitchen\n1 unread message is lost",
                    "\(stop.errors)")
                #expect(try await daemon.waitForEnd() == .exited(0))
                try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
                #expect(try await inkling("status").status == .exited(3))
                let next = try await Self.daemon(on: host)
                #expect(try await inkling("chats").text.hasPrefix("kitchen (open): "))
                try await Self.expectNoAnswers(of: next, on: host)
                try await Self.end(next)
            }
        }

        /// Expects that each command fails while the daemon stands still, or falls silent after its greeting.
        private static func expectNoAnswers(of daemon: Child, on host: Host) async throws {
            let process = try #require(daemon.onlyChild)
            kill(process, SIGSTOP)
            let answer = try await Self.inkling(["status", "--json"], on: host)
            #expect(answer.status == .exited(4) && answer.json["answers"] as? Bool == false)
            #expect(answer.errors.contains("does not answer"), "\(answer.errors)")
            kill(process, SIGCONT)
            // The signal also stopped the wrapper process in front of the daemon.
            daemon.signal(SIGCONT)
            let silent = try Child(
                host.command([
                    "python3", "-c",
                    """
                    import os, socket, time
                    path = "\(directory)/socket"
                    daemon = socket.socket(socket.AF_UNIX)
                    daemon.connect(path)
                    daemon.sendall(b'{"do":"identity","id":0}\\n')
                    lines = daemon.makefile("rb")
                    greeting = lines.readline(), next(line for line in lines if b'"id":0' in line)
                    os.remove(path)
                    server = socket.socket(socket.AF_UNIX)
                    server.bind(path)
                    server.listen(16)
                    print("ready", flush=True)
                    kept = []
                    while True:
                        kept += [server.accept()[0]]
                        for line in greeting:
                            kept[-1].sendall(line)
                            time.sleep(0.05)
                    """,
                ]))
            defer { silent.signal(SIGKILL) }
            let deadline = now() + 10
            while silent.outputCount == 0 {
                if now() > deadline { throw HarnessError("nothing is silent: \(silent.errorText)") }
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
        }

        @Test("a prompt outlives its daemon: the draft stays, and it goes on with the next one")
        func survival() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await Self.bob(on: host)
                let first = try await Self.daemon(on: host)
                let terminal = try await Self.prompt(on: host, home: "one")
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
                try await terminal.enter("tence")
                try await bob.wait("the message", from: mark) { $0.on == "message" && $0.text == "half a sentence" }
                try await Self.end(second)
            }
        }

        /// Starts Alice's prompt in a new terminal.
        private static func prompt(on host: Host, home: String, _ options: String = "") async throws -> RealTerminal {
            let terminal = try await RealTerminal(on: host, home: home)
            try await terminal.enter("\(try NodeProcess.program()) chat kitchen --state-dir \(directory) \(options)")
            return terminal
        }

        private static let ownNode = "--name Alice --no-discovery --peer 127.0.0.1:40001"

        //
        @Test(
            """
            a prompt's user is one person for all programs: a second prompt, send, peers and watch, and no second node; \
            when the prompt quits, another takes its place, and keeps its draft, also if it was stopped meanwhile
            """)
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
                try await Self.expectStoppedHolder(first, seenBy: bob, on: host)
                try await Self.expectSuccessors(of: first, second, seenBy: bob, on: host)
            }
        }

        /// Expects that a command refuses while the prompt that runs the node is stopped, and starts no second node.
        private static func expectStoppedHolder(
            _ prompt: RealTerminal, seenBy bob: NodeProcess, on host: Host
        ) async throws {
            let mark = bob.mark
            try await prompt.press("C-z")
            try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
            // The prompt stops after the last copy of its goodbye.
            try await pause(0.5)
            let sent = try await Self.inkling(["send", "kitchen", "hi"], on: host)
            #expect(sent.status == .exited(1) && sent.errors.contains("continue the prompt"), "\(sent.errors)")
            #expect(bob.events.dropFirst(mark).allSatisfy { $0.presence != "online" }, "no second node came")
            try await prompt.enter("fg")
            try await bob.wait("the return", from: mark) { $0.presence == "online" }
            let again = try await Self.inkling(["send", "kitchen", "hi"], on: host)
            #expect(again.status == .exited(0) && again.text == "Delivered to Bob", "\(again.errors)")
        }

        /// Lets the prompt that runs the node quit, first beside a prompt that is stopped, and then beside two others.
        private static func expectSuccessors(
            of first: RealTerminal, _ second: RealTerminal, seenBy bob: NodeProcess, on host: Host
        ) async throws {
            try await second.press("C-z")
            try await second.wait("the shell") { $0.last?.hasSuffix("$") == true }
            let mark = bob.mark
            try await first.enter("/quit")
            try await bob.wait("the end", from: mark) { $0.presence == "offline" && $0.why == "bye" }
            try await first.wait("the shell") { $0.last == "$" }
            try await second.enter("fg")
            let deadline = now() + 10
            while try await Self.inkling(["status", "--json"], on: host).json["holder"] as? Bool != true {
                if now() > deadline { throw HarnessError("no successor: \(try await second.screen())") }
                try await pause(0.05)
            }
            try await second.wait("the prompt") { $0.last?.hasPrefix("kitchen (") == true }

            let others = [first, try await RealTerminal(on: host, home: "three")]
            for prompt in others {
                try await prompt.enter("clear; \(try NodeProcess.program()) chat kitchen --state-dir \(directory)")
                try await prompt.wait("the prompt") { $0.last?.hasPrefix("kitchen (") == true }
            }
            try await first.type("half a sen")
            try await second.enter("/quit")
            try await first.wait("one of them takes over", within: 10) { screen in
                screen.has("runs Inkling now") && screen.last?.hasSuffix("half a sen") == true
            }
            try await others[1].wait("the other", within: 10) { $0.has("runs Inkling now") }
            let status = try await Self.inkling(["status", "--json"], on: host)
            #expect(status.json["holder"] as? Bool == true && status.json["name"] as? String == "Alice")
        }
    }
}
