import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Commands around the prompt", .serialized, .sideBySide) struct CommandTests {
        /// The output of a finished command.
        struct Answer {
            let ending: Child.Ending
            let text: String
            let errors: String

            /// Returns the JSON object that the command printed.
            func json() throws -> [String: Any] {
                let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
                guard let members = object as? [String: Any] else { throw HarnessError("no object: \(text)") }
                return members
            }
        }

        /// Runs a command to its end, with the state directory of the node with that name, if any.
        fileprivate static func inkling(
            _ arguments: [String], on host: Host, state: String = "tools", input: [String] = [], asRoot: Bool = false
        ) async throws -> Answer {
            // Only root can open root's pipe again, by a name such as /dev/stdin.
            let wrapper = input.isEmpty ? [] : ["sh", "-c", #"cat | "$@""#, "sh"]
            let child = try command(arguments, on: host, state: state, asRoot: asRoot, through: wrapper)
            input.forEach { child.write($0) }
            child.closeInput()
            let ending = try await child.waitForEndAndOutput(within: 20)
            return Answer(
                ending: ending, text: child.output.map(\.text).joined(separator: "\n"), errors: child.errorText)
        }

        /// A script that runs a node as user 65534, and prints the owner of the node's files in /proc. If no program of
        /// the user may read them, root owns them.
        private static let ownerOfFiles = """
            cd /run
            sleep 5 | HOME=/run setpriv --reuid=65534 --regid=65534 --clear-groups \
                "$0" chat lobby --json --ephemeral --no-discovery >"/run/ready-$1" &
            until grep -q '"on":"ready"' "/run/ready-$1"; do sleep 0.02; done
            stat --format %u "/proc/$!/mem" && kill $!
            """

        @Test("no other program of the user can read the program's memory, unless INKLING_DUMPABLE=1 allows it")
        func memory() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                for (setting, owner) in [("0", "0"), ("1", "65534")] {
                    let text = try await InklingNetworkTests.run(
                        network[0].rootCommand([
                            "env", "INKLING_DUMPABLE=\(setting)", "sh", "-c", Self.ownerOfFiles,
                            try NodeProcess.program(), setting,
                        ]))
                    #expect(text.trimmingCharacters(in: .whitespacesAndNewlines) == owner)
                }
            }
        }

        private static func command(
            _ arguments: [String], on host: Host, state: String, asRoot: Bool = false, through wrapper: [String] = []
        ) throws -> Child {
            let directory = arguments.first == "invite" ? [] : ["--state-dir", "/run/inkling-\(state)"]
            let command = wrapper + [try NodeProcess.program()] + arguments + directory
            return try Child(
                asRoot ? host.rootCommand(command) : host.command(command),
                environment: ["XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool"])
        }

        // J-11
        @Test(
            """
            a settings file holds, an option goes before it, else the last chat's name; a broken file is a usage \
            error; send fails where nobody is there, or somebody is gone
            """)
        func settings() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let bob = try await NodeProcess(
                    "Bob", on: host, chat: "kitchen", ["--no-discovery", "--port", "40001"])
                let alice = try await NodeProcess(
                    "Alice", on: host, chat: "garden", state: "tools", ["--no-discovery", "--port", "40002"])
                // A driven node serves its program alone, and no second node has its identity at the same time.
                for command in [["send", "kitchen", "hello", "--no-discovery"], ["web"]] {
                    let refused = try await CommandTests.inkling(command, on: host)
                    #expect(refused.ending == .exited(1), "\(command)")
                    #expect(refused.errors.contains(/another program of yours.* uses the identity/), "\(refused)")
                }
                let peers = ["--no-discovery", "--peer", "127.0.0.1:40002"]
                let second = try await NodeProcess("Alice again", on: host, chat: "garden", state: "tools", peers)
                try await second.wait("that its identity is temporary") {
                    $0.on == "notice" && $0.code == "identity-temporary"
                }
                try await waitUntilAllOnline([alice, second])
                second.quit()
                alice.quit()
                #expect(try await alice.waitForEnd() == .exited(0))

                let peer = ["--no-discovery", "--peer", "127.0.0.1:40001"]
                let answer = try await CommandTests.inkling(
                    ["send", "kitchen", "hello", "--without-interface", "docker0"] + peer, on: host)
                #expect(answer.ending == .exited(0), "\(answer.errors)")
                let message = try await bob.wait("the message") { $0.on == "message" }
                #expect(message.from?.name == "Alice" && message.from?.user == alice.events.first?.user)

                try await host.run(
                    """
                    mkdir -p /run/config/inkling && printf 'name = "Settled"\\n' >/run/config/inkling/config.toml
                    printf 'nam = 1\\n' >/run/broken.toml
                    printf '[interfaces]\\nuse = ["nope"]\\n' >/run/use.toml
                    """)
                for (arguments, name) in [([], "Settled"), (["--name", "Given"], "Given"), (["--no-config"], "tool")] {
                    let mark = bob.mark
                    let answer = try await CommandTests.inkling(
                        ["peers", "kitchen", "--wait", "1"] + peer + arguments, on: host, state: "other")
                    #expect(answer.ending == .exited(0) && answer.text.hasPrefix("Bob ("), "\(answer.errors)")
                    try await bob.wait(name, from: mark) { $0.on == "peer" && $0.name == name }
                }
                let broken = try await CommandTests.inkling(["peers", "--config", "/run/broken.toml"], on: host)
                #expect(broken.ending == .exited(64) && broken.errors.contains("no setting \"nam\""))
                let used = try await CommandTests.inkling(["peers", "--config", "/run/use.toml"], on: host)
                #expect(used.ending == .exited(1) && used.errors.contains("/run/use.toml: interfaces.use"), "\(used)")

                let nobody = try await CommandTests.inkling(
                    ["send", "garden", "hello", "--wait", "1", "--no-discovery"], on: host)
                #expect(nobody.ending == .exited(1) && nobody.text.isEmpty)
                #expect(nobody.errors.contains("nobody else is in garden") && nobody.errors.contains("inkling doctor"))
                let mark = bob.mark
                let gone = try CommandTests.command(
                    ["send", "kitchen", "hello", "--name", "Gone"] + peer, on: host, state: "tools")
                try await bob.wait("the sender", from: mark) { $0.isPresence("online", of: "Gone") }
                try bob.signal(SIGSTOP)
                #expect(try await gone.waitForEndAndOutput(within: 15) == .exited(1))
                #expect(gone.errorText.contains("may not have reached Bob"), "\(gone.errorText)")
            }
        }

        @Test("an invite is one wherever a chat is named, also from a pipe, and never the name of an open chat")
        func invites() async throws {
            let secret = "abcdefghijklmnopqrstuvwxya"
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                try await host.run(
                    """
                    mkdir -p /run/config/inkling
                    printf 'chat = "inkling:kitchen#\(secret)"\n' >/run/config/inkling/config.toml
                    """)
                _ = try await NodeProcess(
                    "Bob", on: host, ["INKLING:kitchen#\(secret)", "--no-discovery", "--port", "40001"])
                let peer = ["--no-discovery", "--peer", "127.0.0.1:40001"]
                for (chat, input) in [
                    ([" inkling:kitchen#\(secret)\n"], []), ([], []), (["--secret", secret, "kitchen"], []),
                    (["--invite-file", "-"], ["inkling:kitchen#\(secret)"]),
                    (["kitchen", "--secret-file", "/dev/stdin"], [secret]),
                ] {
                    let answer = try await CommandTests.inkling(
                        ["peers", "--wait", "1"] + chat + peer, on: host, input: input)
                    #expect(answer.ending == .exited(0) && answer.text.hasPrefix("Bob ("), "\(chat) \(answer.errors)")
                }
                let lonely = try await CommandTests.inkling(
                    ["send", "it's", "hello", "--wait", "0.2", "--no-config"], on: host)
                #expect(lonely.errors.hasSuffix(#"inkling doctor 'it'\''s'"#), "\(lonely.errors)")
                for wrong in [
                    ["peers", "inkling:kitchen#\(secret)", "--secret", secret], ["peers", "--secret", secret],
                    ["peers", "inkling:kitchen"], ["chat", "--invite-file", "-"], ["send", "kitchen", " \n"],
                    ["send", "kitchen", "-", "--secret-file", "-"], ["peers", "--port", "-1"],
                    ["peers", "--port", "99999"],
                ] {
                    let answer = try await CommandTests.inkling(wrong, on: host)
                    #expect(
                        answer.ending == .exited(64) && !answer.errors.contains(secret), "\(wrong) \(answer.errors)")
                }
            }
        }

        // A-69
        @Test("a private chat whose name looks like another one's needs its name beside the invite, once")
        func similarName() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let (family, alike) = (
                    "inkling:family#aaaaaaaaaaaaaaaaaaaaaaaaaa", "inkling:f%D0%B0mily#baaaaaaaaaaaaaaaaaaaaaaaaa"
                )
                func expect(refusal isRefused: Bool, _ arguments: String...) async throws {
                    let answer = try await CommandTests.inkling(arguments + ["--no-discovery"], on: network[0])
                    let hasText = (answer.text + answer.errors).contains("another private chat of yours")
                    #expect(hasText == isRefused && (!hasText || answer.ending == .exited(1)), "\(arguments) \(answer)")
                }
                try await expect(refusal: false, "peers", "--wait", "0.1", family)
                try await expect(refusal: true, "peers", "--wait", "0.1", alike)
                try await expect(refusal: true, "send", "--wait", "0.1", alike, "tea")
                try await expect(refusal: true, "chat", "--plain", alike)
                try await expect(refusal: true, "chat", "--json", alike)
                // The chat that was there first needs no confirmation, and neither does one that was confirmed.
                try await expect(refusal: false, "peers", "--wait", "0.1", family)
                try await expect(refusal: false, "peers", "--wait", "0.1", "f\u{430}mily", "--invite", alike)
                try await expect(refusal: false, "chat", "--plain", alike)
            }
        }

        @Test("an invite in a file is for its owner alone, names the chat of a message, and is no name of one")
        func inviteFiles() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let (host, file) = (network[0], "/run/kitchen.invite")
                func inkling(_ arguments: String...) async throws -> Answer {
                    try await CommandTests.inkling(arguments, on: host)
                }
                let made = try await inkling("invite", "kitchen", "--output", file)
                #expect(made.ending == .exited(0) && made.text.isEmpty && made.errors.contains(file), "\(made.errors)")
                try await host.run("test $(stat -c %a \(file)) = 600")
                let again = try await inkling("invite", "kitchen", "--output", file)
                #expect(again.ending == .exited(1) && again.errors.contains("already exists"), "\(again.errors)")
                #expect(try await inkling("invite", "kitchen", "-o", file, "--force").ending == .exited(0))

                _ = try await NodeProcess(
                    "Bob", on: host, ["--invite-file", file, "--no-discovery", "--port", "40001"])
                // A chat that can't be kept is not made: its name would mean the open chat.
                let refused = try await inkling("invite", "team", "--state-dir", "/proc/none")
                #expect(refused.ending == .exited(1) && refused.text.isEmpty, "\(refused.text)")
                #expect(refused.errors.contains("Nothing can be kept"), "\(refused.errors)")
                // A program that drives a node keeps it when it joins.
                let unkept = try await inkling("invite", "team", "--state-dir", "/run/inkling-Bob")
                #expect(unkept.ending == .exited(0) && unkept.text.hasPrefix("inkling:team#"), "\(unkept.text)")
                #expect(unkept.errors.contains("is not kept yet"), "\(unkept.errors)")
                let peer = ["--no-discovery", "--peer", "127.0.0.1:40001"]
                let sent = try await CommandTests.inkling(["send", "--invite-file", file, "tea"] + peer, on: host)
                #expect(sent.ending == .exited(0) && sent.text == "Delivered to Bob" && sent.errors.isEmpty, "\(sent)")
                try await host.run("chmod 640 \(file)")
                let warned = try await CommandTests.inkling(
                    ["peers", "--wait", "1", "--invite-file", file] + peer, on: host)
                #expect(
                    warned.ending == .exited(0) && warned.errors.contains("others on this machine can read \(file)"),
                    "\(warned.errors)")
                try await host.run("echo '# Kitchen' >/run/notes && chmod 644 /run/notes")
                for option in ["--invite-file", "--secret-file"] {
                    let notes = try await inkling("peers", option, "/run/notes")
                    #expect(notes.ending == .exited(64) && !notes.errors.contains("chmod"), "\(notes.errors)")
                }
                for (wrong, hint) in [
                    (["chat", file], "--invite-file \(file)"),
                    (["peers", "/other.invite"], "--invite-file /other.invite"),
                    (["send", "kitchen"], "inkling send CHAT TEXT"), (["hepl"], "did you mean: inkling help"),
                    (["peers", "--name", "Bob (mfrggzdfmztwq2lk)"], "user ID"),
                    (["peers", "--name", "🦊"], "no letter"),
                ] {
                    let answer = try await CommandTests.inkling(wrong, on: host)
                    #expect(answer.ending == .exited(64) && answer.errors.contains(hint), "\(wrong) \(answer.errors)")
                }
            }
        }

        @Test("a line whose answer is missing for longer than the wait makes a pipe fail; a second signal ends no wait")
        func lostLines() async throws {
            try await Network.with(.init(hosts: 2, discovery: false)) { network in
                let bob = try await NodeProcess(
                    "Bob", on: network[1], chat: "kitchen", ["--no-discovery", "--port", "40001"])
                for (text, outage, status) in [("shorter", 0.8, 0), ("longer", 3, 1)] as [(String, Double, Int32)] {
                    let mark = bob.mark
                    let alice = try CommandTests.command(
                        [
                            "chat", "kitchen", "--name", "Alice", "--no-discovery", "--peer", "10.77.0.2:40001",
                        ], on: network[0], state: "alice")
                    alice.write("hello")
                    try await bob.wait("hello", from: mark) { $0.on == "message" && $0.text == "hello" }
                    try await network[1].dropUDP()
                    alice.write(text)
                    try await pause(0.2)
                    for _ in 0..<2 {
                        kill(try #require(alice.onlyChild), SIGTERM)
                        try await pause(0.05)
                    }
                    try await pause(outage)
                    try await network[1].passUDP()
                    #expect(try await alice.waitForEnd() == .exited(status), "\(text) \(alice.errorText)")
                    let texts = bob.events.dropFirst(mark).filter { $0.on == "message" }.map { $0.text ?? "" }
                    #expect(texts == (status == 0 ? ["hello", text] : ["hello"]))
                }
            }
        }
    }
}

