import Glibc
import Inkling
import InklingModel
import InklingWire
import NIOCore
import NIOPosix
import ProcessSupport
import Testing

/// A process that writes texts until it is killed.
@Suite("Texts of a killed process", .timeLimit(.minutes(5)))
struct TextLogsKillTests {
    private static let variable = "INKLING_KILLED_TEXTS"
    /// The numbers of texts that the process keeps before it finishes the oldest.
    private static let window = 30

    private static func value(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }

    //
    @Test("a kill loses no text whose append completed, and doubles none")
    func killed() async throws {
        let stage = try await TextStage()
        let rounds = Self.value(of: "INKLING_KILLS").flatMap { Int($0) } ?? 8
        var written = 0
        for round in 1...rounds {
            let process = try StartedProcess(
                ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", "TextLogsKillTests/child"],
                environment: ["\(Self.variable)=\(stage.folder.path)"], readsErrors: false)
            let goal = written + Int.random(in: 1...80)
            var status: Int32 = 0
            while Self.completed(stage).written.max() ?? 0 < goal, waitpid(process.processID, &status, WNOHANG) == 0 {
                usleep(500)
            }
            usleep(.random(in: 0...4_000))
            kill(process.processID, SIGKILL)
            waitpid(process.processID, &status, 0)
            close(process.input)
            close(process.output)
            #expect(StartedProcess.Ending(status: status) == .signalled(SIGKILL))
            let (done, finished) = Self.completed(stage)
            try await stage.restart()
            let state = try await stage.state()
            let last = try #require(done.max())
            #expect(state.entries == Array(Set(state.entries)).sorted(), "round \(round)")
            #expect(state.unreadNumbers == Array(Set(state.unreadNumbers)).sorted(), "round \(round)")
            // The process may have begun to finish those before the window.
            let kept = Set(done.filter { $0 > last - Self.window })
            for numbers in [state.entries, state.unreadNumbers] {
                #expect(kept.isSubset(of: numbers), "round \(round)")
                #expect(Set(finished).isDisjoint(with: numbers), "round \(round)")
            }
            let seen = try #require(state.seen[SomeText.key()])
            #expect(done.allSatisfy { seen.contains(SomeText.id($0)) }, "round \(round)")
            #expect(stage.takeFaults().isEmpty, "round \(round)")
            written = last
        }
    }

    /// Returns the numbers that the process noted as written, and as finished.
    private static func completed(_ stage: TextStage) -> (written: [Int], finished: [Int]) {
        let lines = (stage.folder.text("done") ?? "").split(separator: "\n")
        func numbers(_ mark: Character) -> [Int] {
            lines.filter { $0.first == mark }.compactMap { Int($0.dropFirst()) }
        }
        return (numbers("w"), numbers("f"))
    }

    @Test("(the process)", .enabled(if: TextLogsKillTests.value(of: TextLogsKillTests.variable) != nil))
    func child() async throws {
        let folder = try #require(Self.value(of: Self.variable))
        let file = open("\(folder)/done", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let log = TextLogID(try Chat("team", secret: Secret("abcdefghijklmnopqrstuvwxya")))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let key = try SomeText.key()
        let logs = try await loop.submit {
            NIOLoopBound(
                TextLogs(in: folder, on: loop, threads: NIOThreadPool.singleton), eventLoop: loop)
        }.get()
        @Sendable func note(_ mark: String, _ number: Int) {
            let line = Array("\(mark)\(number)\n".utf8)
            _ = write(file, line, line.count)
        }
        @Sendable func add(_ number: Int) {
            let old = number - Self.window
            let text = "\(number)" + String(repeating: "z", count: 2_000)
            let id = SomeText.id(number)
            let records: [TextRecord] = [
                .waiting(WaitingText(entry: UInt64(number), key: key, name: "Bob", id: id, at: 1, text: text)),
                .received(KeptText(key: key, name: "Bob", id: id, at: 1, text: text)),
            ]
            logs.value.append(records, to: log) { reason in
                guard reason == nil else { return note("e", number) }
                note("w", number)
                add(number + 3)
                guard old > 0 else { return }
                let done: [TextRecord] = [.finished(key, SomeText.id(old)), .read(key, SomeText.id(old))]
                logs.value.append(done, to: log) { if $0 == nil { note("f", old) } }
            }
        }
        // Numbers are above the seen ones. Three appends are under way at each time.
        try await loop.submit {
            logs.value.begin { _ in note("e", 0) }
            let first = Int(logs.value.state(of: log).highestEntry) + 1
            for number in first..<first + 3 { add(number) }
        }.get()
        try await Task.sleep(for: .seconds(60))
    }
}
