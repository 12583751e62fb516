import Foundation
import Testing

extension NetworkTests.Alone {
    @Suite("Output that nobody reads", .serialized) struct UnreadOutputTests {
        /// A script that passes the first lines on, then nothing for 12 s, and then the rest.
        private static let script = """
            lines=0
            while [ $lines -lt 2 ] && IFS= read -r line; do printf '%s\\n' "$line"; lines=$((lines + 1)); done
            sleep 12
            exec cat
            """
        /// Two seconds more than the pause of the reader. Each of four writers sends as many messages a second, of
        /// three records each. All four are strangers of one source, and the reader holds 512 KiB of their texts
        /// (M-42). The reader drops messages after 10 s. Each writer's queue of 4 MiB must have room for the texts of
        /// these 10 s (M-14).
        private static let seconds = 14
        private static let rate = 125
        private static let text = String(repeating: "x", count: 2_700)

        // R37, J-14, M-20
        @Test(
            "a node whose output is not read for 12 s under 500 messages a second holds back, stays, and counts",
            .long)
        func unread() async throws {
            try await Network.with(Network.Options(hosts: 1, discovery: false)) { network in
                let reader = try await NodeProcess(
                    "Reader", on: network[0], ["--no-discovery", "--port", "40001"], readBy: Self.script)
                var writers: [NodeProcess] = []
                for number in 1...4 {
                    writers.append(
                        try await NodeProcess(
                            "Writer\(number)", on: network[0], ["--no-discovery", "--peer", "127.0.0.1:40001"]))
                }
                for writer in writers { try await writer.waitForPresence("online", of: reader) }
                let begin = now()
                var numbers = 0
                var mostWaiting = 0
                while now() < begin + Double(Self.seconds) {
                    let due = Int((now() - begin) * Double(Self.rate))
                    while numbers < due {
                        for writer in writers { writer.send("\(numbers) \(Self.text)") }
                        numbers += 1
                    }
                    if Int(now() - begin) == 9 {
                        let delivered = writers.reduce(0) { $0 + $1.count(of: "delivered") }
                        mostWaiting = max(mostWaiting, writers.count * numbers - delivered)
                    }
                    try await pause(0.02)
                }
                #expect(mostWaiting > 500, "the writers are held back: \(mostWaiting) messages wait for them")
                // Each writer has an answer to each request, and the reader knows the number of missing messages. A
                // full queue has refused the rest (M-14).
                for writer in writers {
                    func answers() -> Int {
                        writer.count(of: "delivered") + writer.count(of: "failed")
                            + writer.events.count { $0.on == "error" && $0.code == "queue-full" }
                    }
                    let deadline = now() + 30
                    while answers() < numbers, now() < deadline { try await pause(0.05) }
                    #expect(answers() == numbers)
                }
                let delivered = writers.reduce(0) { $0 + $1.count(of: "delivered") }
                let failed = writers.reduce(0) { $0 + $1.count(of: "failed") }
                try await reader.wait("what is missing") { $0.on == "missed" }
                try await pause(1)
                let missed = reader.events.filter { $0.on == "missed" }
                let missing = missed.reduce(0) { $0 + ($1.messages ?? 0) }
                let shown = reader.count(of: "message")
                #expect(missed.allSatisfy { $0.chat == "lobby" && $0.outcomes == 0 })
                #expect((delivered...delivered + failed).contains(missing + shown))
                for writer in writers {
                    let texts = reader.events.filter { $0.on == "message" && $0.from?.name == writer.name }
                    let order = texts.compactMap { Int($0.text?.prefix { $0 != " " } ?? "") }
                    #expect(order == order.sorted() && order.last == numbers - 1)
                }
                let peak = try await network[0].run(Self.peakMemory)
                figure(
                    "unread for 12 s under 500 messages a second: \(mostWaiting) waited with their writers after 9 s, "
                        + "\(missing) were missed, \(shown) shown, \(failed) failed; peaks of memory in KiB: \(peak)")
                let most = peak.split(separator: "\n").compactMap { Int($0) }.max() ?? .max
                #expect(most < 120_000)
                // Typing still shows, and the program still ends as usual.
                let mark = reader.mark
                writers[0].compose("h")
                try await reader.waitForTyping(of: writers[0], from: mark)
                reader.quit()
                let deadline = now() + 10
                while reader.ending == nil, now() < deadline { try await pause(0.01) }
                #expect(reader.ending == .exited(0), "\(reader.errorText)")
            }
        }

        /// A script that prints the peak of each node's resident memory, in KiB.
        private static let peakMemory = """
            for process in /proc/[0-9]*; do
                [ "$(cat "$process/comm")" = inkling ] || continue
                sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' "$process/status"
            done
            """
    }
}
