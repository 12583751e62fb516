import Glibc
import Inkling
import Logging

/// An end of the benchmark's way through the library, with a node of its own. Writes lines of JSON on standard output.
///
///     inkling-benchmark WAY PORT PEER
///
/// The way `send` begins to type at each line with an odd number on standard input, and stops at the others. The way
/// `call` reports the typists that `onTyping` brings. The way `sequence` reports those of `typing`, and
/// `task` does so on the node's thread.
///
/// Times are in nanoseconds since 1970. The first line comes when the peer is there.
@main struct LibraryBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let port = UInt16(arguments[2]), let peer = UInt16(arguments[3]) else { exit(64) }
        var configuration = Configuration(name: arguments[1])
        configuration.discovery = false
        configuration.lastWill = false
        configuration.port = port
        configuration.peers = ["127.0.0.1:\(peer)"]
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let node = try await Node.start(configuration, logger: logger)
        let chat = try await node.join("kitchen")
        for await timed in chat.events {
            if case .peer = timed.event { break }
        }
        say("{}")
        switch arguments[1] {
        case "send": await send(to: chat)
        case "call": chat.onTyping { report($0) }
        case "task":
            Task(executorPreference: node.taskExecutor) { for await people in chat.typing { report(people) } }
        default: for await people in chat.typing { report(people) }
        }
        try await Task.sleep(for: .seconds(86_400))
    }

    private static func send(to chat: ChatHandle) async {
        while let line = readLine() {
            let number = Int(line) ?? 0
            let sent = now()
            await chat.compose(number % 2 == 1 ? "a" : "")
            say("{\"sent\":\(sent)}")
        }
        exit(0)
    }

    private static func report(_ people: [Person]) {
        let at = now()
        say("{\"typists\":\(people.count),\"at\":\(at)}")
    }

    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private static func say(_ line: String) {
        var line = line + "\n"
        line.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
