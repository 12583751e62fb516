import Inkling
import InklingModel

/// A node that the tests control. The node records its requests, and answers them at once or on ``release()``.
final class FakeNode: ServiceNode {
    var identity = NodeIdentity(
        user: UserID("aaaaaaaaaaaaaaaa").unsafelyUnwrapped, key: Somebody.key, name: "Alice",
        port: 7_000, isTemporary: false)
    private(set) var requests: [ServiceRequest] = []
    private(set) var stops = 0
    /// The prepared answers to certain requests. Other requests get a default answer.
    var answers: [ServiceRequest: ServiceAnswer] = [:]
    /// The answers to the next messages, in order.
    var messageAnswers: [ServiceAnswer] = []
    /// The people of each chat.
    var people: [String: [Peer]] = [:]
    /// The chats that the node is in.
    var chats: [Chat] = []
    /// The number of recipients of each message.
    var recipients = 1
    /// Whether the node's answers wait for ``release()``.
    var isSlow = false
    private var held: [() -> Void] = []
    private var typing: [String: [Person]] = [:]
    private var sent: MessageID = 0
    /// The messages that no reader has to take any more.
    private(set) var settled: [MessageID] = []
    private var sink: (any EventSink)?
    private var events: [TimedEvent] = []
    private var isDelivering = false

    func attach(_ sink: any EventSink) { self.sink = sink }

    func perform(_ request: ServiceRequest, _ completion: @escaping (ServiceAnswer) -> Void) {
        requests.append(request)
        let answer = answer(request)
        if isSlow { held.append { completion(answer) } } else { completion(answer) }
    }

    func edit(_ request: ServiceRequest) -> Bool {
        requests.append(request)
        return answer(request) == .done
    }

    func typists(in chat: String) -> [Person] { typing[chat] ?? [] }

    func settle() { settled += sink?.takeSettled() ?? [] }

    /// Delivers the answers that wait.
    func release(inReverse: Bool = false) {
        let ready = inReverse ? held.reversed() : held
        held = []
        for complete in ready { complete() }
    }

    /// Returns the requests since the last call.
    func takeRequests() -> [ServiceRequest] {
        defer { requests = [] }
        return requests
    }

    /// Reports an event, as a node does: one at a time, and never from within the sink.
    func tell(_ event: Event, at time: Timestamp = 1.5, isDelayed: Bool = false) {
        if case .typing(let chat, let people) = event { typing[chat] = people }
        events.append(TimedEvent(at: time, event: event, isDelayed: isDelayed))
        guard !isDelivering else { return }
        isDelivering = true
        while !events.isEmpty { sink?.take(events.removeFirst()) }
        isDelivering = false
        sink?.flush()
        settle()
    }

    private func answer(_ request: ServiceRequest) -> ServiceAnswer {
        if let answer = answers[request] { return answer }
        switch request {
        case .join(let chat, _, _):
            guard !chats.contains(where: { $0.name == chat.name }) else { return .failed(.chatExists(chat.name)) }
            chats.append(chat)
            return .joined(chat, people[chat.name] ?? [])
        case .leave(let name):
            guard let index = chats.firstIndex(where: { $0.name == name }) else { return .failed(.unknownChat(name)) }
            chats.remove(at: index)
            typing[name] = nil
            return .done
        case .send(_, let name):
            guard chats.contains(where: { $0.name == name }) else { return .failed(.unknownChat(name)) }
            if !messageAnswers.isEmpty { return messageAnswers.removeFirst() }
            sent = MessageID(rawValue: sent.rawValue + 1)
            return .sent(message: sent, recipients: recipients)
        case .peers(let name): return .peers(name.flatMap { people[$0] } ?? [])
        case .rename(let name):
            identity.name = (try? NormalForm.displayName(name)) ?? name
            return .done
        case .identity: return .identity(identity)
        case .chats: return .chats(statuses)
        case .statistics: return .statistics(Statistics())
        case .status: return .status(NodeStatus(since: 1.25, isAway: false, frontEnds: 1, chats: statuses))
        default: return .done
        }
    }

    /// The state of each chat. The node still looks for people in private ones.
    private var statuses: [ChatStatus] {
        chats.map { ChatStatus($0.name, hasSecret: !$0.isOpen, isLooking: !$0.isOpen) }
    }

    func suspend(_ completion: @escaping () -> Void) { completion() }

    func resume() {}

    func stop(_ completion: @escaping () -> Void) {
        stops += 1
        sink?.end()
        sink = nil
        completion()
    }
}

/// The people of the tests.
enum Somebody {
    static let key = PublicKey(String(repeating: "B", count: 42) + "A").unsafelyUnwrapped
    static let bob = Person(user: UserID("bbbbbbbbbbbbbbbb").unsafelyUnwrapped, name: "Bob")
    static let carol = Person(user: UserID("cccccccccccccccc").unsafelyUnwrapped, name: "Carol")

    static func peer(_ person: Person, _ presence: Presence = .online) -> Peer {
        Peer(
            user: person.user, name: person.name, presence: presence, key: key,
            lastSeen: presence == .offline ? 2.5 : nil, onlineSince: presence == .offline ? nil : 1.5, firstSeen: 0.5,
            isVerified: true, names: [person.name, "x\u{1B}"], namedSince: 0.75)
    }

    static func message(_ number: Int, in chat: String = "kitchen", _ text: String = "hi") -> Event {
        .message(.init(chat: chat, from: bob, id: MessageID(number), text: text))
    }
}

extension MessageID {
    init(_ number: Int) { self.init(rawValue: UInt64(number)) }
}
