import Foundation
import Glibc
import Synchronization

/// One line of a node's JSON output. Missing members are nil.
struct Event: Decodable, Sendable {
    struct Person: Decodable, Sendable, Hashable {
        let user: String
        let name: String
    }

    let on: String
    let at: Double
    let user: String?
    let name: String?
    let port: UInt16?
    let chat: String?
    let presence: String?
    let why: String?
    let users: [Person]?
    let text: String?
    let from: Person?
    let message: UInt64?
    let to: Int?
    let code: String?
    let key: String?
    let verified: Bool?
    let version: String?
    let links: Int?
    let datagramsSent, datagramsReceived, drops: [String: Int]?
    let bytesSent, bytesReceived: Int?
    let messages, outcomes: Int?
    let instance: String?
    let found: [Sighting]?

    /// An instance of the chat that discovery found.
    struct Sighting: Decodable, Sendable {
        let instance: String
    }

    /// The names of the people who type in this event; nil for an event of another kind.
    var typists: [String]? { on == "typing" ? users?.map(\.name) ?? [] : nil }

    func isPresence(_ presence: String, of name: String) -> Bool {
        on == "peer" && self.name == name && self.presence == presence
    }
}

/// A running `inkling chat … --json` on a host.
final class NodeProcess: Sendable {
    let name: String
    let host: Host
    /// The time just before the program was started.
    let started: Double
    private let child: Child
    private let decoded = Mutex<[Event]>([])

    /// Starts a node and waits for its `ready`. The node's state is in the host's `/run`, and vanishes with the host.
    ///
    /// - Parameters:
    ///   - program: the program's path; nil for the one built together with the tests.
    ///   - script: a shell script that filters the node's output.
    init(
        _ name: String, on host: Host, chat: String? = nil, state: String? = nil, _ arguments: [String] = [],
        environment: [String: String] = [:], program: String? = nil, readBy script: String? = nil
    ) async throws {
        self.name = name
        self.host = host
        var command = [try program ?? NodeProcess.program(), "chat"] + (chat.map { [$0] } ?? []) + ["--json"]
        command += ["--state-dir", "/run/inkling-\(state ?? name)", "--name", name] + arguments
        started = now()
        if let script { command = ["sh", "-c", "\"$@\" | {\n\(script)\n}", "sh"] + command }
        child = try Child(host.command(command), environment: environment)
        try await wait("ready") { $0.on == "ready" }
    }

