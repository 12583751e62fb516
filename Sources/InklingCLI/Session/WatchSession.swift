import Glibc
import Inkling
import InklingControl
import InklingModel
import InklingText

/// Prints who is typing, a line for each change, until it is ended or nobody reads.
final class WatchSession: Session {
    /// How long whoever types is looked for when that is asked for once.
    private static let onceTime: Int64 = 2_000

    private let host: SessionHost
    private let asJSON: Bool
    private let onceAt: Int64?
    private var people: [Person] = []
    /// Whoever has left stays in them: a label doesn't get shorter while somebody looks at it.
    private var labels: Labels
    private var last: String?
    private var notices = NoticePrinter()

    init(_ host: SessionHost, identity: NodeIdentity, asJSON: Bool, isOnce: Bool) {
        self.host = host
        labels = Labels(ownName: identity.name)
        self.asJSON = asJSON
        onceAt = isOnce ? host.now.steady + Self.onceTime : nil
    }

    func begin() {
        host.node?.ask(.setAway(true))
        host.node?.ask(.join(host.settings.chat))
    }

    func take(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): take(timed.event)
        case .answer(.failed(let error), to: .join):
            Output.error.write(line: "inkling: " + SafeText.line(error.text))
            host.end(status: 1)
        case .answer(.peers(let peers), to: .join):
            for peer in peers { labels.update(Labels.Person(peer)) }
            if onceAt == nil { show() }
        case .waited, .own, .answer: break
        case .ended: host.end(status: 0)
        }
    }

    private func take(_ event: Event) {
        switch event {
        case .peer(host.settings.chat.name, let peer, _): labels.update(Labels.Person(peer))
        case .typing(host.settings.chat.name, let people):
            self.people = people
            for person in people where !labels.contains(person.user.description) {
                labels.update(Labels.Person(person))
            }
            if onceAt == nil { show() }
        case .notice(let notice): notices.print(notice)
        case .peer, .typing, .message, .delivered, .failed, .missed: break
        }
    }

    private func show() {
        let line = line
        guard line != last else { return }
        last = line
        host.output.write(line: line)
    }

    private var line: String {
        let text = IndicatorText.text(
            people: people.map { labels.label(of: $0.user.description) }, style: host.settings.indicator)
        guard asJSON else { return text }
        return JSONValue.object([
            ("chat", .string(host.settings.chat.name)), ("text", .string(text)),
            ("users", .array(people.map { .person($0) })),
        ]).text
    }

    func tick() {
        show()
        host.end(status: 0)
    }

    func take(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP: host.end(status: 0)
        default: break
        }
    }

    func outputAbandoned() {
        guard let code = host.output.failure, code != EPIPE else { return host.end(status: 0) }
        Output.error.write(line: "inkling: " + Output.failureText(code))
        host.end(status: 1)
    }

    var nextTick: Int64? { onceAt }
}
