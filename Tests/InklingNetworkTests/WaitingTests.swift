import Foundation
import Glibc
import Testing

extension NetworkTests {
    /// Texts that wait on a daemon's disk, while daemons are killed.
    @Suite("Messages that wait, over kills", .serialized, .sideBySide) struct WaitingTests {
        private static let invite = "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa"

        /// A daemon and the commands that use it.
        private struct User {
            let name: String
            let port: Int
            let peer: Int
            let host: Host

            private var directory: String { "/run/inkling-\(name)" }
            private let environment = ["XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool", "XDG_RUNTIME_DIR": ""]

            init(_ name: String, port: Int, peer: Int, on host: Host) {
                (self.name, self.port, self.peer, self.host) = (name, port, peer, host)
            }

            func run(_ arguments: String...) async throws -> (status: Child.Ending, text: String, errors: String) {
                let child = try Child(
                    host.command([try NodeProcess.program()] + arguments + ["--state-dir", directory]),
                    environment: environment)
                child.closeInput()
                let ending = try await child.waitForEndAndOutput(within: 20)
                return (ending, child.output.map(\.text).joined(separator: "\n"), child.errorText)
            }

            func start() async throws -> DaemonProcess {
                try await DaemonProcess(
                    on: host, socket: directory + "/socket",
                    [
                        "--state-dir", directory, "--name", name, "--no-discovery", "--port", "\(port)", "--peer",
                        "127.0.0.1:\(peer)",
                    ], environment: environment)
            }

            /// The number of unread messages in the chat.
            func unread() async throws -> Int? {
                let text = try await run("status", "--json").text
                let status = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
                let chats = status?["chats"] as? [[String: Any]]
                return chats?.first { $0["chat"] as? String == "team" }?["unread"] as? Int
            }
        }

        private static func kill(_ daemon: DaemonProcess) async throws {
            daemon.signal(SIGKILL)
            _ = try await daemon.waitForEnd()
        }

        private static func wait(_ what: String, _ condition: () async throws -> Bool) async throws {
            let deadline = now() + 15
            while try await !condition() {
                guard now() < deadline else { throw HarnessError("it did not come to that: \(what)") }
                try await pause(0.05)
            }
        }

        // M-82, M-83
        @Test("what was told as waiting or delivered is there once, after kills of both daemons", .long)
        func kills() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let alice = User("Alice", port: 40001, peer: 40002, on: network[0])
                let bob = User("Bob", port: 40002, peer: 40001, on: network[0])
                var (first, second) = (try await alice.start(), try await bob.start())
                #expect(try await alice.run("join", Self.invite).status == .exited(0))
                #expect(try await bob.run("join", Self.invite).status == .exited(0))
                try await Self.wait("Bob is met") {
                    try await alice.run("send", "team", "hello").text == "Delivered to Bob"
                }
                var sent = 0
                try await Self.wait("the first message") { try await bob.unread() ?? 0 > 0 }
                sent = try #require(try await bob.unread())
                for round in 1...4 {
                    try await Self.kill(second)
                    try await Self.wait("nobody is there") {
                        let text = try await alice.run("send", "team", "round \(round)").text
                        sent += 1
                        return text == "Waiting for Bob"
                    }
                    if round.isMultiple(of: 2) {
                        try await Self.kill(first)
                        first = try await alice.start()
                    }
                    second = try await bob.start()
                    try await Self.wait("all \(sent) came") { try await bob.unread() == sent }
                    // A kill just after the acknowledgement: the texts are on disk, and none comes again.
                    try await Self.kill(second)
                    second = try await bob.start()
                    try await pause(1)
                    #expect(try await bob.unread() == sent)
                }
                try await Self.kill(first)
                try await Self.kill(second)
            }
        }
    }
}
