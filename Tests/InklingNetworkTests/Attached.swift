import Foundation
import Glibc
import Testing

/// Whether each node of the tests is a daemon with an attached front end (`INKLING_NETWORK_ATTACHED=1`).
let isAttached = ProcessInfo.processInfo.environment["INKLING_NETWORK_ATTACHED"] == "1"

extension Trait where Self == ConditionTrait {
    /// Disables a test when each node is a daemon, because the test needs programs with their own nodes.
    ///
    /// - Parameter reason: why the test needs them.
    static func standalone(_ reason: String) -> Self { .disabled(if: isAttached, "left out attached: \(reason)") }
}

/// `inkling daemon` on a host.
final class DaemonProcess: Sendable {
    private let child: Child

    /// Starts a daemon, and waits until front ends can connect to it.
    ///
    /// - Parameters:
    ///   - socket: the path of the socket on that host.
    ///   - arguments: the arguments of `inkling daemon`.
    init(
        on host: Host, socket: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws {
        child = try Child(
            host.command([try NodeProcess.program(), "daemon", "--log-level", "warning"] + arguments),
            environment: environment)
        let deadline = now() + 5
        while !DaemonProcess.listens(at: "/proc/\(host.processID)/root\(socket)") {
            guard child.ending == nil, now() < deadline else {
                throw HarnessError("no daemon listens at \(socket): \(child.errorText)")
            }
            try await pause(0.003)
        }
    }

    /// Starts a daemon for the front ends at a terminal with a certain home directory.
    static func atHome(_ home: String, on host: Host, _ arguments: [String]) async throws -> DaemonProcess {
        try await DaemonProcess(
            on: host, socket: "\(home)/.local/state/inkling/socket", arguments,
            environment: ["HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": ""])
    }

    /// The process ID of the daemon's program, in the test's process namespace.
    var program: pid_t? { child.onlyChild }
    var ending: Child.Ending? { child.ending }
    var errorText: String { child.errorText }

    /// Sends a signal to the daemon's program, if it still runs.
    func signal(_ number: Int32) {
        if let program { kill(program, number) }
        // The signal also stopped the wrapper process in front of the program.
        if number == SIGCONT { child.signal(SIGCONT) }
    }

    func waitForEnd() async throws -> Child.Ending { try await child.waitForEnd() }

    /// Whether a process accepts connections at the path. A killed daemon leaves its socket as a file.
    private static func listens(at path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        } == 0
    }
}

/// The arguments of `inkling chat` after the chat, split between a daemon and its front end.
struct AttachedArguments {
    /// The options of a node, for the daemon.
    private(set) var daemon: [String] = []
    /// The options of a chat, for the front end.
    private(set) var frontEnd: [String] = []

    private static let nodeOptions: Set = [
        "--name", "--peer", "--port", "--bind", "--interface", "--without-interface", "--log-level",
    ]
    private static let nodeFlags: Set = ["--routed", "--no-discovery"]

    init(_ arguments: [String]) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if Self.nodeOptions.contains(word) {
                daemon.append(word)
                if let value = rest.popFirst() { daemon.append(value) }
            } else if Self.nodeFlags.contains(word) {
                daemon.append(word)
            } else {
                frontEnd.append(word)
            }
        }
    }
}
