import Foundation
import InklingCLI
import InklingModel
import ProcessSupport
import Testing

@Suite("The command for messages that nobody looks at", .timeLimit(.minutes(1)))
struct MessageHookTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("hook") }

    /// Returns the lines of the file that the hook's command wrote.
    private func written(_ name: String) async throws -> [String] {
        for _ in 0..<500 {
            if let text = folder.text(name), text.hasSuffix("\n.\n") {
                return text.components(separatedBy: "\n").dropLast(2)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return []
    }

    @Test("chat, name and text are in its environment, harmless, and none of them in its arguments; a secret is not")
    func environment() async throws {
        setenv("INKLING_SECRET", "abcdefghijklmnopqrstuvwxya", 1)
        defer { unsetenv("INKLING_SECRET") }
        let file = folder.path + "/seen"
        let script = """
            { printf '%s\\n' "$#" "$INKLING_CHAT" "$INKLING_NAME" "$INKLING_TEXT" "[$INKLING_SECRET]"
            printf '%s\\n' "$INKLING_USER" "[$INKLING_VERIFIED]"; echo .; } >"$1"
            """
        let hook = MessageHook(["sh", "-c", script, "hook", file])
        #expect(
            hook.run(
                chat: "kitchen", label: "Bob\u{1B}[2J", text: "$(touch x)\u{7}`id`\u{202E}", user: "mfrggzdfmztwq2lk",
                rank: .verified, at: 0))
        #expect(
            try await written("seen") == [
                "1", "kitchen", "Bob\\x1b[2J", "$(touch x)\\x07`id`", "[]", "mfrggzdfmztwq2lk", "[1]",
            ])
    }

    @Test("it gets the three standard streams and no other descriptor of the daemon (R34)")
    func descriptors() async throws {
        // A descriptor without close-on-exec, like an accepted connection.
        let leaking = fcntl(STDERR_FILENO, F_DUPFD, 200)
        defer { close(leaking) }
        let file = folder.path + "/seen"
        let script = #"{ ls /proc/self/fd; echo .; } >"$0""#
        #expect(
            MessageHook(["sh", "-c", script, file]).run(
                chat: "kitchen", label: "Bob", text: "x", user: "", rank: .stranger, at: 0))
        #expect(try await written("seen") == ["0", "1", "2", "3"], "3 is the folder that the tool reads")
    }

    @Test("a tool of the host gets the three standard streams and no other descriptor")
    func toolDescriptors() {
        let leaking = fcntl(STDERR_FILENO, F_DUPFD, 200)
        defer { close(leaking) }
        let seen = HostTools.output(of: ["ls", "/proc/self/fd"])
        #expect(seen == "0\n1\n2\n3\n", "3 is the folder that the tool reads")
    }

    @Test("it is started at most once in 2 s a chat, and not at all where there is none, or it can't be started")
    func pace() {
        let hook = MessageHook(["true"])
        #expect(hook.run(chat: "kitchen", label: "Bob", text: "one", user: "", rank: .stranger, at: 10_000))
        #expect(!hook.run(chat: "kitchen", label: "Bob", text: "two", user: "", rank: .stranger, at: 11_999))
        #expect(hook.run(chat: "garden", label: "Bob", text: "two", user: "", rank: .stranger, at: 11_999))
        #expect(hook.run(chat: "kitchen", label: "Bob", text: "three", user: "", rank: .stranger, at: 12_000))
        #expect(!MessageHook([]).run(chat: "kitchen", label: "Bob", text: "one", user: "", rank: .stranger, at: 0))
        #expect(
            !MessageHook(["/nowhere/at-all"]).run(
                chat: "kitchen", label: "Bob", text: "one", user: "", rank: .stranger, at: 0))
    }

    @Test("what comes too soon is told at the end of the 2 s, the latest of it, unless somebody has looked")
    func trailing() async throws {
        let file = folder.path + "/told"
        let hook = MessageHook(["sh", "-c", #"echo "$INKLING_CHAT $INKLING_TEXT" >>"$0"; echo . >>"$0""#, file])
        #expect(hook.nextDeadline == nil)
        hook.run(chat: "kitchen", label: "Bob", text: "one", user: "", rank: .stranger, at: 10_000)
        #expect(try await written("told") == ["kitchen one"])
        hook.run(chat: "kitchen", label: "Bob", text: "two", user: "", rank: .stranger, at: 10_500)
        hook.run(chat: "kitchen", label: "Bob", text: "three", user: "", rank: .stranger, at: 11_000)
        #expect(hook.nextDeadline == 12_000)
        hook.tick(at: 11_999) { _ in true }
        #expect(try await written("told") == ["kitchen one"])
        try FileManager.default.removeItem(atPath: file)
        hook.tick(at: 12_000) { _ in true }
        #expect(try await written("told") == ["kitchen three"])
        hook.run(chat: "kitchen", label: "Bob", text: "four", user: "", rank: .stranger, at: 13_000)
        hook.tick(at: 14_000) { _ in false }
        hook.tick(at: 16_000) { _ in true }
        // The last command may still be running.
        for step in 1...500 where hook.nextDeadline != nil {
            try await Task.sleep(for: .milliseconds(10))
            hook.tick(at: 16_000 + Int64(step)) { _ in true }
        }
        #expect(hook.nextDeadline == nil, "it was read")
        #expect(try await written("told") == ["kitchen three"])
    }

    @Test("what is wrong with it is reported, once for each reason")
    func faults() async throws {
        var reasons: [String] = []
        let missing = MessageHook(["/nowhere/at-all"]) { reasons.append($0) }
        for time in [Int64(10_000), 20_000] {
            missing.run(chat: "kitchen", label: "Bob", text: "one", user: "", rank: .stranger, at: time)
        }
        #expect(reasons == ["/nowhere/at-all can't be started: No such file or directory"])
        reasons = []
        let failing = MessageHook(["sh", "-c", "exit 3"]) { reasons.append($0) }
        failing.run(chat: "kitchen", label: "Bob", text: "one", user: "", rank: .stranger, at: 10_000)
        for step in 1...500 where reasons.isEmpty {
            try await Task.sleep(for: .milliseconds(10))
            failing.tick(at: 10_000 + Int64(step)) { _ in true }
        }
        #expect(reasons == ["it ended with status 3"])
    }

    @Test("few of them run at the same time, and those that have ended count no more")
    func running() async throws {
        let hook = MessageHook(["sleep", "0.5"])
        let started = (0..<20).count {
            hook.run(chat: "chat \($0)", label: "Bob", text: "hello", user: "", rank: .stranger, at: 0)
        }
        #expect(started == MessageHook.mostRunning)
        var isRoom = false
        for _ in 0..<500 where !isRoom {
            try await Task.sleep(for: .milliseconds(10))
            isRoom = hook.run(chat: "chat 20", label: "Bob", text: "hello", user: "", rank: .stranger, at: 2_500)
        }
        #expect(isRoom)
    }

    // R40
    @Test("of what waits the one of the highest rank is told, and the latest of these; a stranger's replaces none")
    func rank() async throws {
        let file = folder.path + "/ranks"
        let hook = MessageHook(["sh", "-c", #"{ echo "$INKLING_TEXT [$INKLING_VERIFIED]"; echo .; } >"$0""#, file])
        func run(_ text: String, _ rank: SenderRank, at time: Int64) {
            hook.run(chat: "kitchen", label: "Bob", text: text, user: "", rank: rank, at: time)
        }
        run("one", .stranger, at: 10_000)
        #expect(try await written("ranks") == ["one []"])
        run("two", .met, at: 10_100)
        run("three", .met, at: 10_200)
        run("four", .member, at: 10_300)
        run("five", .stranger, at: 10_400)
        try FileManager.default.removeItem(atPath: file)
        run("six", .stranger, at: 12_000)
        #expect(try await written("ranks") == ["three []"], "also if a stranger's comes when it is due")
    }

    @Test("one that runs for 30 s keeps no other from being started; above 32 the oldest ends with its children")
    func dialogs() async throws {
        let file = folder.path + "/ended"
        let script =
            #"trap 'echo .; exit' TERM; [ "$INKLING_CHAT" = "chat 0" ] && exec >>"$0" && echo term; sleep 9 & wait"#
        let hook = MessageHook(["sh", "-c", script, file])
        var (started, time) = (0, Int64(0))
        for round in 0..<4 {
            time = Int64(round) * MessageHook.longestCounted
            for number in 0..<20
            where hook.run(
                chat: "chat \(started)", label: "Bob", text: "\(number)", user: "", rank: .met, at: time)
            { started += 1 }
            #expect(started == (round + 1) * MessageHook.mostRunning)
        }
        // The oldest shell has set its trap, and would run it.
        for _ in 0..<500 where folder.text("ended") != "term\n" { try await Task.sleep(for: .milliseconds(10)) }
        try await Task.sleep(for: .milliseconds(200))
        #expect(folder.text("ended") == "term\n", "32 may run")
        time += MessageHook.longestCounted
        #expect(hook.run(chat: "last", label: "Bob", text: "x", user: "", rank: .met, at: time))
        #expect(try await written("ended") == ["term"])
        for _ in 0..<MessageHook.mostAtAll { hook.tick(at: time) { _ in false } }
    }

    /// The files of a hook that nothing is wrong with.
    private func trusted() throws -> (settings: String, program: String) {
        let (settings, program) = (folder.path + "/config.toml", folder.path + "/notify")
        for path in [settings, program] { try Data().write(to: URL(fileURLWithPath: path)) }
        chmod(folder.path, 0o755)
        chmod(program, 0o755)
        chmod(settings, 0o644)
        return (settings, program)
    }

    private func fault(_ settings: String, _ program: String = "notify") -> String? {
        HookTrust.fault(settings: settings, program: program, searchPath: "/nowhere:\(folder.path)")
    }

    @Test("settings, a folder or a program that others can write start nothing")
    func trust() throws {
        let (settings, program) = try trusted()
        #expect(fault(settings) == nil && fault(settings, program) == nil)
        for path in [settings, program, folder.path] {
            let mode: mode_t = path == settings ? 0o644 : 0o755
            chmod(path, mode | 0o002)
            #expect(fault(settings)?.contains("all users of this machine can write \(path)") == true)
            chmod(path, mode)
        }
        #expect(fault(settings) == nil)
    }

    @Test(
        "settings of another user, or a program that a group with others can write, start nothing",
        .enabled(if: geteuid() == 0, "only root can give a file away"))
    func trustOfOthersAsRoot() throws {
        let (settings, program) = try trusted()
        chown(settings, 65_534, 0)
        #expect(fault(settings)?.contains("belongs to another user") == true)
        chown(settings, 0, 0)
        // A group of another user.
        let other = try #require(getpwnam("nobody")).pointee.pw_gid
        chown(program, 0, other)
        chmod(program, 0o775)
        #expect(fault(settings)?.contains("others in its group can write") == true)
        chown(program, 0, 0)
        #expect(fault(settings) == nil, "a group of root alone")
    }

    @Test("a text that is too long for an environment is cut between two characters")
    func length() {
        let long = String(repeating: "\u{E9}", count: 40_000)
        let value = MessageHook.value(long)
        #expect(value.utf8.count <= MessageHook.longestValue && value.hasSuffix("\u{E9}\u{2026}"))
        #expect(MessageHook.value("short") == "short")
    }
}