extension NetworkTests {
    /// Doctors mostly wait, so these tests run at the same time, each on its own network.
    @Suite("Doctor", .sideBySide) struct DoctorTests {
        private typealias Answer = CommandTests.Answer

        // R31
        @Test("doctor explains what keeps two machines apart: firewall, other chat, no daemon, no bus")
        func doctor() async throws {
            /// Returns the texts of the problems in an answer, without the names of the checks.
            func problems(_ answer: Answer) throws -> [String] {
                let checks = try #require(try answer.json()["checks"] as? [[String: String]])
                let found = checks.filter { $0["status"] == "problem" }
                #expect(found.allSatisfy { $0["mend"]?.isEmpty == false }, "\(found)")
                #expect((answer.ending == .exited(0)) == found.isEmpty)
                return found.map { "\($0["check"] ?? ""): \($0["text"] ?? "")" }
            }
            /// Runs the doctor as root, who alone can read the rules of a firewall.
            func doctor(_ chat: String, on host: Host, _ arguments: [String] = []) async throws -> Answer {
                try await CommandTests.inkling(
                    ["doctor", chat, "--json"] + arguments, on: host, state: "doctor-\(chat)", asRoot: true)
            }
            try await Network.with(hosts: 2) { network in
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                let healthy = try await doctor("kitchen", on: network[0])
                #expect(try problems(healthy) == [])
                #expect(healthy.text.contains("Bob answers, round trip"), "\(healthy)")
                // Bob knows nobody with that name.
                let seen = bob.events.filter { $0.on == "peer" }
                #expect(!seen.isEmpty && seen.allSatisfy { $0.name?.hasPrefix("doctor ") == true }, "\(seen)")
                let other = try problems(await doctor("Kitchen", on: network[0]))
                #expect(
                    other.count == 1 && other[0].hasPrefix("peers: nobody else is in the open chat Kitchen"), "\(other)"
                )
                #expect(other.first?.contains("1 node is announced in other chats") == true)

                try await network[1].run(
                    """
                    nft add table inet filter
                    nft add chain inet filter input '{ type filter hook input priority 0; }'
                    nft add rule inet filter input iifname eth0 udp dport != 5353 drop
                    """)
                async let here = doctor("kitchen", on: network[0])
                async let there = doctor("kitchen", on: network[1])
                let silent = try problems(await here)
                // The firewall hides Bob and the other doctor's node alike. Discovery still announces both.
                let stranger = "somebody you have not met (\(bob.events.first?.user ?? ""))"
                #expect(silent.contains { $0.hasPrefix("peers: \(stranger) is announced at") }, "\(silent)")
                #expect(silent.allSatisfy { $0.contains("but does not answer") }, "\(silent)")
                let walled = try problems(await there)
                #expect(walled.first?.hasPrefix("firewall: it may drop") == true, "\(walled)")
                #expect(walled.first?.contains("udp dport != 5353 drop") == true)

                // The firewall drops loopback datagrams too. The doctor reports one problem, and no consequences as
                // problems.
                try await network[1].run("nft flush ruleset")
                try await network[1].run(
                    """
                    nft add table inet shut
                    nft add chain inet shut input '{ type filter hook input priority 0; policy drop; }'
                    """)
                let shut = try problems(await doctor("kitchen", on: network[1]))
                #expect(shut.count == 1 && shut[0].hasPrefix("firewall: it may drop"), "\(shut)")
                try await network[1].run("nft flush ruleset")

                try await network[0].killAvahi()
                try await network[1].killAvahi()
                try await network[1].run("kill $(cat /run/dbus/pid); rm -f /run/dbus/pid /run/dbus/system_bus_socket")
                async let noDaemon = doctor("kitchen", on: network[0])
                async let noBus = doctor("kitchen", on: network[1])
                let first = try problems(await noDaemon)
                #expect(first.count == 1, "\(first)")
                #expect(first.first?.hasPrefix("Avahi: the discovery daemon is not running") == true, "\(first)")
                #expect(try problems(await noBus).first?.hasPrefix("D-Bus: the system bus does not answer") == true)
            }
        }

