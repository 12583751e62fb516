import Foundation
import Glibc
import Inkling
import Testing

/// A node whose helper is a script of the test.
@Suite("The helper of the last will", .timeLimit(.minutes(1)))
struct LastWillTests {
    /// A program that runs a script of the shell in a directory.
    private static func helper(_ script: String, in directory: TemporaryFolder) throws -> String {
        let path = "\(directory.path)/helper"
        try directory.write("#!/bin/sh\ncd '\(directory.path)'\n\(script)\n", to: "helper")
        #expect(chmod(path, 0o700) == 0)
        return path
    }

    private static func text(_ name: String, in directory: TemporaryFolder) async throws -> String {
        for _ in 0..<500 {
            if let text = directory.text(name), text.hasSuffix("\n") { return text.trimmingCharacters(in: .newlines) }
            try await Task.sleep(for: .milliseconds(10))
        }
        return ""
    }

    // L-33
    @Test("it gets the node's connection and UDP socket, and no other descriptor (R34)")
    func descriptors() async throws {
        let directory = try TemporaryFolder()
        let script = "ls /proc/self/fd >all; tr '\\n' ' ' <all >seen; echo >>seen; exec cat >/dev/null"
        let helper = try Self.helper(script, in: directory)
        // This descriptor is inherited, like a connection that was accepted without close-on-exec.
        let leaking = fcntl(STDERR_FILENO, F_DUPFD, 200)
        defer { close(leaking) }
        let node = try await NodeTests.node("Alice") { $0.lastWillHelper = helper }
        #expect(try await Self.text("seen", in: directory) == "0 1 2 3 4 ", "4 is the folder that the tool reads")
        await node.stop()
    }

    // L-33
    @Test("one that was stopped is killed 100 ms after its end was due, and leaves no zombie")
    func stopped() async throws {
        let directory = try TemporaryFolder()
        let helper = try Self.helper("echo $$ >process; kill -STOP $$", in: directory)
        let node = try await NodeTests.node("Alice") { $0.lastWillHelper = helper }
        let process = try #require(pid_t(try await Self.text("process", in: directory)))
        #expect(kill(process, 0) == 0)
        let begin = ContinuousClock.now
        await node.stop()
        #expect(kill(process, 0) == -1 && errno == ESRCH)
        #expect(begin.duration(to: .now) < .seconds(5))
        kill(process, SIGKILL)
    }
}
