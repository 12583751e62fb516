import Foundation
import Glibc
import Synchronization

/// One of the friends: a real `inkling chat --json`, in the secret chat and in the open one.
final class Node: Sendable {
    /// The members of a line of the node's output that the benchmark reads.
    private struct Event: Decodable {
        struct Person: Decodable { let name: String }

        let on: String
        let chat: String?
        let name: String?
        let presence: String?
        let port: UInt16?
        let users: [Person]?
    }

    private struct State {
        var port: UInt16?
        var lineCount = 0
        /// The presence of people, by chat and name.
        var presence: [String: [String: String]] = [:]
        /// The times at which a person went offline.
        var losses: [(at: Double, chat: String, name: String)] = []
        /// The changes of the friend's typing in the secret chat.
        var typing: [(at: Double, isTyping: Bool)] = []
    }

    let name: String
    private let friendName: String
    private let child: Child
    private let state: StateBox

    /// A box for the `Mutex`. A closure made before `self` exists can capture the box.
    private final class StateBox: Sendable {
        let mutex = Mutex(State())
    }

    init(
        _ name: String, friend: String, on host: BenchNetwork.Host, program: String, secret: String, stateName: String,
        options: [String] = []
    ) throws {
        self.name = name
        friendName = friend
        let state = StateBox()
        self.state = state
        child = try Child(
            host.command(
                [
                    program, "chat", "--json", BenchNetwork.secretChat, "--secret", secret, "--name", name,
                    "--state-dir", "/run/inkling-\(stateName)",
                ] + options)
        ) { text, arrival in
            state.mutex.withLock { $0.lineCount += 1 }
            // Message lines come by the thousand. The benchmark ignores them without parsing.
            guard let event = Node.decode(text) else { return }
            state.mutex.withLock { Node.apply(event, friend: friend, arrival, to: &$0) }
        }
        child.write(#"{"do":"join","chat":"\#(BenchNetwork.openChat)"}"#)
    }

    private static let kinds = [#""on":"ready""#, #""on":"peer""#, #""on":"typing""#].map { Array($0.utf8) }

    private static func decode(_ text: [UInt8]) -> Event? {
        let head = text.prefix(40)
        guard kinds.contains(where: { head.contains($0) }) else { return nil }
        return try? JSONDecoder().decode(Event.self, from: Data(text))
    }

    private static func apply(_ event: Event, friend: String, _ arrival: Double, to state: inout State) {
        switch event.on {
        case "ready": state.port = event.port
        case "peer":
            guard let chat = event.chat, let name = event.name, let presence = event.presence else { return }
            if presence == "offline" { state.losses.append((arrival, chat, name)) }
            state.presence[chat, default: [:]][name] = presence
        case "typing":
            guard event.chat == BenchNetwork.secretChat, let users = event.users else { return }
            state.typing.append((arrival, users.contains { $0.name == friend }))
        default: break
        }
    }

    var processID: pid_t { child.processID }
    var port: UInt16? { state.mutex.withLock { $0.port } }
    /// The exit status, or 128 and the signal that ended the node; nil while it runs.
    var status: Int32? { child.status }
    var lineCount: Int { state.mutex.withLock { $0.lineCount } }

    func readOutput(linesPerSecond: Int?) { child.readOutput(linesPerSecond: linesPerSecond) }

    /// Returns whether the node shows its friend as online in all of these chats.
    func showsFriend(in chats: [String]) -> Bool {
        state.mutex.withLock { state in chats.allSatisfy { state.presence[$0]?[friendName] == "online" } }
    }

    /// Returns how often the node has shown its friend as offline since `begin`.
    func losses(since begin: Double) -> Int {
        state.mutex.withLock { state in state.losses.count { $0.at >= begin && $0.name == friendName } }
    }

    /// Returns the time when the node first showed a start or stop of its friend's typing since `begin`.
    func arrival(of isTyping: Bool, since begin: Double) -> Double? {
        state.mutex.withLock { state in
            for edge in state.typing.reversed().prefix(while: { $0.at >= begin }).reversed()
            where edge.isTyping == isTyping {
                return edge.at
            }
            return nil
        }
    }

    /// Whether the node now shows its friend as typing.
    var showsTyping: Bool { state.mutex.withLock { $0.typing.last?.isTyping ?? false } }

    func compose(_ text: String) {
        child.write(#"{"do":"compose","chat":"\#(BenchNetwork.secretChat)","text":"\#(text)"}"#)
    }

    /// Ends the node with a goodbye, and kills it if it does not end.
    func quit() {
        child.closeInput()
        if child.waitForEnd(seconds: 2) == nil { child.end() }
        _ = child.waitForEnd(seconds: 2)
    }
}
