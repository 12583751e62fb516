import Foundation
import InklingText
import NIOCore
import NIOPosix

/// An app that attaches to `inkling daemon`, like all other front ends of its user. The app prints the events of a
/// chat, and sends each line of its input as a message.
///
///     swift run inkling-example-attach CHAT [SOCKET]
///
/// Protocol/api.md describes the lines of JSON on the socket.
@main struct LineChat {
    /// A request. The answer to a request with an `id` has the same `id`.
    struct Request: Encodable {
        let `do`: String
        var chat: String?
        var text: String?
        var id: Int?
    }

    /// A line of the daemon. Missing members are nil, and others are ignored.
    struct Line: Decodable {
        struct Person: Decodable { let name: String }

        let on: String
        let chat, text, name, presence: String?
        let from: Person?
        let users, peers: [Person]?
        let own, unread: Bool?
        let to, id, line: Int?
    }

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        let folder = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
        let socket = arguments.dropFirst().first ?? folder + "/inkling/socket"
        guard let chat = arguments.first else { end("usage: inkling-example-attach CHAT [SOCKET]", status: 64) }
        do {
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(unixDomainSocketPath: socket) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            try await connection.executeThenClose { input, output in try await run(chat, input, output) }
        } catch {
            end("can't talk to the daemon at \(socket): \(error). Start it with: inkling daemon", status: 1)
        }
    }

    static func run(
        _ chat: String, _ input: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        func ask(_ request: Request) async throws {
            try await output.write(ByteBuffer(bytes: JSONEncoder().encode(request) + [0x0A]))
        }
        try await ask(Request(do: "join", chat: chat, id: 1))
        // The task reads a line after it sent the one before. The end of input only detaches: the daemon stays in the
        // chat.
        Task {
            while let text = try await NIOThreadPool.singleton.runIfActive({ readLine() }) {
                try await ask(Request(do: "send", chat: chat, text: text))
            }
            try await ask(Request(do: "quit"))
        }
        for try await text in input.splitUTF8Lines() {
            let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
            switch line.on {
            case "ready": say("attached as \(line.name ?? "")")
            case "ok" where line.id == 1: say("there: " + (line.peers ?? []).map(shown).joined(separator: ", "))
            case "peer": say("\(line.name.flatMap { SafeText.name($0) } ?? "Someone"): \(line.presence ?? "")")
            case "typing": say(IndicatorText.text(names: (line.users ?? []).map(shown)))
            case "message":
                say("\(line.own == true ? "You" : line.from.map(shown) ?? ""): \(SafeText.message(line.text ?? ""))")
                // Without this request the message stays unread, and the next front end shows it too.
                if line.unread == true { try await ask(Request(do: "read", chat: chat)) }
            case "sent": say("sent to \(line.to ?? 0)")
            case "delivered", "failed": say(line.on)
            case "notice": say(SafeText.line(line.text ?? ""))
            // An error that ends the connection has no number of one of our lines.
            case "error" where line.line == nil || line.id == 1: end(SafeText.line(line.text ?? ""), status: 1)
            case "error": say(SafeText.line(line.text ?? ""))
            default: break  // What later versions tell.
            }
        }
    }

    static func shown(_ person: Line.Person) -> String { SafeText.name(person.name) ?? "Someone" }

    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    static func end(_ text: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("inkling-example-attach: \(text)\n".utf8))
        exit(status)
    }
}
