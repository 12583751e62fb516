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
            finish(status: 1, "the daemon is not in \(SafeText.line(chat)); to see where it is: inkling chats")
        case .answer(.failed(let error), _):
            finish(status: 1, SafeText.line(error.text))
        case .answer(let answer, _):
            self.answer = answer
            finish(status: 0)
        case .ended(let why): finish(status: 1, why.text)
        case .event, .waited, .own, .user: break
        }
    }

    private func finish(status: Int32, _ complaint: String? = nil) {
        guard !hasEnded else { return }
        hasEnded = true
        if let complaint { Output.error.write(line: "inkling: " + complaint) }
        host.finish(status: status)
    }

    func abandon() { hasEnded = true }
}