    /// Returns the program beside the test bundle, or the one that the environment names.
    static func program() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("inkling").path
        let path = environment["INKLING_PROGRAM"] ?? beside
        guard access(path, X_OK) == 0 else { throw HarnessError("no program at \(path): build it first") }
        return path
    }

    // MARK: - Commands

    /// Sends a command.
    ///
    /// - Returns: The time just before.
    @discardableResult
    func tell(_ command: [String: String]) -> Double {
        let bytes = (try? JSONSerialization.data(withJSONObject: command)) ?? Data()
        let line = String(decoding: bytes, as: UTF8.self)
        let time = now()
        child.write(line)
        return time
    }

    /// Sends a line unchanged.
    func write(_ line: String) { child.write(line) }

    @discardableResult
    func compose(_ text: String) -> Double { tell(["do": "compose", "text": text]) }

    @discardableResult
    func send(_ text: String) -> Double { tell(["do": "send", "text": text]) }

    @discardableResult
    func quit() -> Double { tell(["do": "quit"]) }

    @discardableResult
    func endInput() -> Double {
        let time = now()
        child.closeInput()
        return time
    }

    /// Sends a signal to the program.
    ///
    /// - Returns: The time just before.
    @discardableResult
    func signal(_ number: Int32) throws -> Double {
        guard let program else { throw HarnessError("\(name) has ended") }
        let time = now()
        kill(program, number)
        // The signal also stopped the wrapper process in front of the program.
        if number == SIGCONT { child.signal(SIGCONT) }
        return time
    }

    func waitForEnd() async throws -> Child.Ending { try await child.waitForEnd() }

    var ending: Child.Ending? { child.ending }
    /// The process ID of the node's program, in the test's process namespace.
    var program: pid_t? { child.onlyChild }
    var errorText: String { child.errorText }

    // MARK: - Output

    var events: [Event] {
        decoded.withLock { events in
            for line in child.output(from: events.count) {
                do {
                    events.append(try JSONDecoder().decode(Event.self, from: Data(line.text.utf8)))
                } catch {
                    events.append(Event(unreadable: line))
                }
            }
            return events
        }
    }

    /// The number of lines so far. A test uses it as a mark to separate later lines from earlier ones.
    var mark: Int { child.outputCount }

    /// Waits for the first matching event from `mark` on.
    @discardableResult
    func wait(
        _ what: String, from mark: Int = 0, within seconds: Double = 5, where fits: (Event) -> Bool
    ) async throws -> Event {
        let deadline = now() + seconds
        var next = mark
        while true {
            let events = events
            for event in events.dropFirst(next) where fits(event) { return event }
            next = max(next, events.count)
            if now() > deadline || ending != nil {
                let tail = child.output.suffix(12).map(\.text).joined(separator: "\n")
                let state = ending.map { "ended: \($0)" } ?? "runs"
                throw HarnessError("\(name) did not show \(what) in \(seconds) s; it \(state)\n\(tail)\n\(errorText)")
            }
            try await pause(0.003)
        }
    }

    @discardableResult
    func waitForPresence(
        _ presence: String, of peer: NodeProcess, from mark: Int = 0, within seconds: Double = 5
    ) async throws -> Event {
        try await wait("\(peer.name) \(presence)", from: mark, within: seconds) {
            $0.isPresence(presence, of: peer.name)
        }
    }

    /// Waits until the newest list of typists from `mark` on contains a peer, or no longer does.
    @discardableResult
    func waitForTyping(
        of peer: NodeProcess, _ isTyping: Bool = true, from mark: Int, within seconds: Double = 5
    ) async throws -> Event {
        try await wait("\(peer.name) \(isTyping ? "" : "not ")typing", from: mark, within: seconds) {
            $0.typists?.contains(peer.name) == isTyping
        }
    }

    /// Returns the number of events of a kind so far.
    func count(of kind: String) -> Int { events.count { $0.on == kind } }

    /// Returns the events about people from `mark` on: presence, typing, messages.
    func shown(from mark: Int) -> [Event] {
        events.dropFirst(mark).filter { ["peer", "typing", "message"].contains($0.on) }
    }
}

extension Event {
    init(unreadable line: OutputLine) {
        self.init(
            on: "unreadable", at: line.arrival, user: nil, name: nil, port: nil, chat: nil, presence: nil, why: nil,
            users: nil, text: line.text, from: nil, message: nil, to: nil, code: nil, key: nil, verified: nil,
            version: nil, links: nil, datagramsSent: nil, datagramsReceived: nil, drops: nil, bytesSent: nil,
            bytesReceived: nil, messages: nil, outcomes: nil, instance: nil, found: nil)
    }
}

/// Waits until each of the nodes has shown all others as online.
func waitUntilAllOnline(_ nodes: [NodeProcess], within seconds: Double = 5) async throws {
    for node in nodes {
        for peer in nodes where peer !== node {
            try await node.waitForPresence("online", of: peer, within: seconds)
        }
    }
}

/// Starts one node on each host at the same time.
func startNodes(_ names: [String], on hosts: [Host], chat: String? = nil, _ arguments: [String] = []) async throws
    -> [NodeProcess]
{
    try await withThrowingTaskGroup(of: (Int, NodeProcess).self) { group in
        for (index, name) in names.enumerated() {
            group.addTask { (index, try await NodeProcess(name, on: hosts[index], chat: chat, arguments)) }
        }
        var nodes: [(Int, NodeProcess)] = []
        for try await node in group { nodes.append(node) }
        return nodes.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
