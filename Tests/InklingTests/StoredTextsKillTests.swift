import Glibc
import InklingModel
import InklingWire
import NIOCore
import NIOPosix
import ProcessSupport
import Testing

@testable import Inkling

/// A process that writes texts until it is killed (A-62, A-65, A-67).
@Suite("Texts of a killed process", .timeLimit(.minutes(20)))
struct StoredTextsKillTests {
    private static let variable = "INKLING_KILLED_TEXTS"
    /// The numbers of texts that the process keeps before it finishes the oldest.
    private static let window = 30

    private static func value(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }

    // A-62, A-65, A-51, A-66
    @Test("a kill loses nothing that completed, doubles nothing, and leaves nothing half forgotten")
    func killed() async throws {
        let stage = try await TextStage()
        let rounds = Self.value(of: "INKLING_ALL") == nil ? 10 : 500
        for round in 1...rounds {
            try await stage.end()
            let process = try StartedProcess(
                ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", "StoredTextsKillTests/child"],
                environment: ["\(Self.variable)=\(stage.folder.path)"], readsErrors: false)
            // Each note has six bytes or so.
            let goal = Self.size(of: stage) + Int.random(in: 20...1_500)
            var status: Int32 = 0
            while Self.size(of: stage) < goal, waitpid(process.processID, &status, WNOHANG) == 0 { usleep(500) }
            usleep(.random(in: 0...4_000))
            if round % 10 == 0 {
                // A copy of the files at this moment, as a snapshot of the disk has it.
                kill(process.processID, SIGSTOP)
                waitpid(process.processID, &status, WUNTRACED)
                let copy = try TemporaryFolder()
                for path in stage.paths(in: stage.folder.path) {
                    stage.put(stage.bytes(path), at: copy.path + path.dropFirst(stage.folder.path.count))
                }
                try await Self.check(TextStage(in: copy), "copy of round \(round)")
            }
            kill(process.processID, SIGKILL)
            waitpid(process.processID, &status, 0)
            close(process.input)
            close(process.output)
            #expect(StartedProcess.Ending(status: status) == .signalled(SIGKILL))
            try await stage.restart()
            try await Self.check(stage, "round \(round)")
        }
    }

    /// Returns the size of the process's notes, in bytes.
    private static func size(of stage: TextStage) -> Int {
        var status = stat()
        return stat("\(stage.folder.path)/done", &status) == 0 ? Int(status.st_size) : 0
    }

    /// The notes of the process, by number.
    private struct Notes {
        /// The texts that completed.
        let written: [Int]
        /// The texts whose end completed.
        let finished: [Int]
        /// The messages of the history that completed.
        let kept: [Int]
        /// The last text before the last forgetting that began, before the one before it, and before the last one that
        /// completed.
        let forgetting, earlierForgetting, forgotten: Int

        init(_ stage: TextStage) {
            let lines = (stage.folder.text("done") ?? "").split(separator: "\n")
            func numbers(_ mark: Character) -> [Int] {
                lines.filter { $0.first == mark }.compactMap { Int($0.dropFirst()) }
            }
            (written, finished, kept) = (numbers("w"), numbers("f"), numbers("h"))
            let began = Set(numbers("R")).sorted()
            (forgetting, earlierForgetting) = (began.last ?? 0, began.dropLast().last ?? 0)
            forgotten = numbers("r").max() ?? 0
        }
    }

