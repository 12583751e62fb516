import Foundation
import Testing

extension NetworkTests {
    @Suite("Prompt, in milliseconds", .serialized, .alone) struct PromptDelayTests {
        @Test("what is typed shows while 100 messages a second come: how fast, is told")
        func echo() async throws {
            try await Network.with(hosts: 2) { network in
                var program = "\(try NodeProcess.program()) chat kitchen"
                if isAttached {
                    _ = try await DaemonProcess.atHome("/run/home", on: network[0], ["--name", "Alice"])
                    program += " --attach"
                } else {
                    program += " --name Alice"
                }
                let alice = try Child(
                    network[0].command(["sh", "-c", "script -qefc 'stty cols 80 rows 24; exec \(program)' /dev/null"]),
                    environment: ["TERM": "xterm", "HOME": "/run/home", "XDG_RUNTIME_DIR": "", "LC_ALL": "C.UTF-8"],
                    splitsLines: false)
                defer { alice.signal(SIGTERM) }
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                try await bob.wait("Alice") { $0.isPresence("online", of: "Alice") }
                try await pause(1)
                let quiet = try await PromptDelayTests.echoes(of: alice, from: 0)
                let firing = Task {
                    for number in 1...1_000 {
                        bob.send("message \(number)")
                        try await pause(0.01)
                    }
                }
                defer { firing.cancel() }
                let busy = try await PromptDelayTests.echoes(of: alice, from: quiet.count)
                #expect(bob.count(of: "message") == 0)
                figure("a key's echo: \(summary(quiet)); while 100 messages a second come: \(summary(busy))")
                alice.write("\u{3}\u{4}")
            }
        }

        @Test("lines from a pipe wait until all others could be found, who come within 500 ms of each other")
        func piped() async throws {
            try await Network.with(hosts: 3) { network in
                let others = try await startNodes(["Bob", "Charlie"], on: [network[1], network[2]], chat: "kitchen")
                try await waitUntilAllOnline(others)
                let program = "\(try NodeProcess.program()) chat kitchen --name Dora --state-dir /run/dora"
                let piped = try await network[0].run("printf 'one\\ntwo\\n' | \(program)")
                #expect(piped.contains("You: one") && piped.contains("You: two"))
                for other in others {
                    for text in ["one", "two"] {
                        try await other.wait("the line") { $0.on == "message" && $0.text == text }
                    }
                }
            }
        }

        /// Presses 100 keys, and returns the delay of each echo. Each key is a character that is nowhere else on the
        /// screen.
        private static func echoes(of child: Child, from first: Int) async throws -> [Double] {
            var delays: [Double] = []
            for number in 0..<100 {
                guard let sign = Unicode.Scalar(0x4E00 + first + number) else { break }
                let mark = child.outputCount
                let time = now()
                child.write(String(sign), end: "")
                while true {
                    let echo = child.output(from: mark).first { $0.text.unicodeScalars.contains(sign) }
                    if let echo {
                        delays.append(echo.arrival - time)
                        break
                    }
                    if now() > time + 5 { throw HarnessError("key \(number) did not show within 5 s") }
                    try await pause(0.002)
                }
                try await pause(0.05)
            }
            return delays
        }
    }
}