        @Test("doctor, run as root as it says, looks at the same port, and leaves the user's home alone", .long)
        func doctorAsRoot() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let (host, program) = (network[0], try NodeProcess.program())
                let environment = [
                    "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": "", "LOGNAME": "tool",
                ]
                /// Runs the doctor as the user with this home directory, or as root there.
                func doctor(
                    _ words: String, asRoot: Bool
                ) async throws -> (checks: [[String: String]], answer: Answer) {
                    let command = ["sh", "-c", "exec \"$0\" doctor\(words) --json", program]
                    let child = try Child(
                        asRoot ? host.rootCommand(command) : host.command(command), environment: environment)
                    child.closeInput()
                    let ending = try await child.waitForEndAndOutput(within: 20)
                    let answer = Answer(
                        ending: ending, text: child.output.map(\.text).joined(separator: "\n"), errors: child.errorText)
                    return (try answer.json()["checks"] as? [[String: String]] ?? [], answer)
                }
                /// Returns the files in the home directory that root made.
                func spoiled() async throws -> String { try await host.run("find /run/home -user 0") }

                try await host.run(
                    """
                    nft add table inet filter
                    nft add chain inet filter input '{ type filter hook input priority 0; }'
                    nft add rule inet filter input udp dport 40123 drop
                    """)
                _ = try await NodeProcess("Bob", on: host, chat: "kitchen", ["--no-discovery", "--port", "40001"])
                let words =
                    " --port 40123 --peer 127.0.0.1:40001 --without-interface docker0 --no-discovery --no-config kitchen"
                let first = try await doctor(words, asRoot: true)
                #expect(first.checks.contains { $0["check"] == "peers" }, "\(first.answer)")
                #expect(try await spoiled() == "")