    private static func check(_ stage: TextStage, _ round: String) async throws {
        let notes = Notes(stage)
        let state = try await stage.state()
        let last = try #require(notes.written.max())
        // The process may have begun to finish those before the window.
        let kept = notes.written.filter { $0 > last - Self.window }
        for numbers in [state.entries, state.unreadNumbers] {
            #expect(numbers == Array(Set(numbers)).sorted(), "\(round)")
            #expect(Set(notes.finished).isDisjoint(with: numbers), "\(round)")
        }
        #expect(Set(kept).isSubset(of: state.unreadNumbers), "\(round)")
        #expect(Set(kept.filter { $0 > notes.forgetting }).isSubset(of: state.entries), "\(round)")
        #expect(state.entries.allSatisfy { $0 > notes.forgotten }, "\(round)")
        // The last forgetting concerned all or none of its texts.
        if notes.forgetting > notes.forgotten {
            let doubtful = Set(kept.filter { $0 > notes.earlierForgetting && $0 <= notes.forgetting })
            let there = doubtful.intersection(state.entries)
            #expect(there.isEmpty || there == doubtful, "\(round)")
        }
        let seen = try #require(state.seen[SomeText.key()])
        #expect(notes.written.allSatisfy { seen.contains(SomeText.id($0)) }, "\(round)")
        let history = try #require(
            try await stage.perform { tables throws(Database.Failure) in
                var numbers: [Int] = []
                try tables.read(Self.history, before: .max, limit: 10_000) { _, bytes in
                    numbers.append(Int(String(decoding: bytes, as: UTF8.self)) ?? 0)
                    return true
                }
                return numbers
            })
        #expect(history.count == Set(history).count && Set(notes.kept.suffix(5_000)).isSubset(of: history), "\(round)")
        #expect(stage.takeFaults().isEmpty, "\(round)")
    }

    private static let history = LogName(.history, String(repeating: "0123456789abcdef", count: 2))

    @Test("(the process)", .enabled(if: StoredTextsKillTests.value(of: StoredTextsKillTests.variable) != nil))
    func child() async throws {
        let folder = try #require(Self.value(of: Self.variable))
        let file = open("\(folder)/done", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let log = TextLogID(try Chat("team", secret: Secret("abcdefghijklmnopqrstuvwxya")))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let key = try SomeText.key()
        let stores = try await loop.submit {
            let database = TextDatabase(in: folder, on: loop, threads: NIOThreadPool.singleton)
            return NIOLoopBound((database: database, texts: StoredTexts(database)), eventLoop: loop)
        }.get()
        @Sendable func note(_ mark: String, _ number: Int) {
            let line = Array("\(mark)\(number)\n".utf8)
            _ = write(file, line, line.count)
        }
        @Sendable func add(_ number: Int) {
            let (database, texts) = stores.value
            let old = number - Self.window
            let text = "\(number)" + String(repeating: "z", count: 2_000)
            let id = SomeText.id(number)
            let records: [TextRecord] = [
                .waiting(WaitingText(entry: UInt64(number), key: key, name: "Bob", id: id, at: 1, text: text)),
                .received(KeptText(key: key, name: "Bob", id: id, at: 1, text: text)),
            ]
            database.change { tables throws(Database.Failure) in
                try tables.append(Array("\(number)".utf8), to: Self.history)
            } _: { (entry, _) in
                if entry != nil { note("h", number) }
            }
            texts.append(records, to: log) { reason in
                guard reason == nil else { return note("e", number) }
                note("w", number)
                add(number + 1)
                if number % 20 == 0 {
                    // The next text is already on its way.
                    note("R", number + 1)
                    stores.value.texts.rekey([log]) { if $0 == nil { note("r", number + 1) } }
                }
                guard old > 0 else { return }
                let done: [TextRecord] = [.finished(key, SomeText.id(old)), .read(key, SomeText.id(old))]
                stores.value.texts.append(done, to: log) { if $0 == nil { note("f", old) } }
            }
        }
        // Numbers are above the seen ones.
        try await loop.submit {
            let (database, texts) = stores.value
            texts.begin { _ in note("e", 0) }
            database.perform { tables throws(Database.Failure) in
                try tables.begin(Self.history)
            } _: { (_: Void?, _) in
            }
            add(Int(texts.state(of: log).highestEntry) + 1)
        }.get()
        try await Task.sleep(for: .seconds(60))
    }
}
