import Inkling
import InklingModel
import InklingText

/// Sends one message to all people in the chat, and waits for the outcome.
final class SendSession: CommandSession {
    /// The longest wait for acknowledgements, in milliseconds.
    private static let longestDelivery: Int64 = 10_000

    let host: SessionHost
    private let text: String
    private let began: Int64
    private var wait: ArrivalWait
    /// The keys of the people in the chat.
    private var present: Set<PublicKey> = []
    private var notices = NoticePrinter()
    /// Whether the node was in the chat before, and so has found all people already.
    private var wasThere = false
    /// Whether the node keeps messages to the chat for people who are offline.
    private var keepsTexts = false
    private var joinID: RequestID?
    private var sendID: RequestID?
    private var phase = Phase.joining
    /// The result; nil before the end, or without a result.
    private(set) var result: Result?

    struct Result {
        /// The outcome; nil if the chat was empty.
        var outcome: DeliveryOutcome?
        /// The labels of the people.
        var labels: Labels
    }

    private enum Phase {
        case joining
        /// The node still looks for people.
        case waiting
        /// The session waits for the list of people, and then for the request to send.
        case asking([Peer])
        case delivering(Delivery, until: Int64)
        /// The session only waits for the labels.
        case naming(DeliveryOutcome?)
        case over
    }

    /// Makes a session.
    ///
    /// - Parameter longestWait: the longest wait for a person.
    init(_ host: SessionHost, text: String, longestWait: Duration) {
        self.host = host
        self.text = text
        began = host.now.steady
        wait = ArrivalWait(longest: longestWait)
    }

    private var chat: String { host.settings.chat.name }

    func begin() {
        if host.isAttached { host.node?.ask(.chats) }
        joinID = host.node?.nextRequestID
        host.node?.ask(host.settings.join)
    }

    // MARK: Output of the node

    func receive(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): receive(timed.event)
        case .answer(.failed(let error), to: joinID), .answer(.failed(let error), to: sendID):
            fail(SafeText.line(error.text))
        case .answer(let answer, _): receive(answer)
        case .waited, .own, .user: break
        case .ended(let end): fail("\(end.text), and what became of the message is unknown")
        }
    }

    private func receive(_ event: Event) {
        switch event {
        case .peer(let change) where change.chat == chat: apply(change.peer)
        case .notice(let notice): notices.print(notice)
        default: break
        }
        guard case .delivering(var delivery, let end) = phase else { return }
        delivery.take(event)
        if delivery.isComplete { return conclude(delivery.result) }
        phase = .delivering(delivery, until: end)
    }

    private func receive(_ answer: ServiceAnswer) {
        switch (phase, answer) {
        case (.joining, .chats(let chats)):
            wasThere = chats.contains { $0.name == chat && !$0.isLooking }
            keepsTexts = chats.contains { $0.name == chat && $0.holdsTexts }
        case (.joining, .joined(let chat, let peers)):
            host.warn(of: chat)
            phase = .waiting
            peers.forEach(apply)
            if wasThere, !present.isEmpty { send() }
        case (.asking, .peers(let peers)): phase = .asking(peers)
        case (.asking(let people), .sent(let message, let recipients)):
            let delivery = Delivery(message, to: chat, recipients: recipients, people: people)
            if delivery.isComplete { return conclude(delivery.result) }
            phase = .delivering(delivery, until: host.now.steady + Self.longestDelivery)
        case (.naming(let outcome), .peers(let peers)):
            result = Result(outcome: outcome, labels: Labels(ownName: host.node?.identity.name ?? "", peers))
            finish(status: 0)
        default: break
        }
    }

    private func apply(_ peer: Peer) {
        if peer.presence == .offline { present.remove(peer.key) } else { present.insert(peer.key) }
        _ = wait.take(present: present.count, after: .milliseconds(host.now.steady - began))
    }

    // MARK: Time

    var nextTick: Int64? {
        switch phase {
        case .waiting: began + Int64((wait.end / .milliseconds(1)).rounded(.up))
        case .delivering(_, let end): end
        case .joining, .asking, .naming, .over: nil
        }
    }

    func tick() {
        guard let time = nextTick, time <= host.now.steady else { return }
        switch phase {
        case .waiting where present.isEmpty && !keepsTexts: conclude(nil)
        case .waiting: send()
        case .delivering(let delivery, _): conclude(delivery.result)
        case .joining, .asking, .naming, .over: break
        }
    }

    private func send() {
        phase = .asking([])
        host.node?.ask(.peers(chat: chat))
        sendID = host.node?.nextRequestID
        host.node?.ask(.send(text, chat: chat))
    }

    // MARK: End

    private func conclude(_ outcome: DeliveryOutcome?) {
        phase = .naming(outcome)
        host.node?.ask(.peers(chat: chat))
    }

    private func fail(_ text: String) {
        if case .over = phase { return }
        Output.error.write(line: "inkling: " + text)
        finish(status: 1)
    }

    private func finish(status: Int32) {
        phase = .over
        host.finish(status: status)
    }

    func abandon() { phase = .over }
}
