import Foundation
import InklingCLI
import Testing

@Suite("The command for messages that nobody looks at", .timeLimit(.minutes(1)))
struct MessageHookTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hook-\(UUID().uuidString)")

    /// What the hook's command has written to the file of that name.
    private func written(_ name: String) async throws -> [String] {
        let file = folder.appendingPathComponent(name)
        for _ in 0..<500 {
            if let text = try? String(contentsOf: file, encoding: .utf8), text.hasSuffix("\n.\n") {
                return text.components(separatedBy: "\n").dropLast(2)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return []
    }

    @Test("chat, name and text are in its environment, harmless, and none of them in its arguments; a secret is not")
    func environment() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        setenv("INKLING_SECRET", "abcdefghijklmnopqrstuvwxya", 1)
        defer { unsetenv("INKLING_SECRET") }
        let file = folder.appendingPathComponent("seen").path
        let script = """
            { printf '%s\\n' "$#" "$INKLING_CHAT" "$INKLING_NAME" "$INKLING_TEXT" "[$INKLING_SECRET]"; echo .; } >"$1"
            """
        let hook = MessageHook(["sh", "-c", script, "hook", file])
        #expect(hook.run(chat: "kitchen", label: "Bob\u{1B}[2J", text: "$(touch x)\u{7}`id`\u{202E}", at: 0))
        #expect(
            try await written("seen") == ["1", "kitchen", "Bob\\x1b[2J", "$(touch x)\\x07`id`", "[]"])
    }

    @Test("it is started at most once in 2 s a chat, and not at all where there is none, or it can't be started")
    func pace() {
        let hook = MessageHook(["true"])
        #expect(hook.run(chat: "kitchen", label: "Bob", text: "one", at: 10_000))
        #expect(!hook.run(chat: "kitchen", label: "Bob", text: "two", at: 11_999))
        #expect(hook.run(chat: "garden", label: "Bob", text: "two", at: 11_999))
        #expect(hook.run(chat: "kitchen", label: "Bob", text: "three", at: 12_000))
        #expect(!MessageHook([]).run(chat: "kitchen", label: "Bob", text: "one", at: 0))
        #expect(!MessageHook(["/nowhere/at-all"]).run(chat: "kitchen", label: "Bob", text: "one", at: 0))
    }

    @Test("what comes too soon is told at the end of the 2 s, the latest of it, unless somebody has looked")
    func trailing() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("told").path
        let hook = MessageHook(["sh", "-c", #"echo "$INKLING_CHAT $INKLING_TEXT" >>"$0"; echo . >>"$0""#, file])
        #expect(hook.nextDeadline == nil)
        hook.run(chat: "kitchen", label: "Bob", text: "one", at: 10_000)
        #expect(try await written("told") == ["kitchen one"])
        hook.run(chat: "kitchen", label: "Bob", text: "two", at: 10_500)
        hook.run(chat: "kitchen", label: "Bob", text: "three", at: 11_000)
        #expect(hook.nextDeadline == 12_000)
        hook.tick(at: 11_999) { _ in true }
        #expect(try await written("told") == ["kitchen one"])
        try FileManager.default.removeItem(atPath: file)
        hook.tick(at: 12_000) { _ in true }
        #expect(try await written("told") == ["kitchen three"])
        hook.run(chat: "kitchen", label: "Bob", text: "four", at: 13_000)
        hook.tick(at: 14_000) { _ in false }
        hook.tick(at: 16_000) { _ in true }
        #expect(hook.nextDeadline == nil, "it was read")
        #expect(try await written("told") == ["kitchen three"])
    }

    @Test("what is wrong with it is reported, once for each reason")
    func faults() async throws {
        var reasons: [String] = []
        let missing = MessageHook(["/nowhere/at-all"]) { reasons.append($0) }
        for time in [Int64(10_000), 20_000] { missing.run(chat: "kitchen", label: "Bob", text: "one", at: time) }
        #expect(reasons == ["/nowhere/at-all can't be started: No such file or directory"])
        reasons = []
        let failing = MessageHook(["sh", "-c", "exit 3"]) { reasons.append($0) }
        failing.run(chat: "kitchen", label: "Bob", text: "one", at: 10_000)
        for step in 1...500 where reasons.isEmpty {
            try await Task.sleep(for: .milliseconds(10))
            failing.tick(at: 10_000 + Int64(step)) { _ in true }
        }
        #expect(reasons == ["it ended with status 3"])
    }

    @Test("few of them run at the same time, and those that have ended count no more")
    func running() async throws {
        let hook = MessageHook(["sleep", "2"])
        let started = (0..<20).count { hook.run(chat: "chat \($0)", label: "Bob", text: "hello", at: 0) }
        #expect(started == MessageHook.mostRunning)
        try await Task.sleep(for: .milliseconds(2_500))
        #expect(hook.run(chat: "chat 20", label: "Bob", text: "hello", at: 2_500))
    }

    @Test("a text that is too long for an environment is cut between two characters")
    func length() {
        let long = String(repeating: "\u{E9}", count: 40_000)
        let value = MessageHook.value(long)
        #expect(value.utf8.count <= MessageHook.longestValue && value.hasSuffix("\u{E9}\u{2026}"))
        #expect(MessageHook.value("short") == "short")
    }
}
