import Foundation
import Glibc
import Synchronization

/// One of the friends: a real `inkling chat --json`, in the secret chat and in the open one.
final class Node: Sendable {
    /// A line of the node that matters here.
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
        /// Who is there, by chat and name.
        var presence: [String: [String: String]] = [:]
        /// When somebody went offline.
        var losses: [(at: Double, chat: String, name: String)] = []
        /// When the friend was shown to type in the secret chat, or no more.
        var typing: [(at: Double, isTyping: Bool)] = []
    }

    let name: String
    private let friendName: String
    private let child: Child
    private let state: StateBox

    /// `Mutex` can't be captured by the closure that is made before `self` is.
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
            // Messages come by the thousand, and no word of them matters.
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
    /// Its exit status, or 128 and the signal that ended it; nil while it runs.
    var status: Int32? { child.status }
    var lineCount: Int { state.mutex.withLock { $0.lineCount } }

    func readOutput(linesPerSecond: Int?) { child.readOutput(linesPerSecond: linesPerSecond) }

    /// Whether it shows its friend as online in those chats.
    func showsFriend(in chats: [String]) -> Bool {
        state.mutex.withLock { state in chats.allSatisfy { state.presence[$0]?[friendName] == "online" } }
    }

    /// How often it has shown its friend as offline since that time.
    func losses(since begin: Double) -> Int {
        state.mutex.withLock { state in state.losses.count { $0.at >= begin && $0.name == friendName } }
    }

    /// When it first showed since `begin` that its friend types, or no longer does.
    func arrival(of isTyping: Bool, since begin: Double) -> Double? {
        state.mutex.withLock { state in
            for edge in state.typing.reversed().prefix(while: { $0.at >= begin }).reversed()
            where edge.isTyping == isTyping {
                return edge.at
            }
            return nil
        }
    }

    /// Whether it shows at the moment that its friend types.
    var showsTyping: Bool { state.mutex.withLock { $0.typing.last?.isTyping ?? false } }

    func compose(_ text: String) {
        child.write(#"{"do":"compose","chat":"\#(BenchNetwork.secretChat)","text":"\#(text)"}"#)
    }

    /// Lets it say goodbye, and ends it if it does not.
    func quit() {
        child.closeInput()
        if child.waitForEnd(seconds: 2) == nil { child.end() }
        _ = child.waitForEnd(seconds: 2)
    }
}
