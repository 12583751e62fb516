import Inkling
import InklingControl
import InklingModel
import InklingText

/// Asks the node for one answer.
final class QuestionSession: CommandSession {
    let host: SessionHost
    private let request: ServiceRequest
    /// The answer; nil until it comes, or if none comes.
    private(set) var answer: ServiceAnswer?
    private var hasEnded = false
    /// The chat of the request, if the daemon is not in it.
    private var unknownChat: String?
    let identity: NodeIdentity
    /// The version of the node's program.
    let version: String

    init(_ host: SessionHost, _ node: any ChatService, _ request: ServiceRequest) {
        self.host = host
        identity = node.identity
        version = (node as? AttachedNode)?.version ?? programVersion
        self.request = request
    }

    func begin() { host.node?.ask(request) }

    func receive(_ output: ServiceOutput) {
        switch output {
        case .answer(.failed(.unknownChat(let chat)), _):
            unknownChat = chat
            host.node?.ask(.chats)
        case .answer(let answer, _):
            if let unknownChat { return finish(status: 1, Self.complaint(about: unknownChat, answer)) }
            if case .failed(let error) = answer { return finish(status: 1, SafeText.line(error.text)) }
            self.answer = answer
            finish(status: 0)
        case .ended(let why): finish(status: 1, why.text)
        case .event, .waited, .own, .user: break
        }
    }

    /// Returns the complaint about a chat that is not among those of the answer.
    private static func complaint(about chat: String, _ answer: ServiceAnswer) -> String {
        let names = if case .chats(let chats) = answer { chats.map(\.name) } else { [String]() }
        let advice =
            NearestWord.find(chat, among: names).map { "did you mean \(SafeText.line($0))?" }
            ?? "to see where it is: inkling chats"
        return "the daemon is not in \(SafeText.line(chat)); \(advice)"
    }

    private func finish(status: Int32, _ complaint: String? = nil) {
        guard !hasEnded else { return }
        hasEnded = true
        if let complaint { Output.error.write(line: "inkling: " + complaint) }
        host.finish(status: status)
    }

    func abandon() { hasEnded = true }
}