                let own = try await doctor(words, asRoot: false)
                let advice = try #require(own.checks.first { $0["check"] == "firewall" }?["mend"])
                // On a host without sudo, the advice says so.
                let line = advice.replacing("sudo -E ", with: "").replacing("    (as root)", with: "")
                #expect(line == "inkling doctor\(words)" && line != advice, "\(own.answer)")
                #expect(own.checks.first?["text"]?.contains("/run/home/.local/state/inkling") == true)
                #expect(try await host.run("stat -c %u /run/home/.local/state/inkling/identity") == "\(User.id)")
                let asRoot = try await doctor(
                    String(line.dropFirst("inkling doctor".count)), asRoot: true)
                #expect(asRoot.checks.first { $0["check"] == "identity" }?["status"] == "note", "\(asRoot.answer)")
                #expect(asRoot.checks.contains { $0["check"] == "firewall" && $0["text"]?.contains("40123") == true })
                #expect(asRoot.checks.contains { $0["check"] == "peers" }, "\(asRoot.answer)")
                #expect(try await spoiled() == "")

                // The doctor as root also runs beside the user's daemon.
                let daemon = try Child(
                    host.command(
                        [program, "daemon", "--no-discovery", "--no-config", "--port", "40123"]),
                    environment: environment)
                defer { daemon.closeInput() }
                try await host.run(
                    "for _ in $(seq 100); do ls /run/home/.local/state/inkling/socket && exit; sleep 0.1; done; exit 1")
                let short = " --without-interface docker0 --no-config"
                let attached = try await doctor(" --no-config kitchen", asRoot: false)
                let whose = try #require(attached.checks.first { $0["check"] == "daemon" }?["text"])
                #expect(whose.hasPrefix("yours runs, on UDP port 40123"), "\(attached.answer)")
                let look = try #require(attached.checks.first { $0["check"] == "firewall" }?["mend"])
                #expect(look.contains("inkling doctor --port 40123 --no-config kitchen"), "\(look)")
                let beside = try await doctor("\(short) --port 40123 --no-discovery kitchen", asRoot: true)
                let note = try #require(beside.checks.first { $0["check"] == "daemon" })
                #expect(note["status"] == "note", "\(beside.answer)")
                #expect(note["text"]?.contains("'s runs, and root can't use it") == true, "\(beside.answer)")
                #expect(try await spoiled() == "")
                kill(try #require(daemon.onlyChild), SIGTERM)
            }
        }
    }
}
