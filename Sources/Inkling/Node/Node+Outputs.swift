import Foundation
import Glibc
import InklingCore
import InklingWire

/// What the protocol asks for is done here: datagrams out, events to those who listen.
extension Node {
    /// Does everything that the protocol asked for, and sets the timer.
    func drain() {
        var doubts: [Address] = []
        while let output = endpoint.nextOutput() { perform(output, &doubts) }
        if !doubts.isEmpty, !isStopped {
            for address in doubts { endpoint.doubt(address, now: clock.now) }
            // Once more, without looking at its errors: a doubt must not raise the next.
            var ignored: [Address] = []
            while let output = endpoint.nextOutput() { perform(output, &ignored) }
        }
        schedule()
    }

    private func perform(_ output: Output, _ doubts: inout [Address]) {
        switch output {
        case .send(let bytes, let address, let kind):
            guard let error = socket.send(bytes, to: address, from: source(of: kind)) else { return }
            sendErrors[UDPSocket.errorText(error), default: 0] += 1
            if error != EAGAIN, !doubts.contains(address) { doubts.append(address) }
        case .typing(let tag, let people):
            guard let chat = chatName(tag) else { return }
            let shown = configuration.showsTyping ? people.map(Person.init) : []
            if configuration.showsTyping { tell(.typing(chat: chat, shown)) }
            observers.typing(shown, in: chat)
        case .presence(let tag, let person, let presence, let reason):
            guard let chat = chatName(tag) else { return }
            remember(person, presence, in: chat, tag: tag)
            tell(.peer(chat: chat, Person(person), Presence(presence), why: PresenceReason(reason)))
            if observers.observePresence(in: chat) { observers.presence(peers(in: chat), in: chat) }
        case .message(let tag, let person, let number, let text):
            endpoint.messageTaken(number)
            guard let chat = chatName(tag) else { return }
            tell(.message(chat: chat, from: Person(person), number: number, text: text))
        case .delivered(let message, let tag, let key):
            guard let chat = chatName(tag) else { return }
            tell(.delivered(chat: chat, message: message, user: key.userID))
        case .failed(let message, let tag, let key, let reason):
            guard let chat = chatName(tag) else { return }
            tell(.failed(chat: chat, message: message, user: key.userID, why: FailureReason(reason)))
        case .keepWill(let session, let bytes, let address):
            informHelper { $0.keep(session, bytes, to: socket.name(of: address)) }
        case .dropWill(let session):
            informHelper { $0.drop(session) }
        case .peerIsOneself:
            tell(.notice(.peerIsOneself))
        }
    }

    /// The own address that a datagram leaves from: what answers another, from where that one was sent to (L-50). The
    /// system chooses for the others.
    private func source(of kind: DatagramKind) -> Address? {
        switch kind {
        case .response, .retry, .tell, .pong: arrival?.address
        case .initiation, .ask, .hello, .heartbeat, .typing, .message, .ack, .ping, .bye: nil
        }
    }

    private func informHelper(_ message: (LastWill) -> Bool) {
        guard let helper = lastWill, !message(helper) else { return }
        lastWill = nil
        // It is waited for elsewhere: nothing of the node may stand still for it.
        Task.detached { helper.end() }
        tell(.notice(.lastWillOff(.ended)))
    }

    func chatName(_ tag: ChatTag) -> String? { joined.first { $0.keys.tag == tag }?.chat.name }

    func tell(_ event: Event) {
        switch event {
        case .delivered, .failed: observers.tellAnswer(event)
        case .peer, .typing, .message, .notice: break
        }
        let timed = TimedEvent(at: Node.wallClock(), event: event)
        if observers.isListening {
            observers.tell(timed)
        } else if case .notice = event {
            earlyNotices.append(timed)
            if earlyNotices.count > NodeLimits.unheardNotices { earlyNotices.removeFirst() }
        }
    }

    private func remember(
        _ person: InklingCore.Person, _ presence: InklingCore.Presence, in chat: String, tag: ChatTag
    ) {
        let now = Node.wallClock()
        let before = met[chat]?[person.key]
        let wasThere = before.map { $0.presence != .offline } ?? false
        let isThere = presence != .offline
        let since = wasThere == isThere ? before?.since ?? now : now
        met[chat, default: [:]][person.key] = MetPeer(
            user: before?.user ?? person.key.userID, key: before?.key ?? person.key.base64url, name: person.name,
            presence: presence, since: since)
        if isThere {
            noteArrival(of: person, tag: tag, at: now)
        } else {
            if wasThere { noteDeparture(of: person.key, tag: tag, at: now) }
            forgetSome(of: chat)
        }
    }

    /// Of those who went only the last are remembered.
    private func forgetSome(of chat: String) {
        let gone = (met[chat] ?? [:]).filter { $0.value.presence == .offline }
        guard gone.count > NodeLimits.rememberedPeers else { return }
        let oldest = gone.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        for (key, _) in oldest.prefix(gone.count - NodeLimits.rememberedPeers / 2) { met[chat]?[key] = nil }
    }

    /// Seconds since 1970, with microseconds: shown to people, never decided on.
    static func wallClock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec / 1_000) / 1_000_000
    }
}

/// Those who listen to a node.
struct Observers {
    private var next = 0
    private var events: [Int: AsyncStream<TimedEvent>.Continuation] = [:]
    private var typing: [Int: (chat: String, continuation: AsyncStream<[Person]>.Continuation)] = [:]
    private var presence: [Int: (chat: String, continuation: AsyncStream<[Peer]>.Continuation)] = [:]
    /// Those who wait for the answers to a message.
    private var answers: [Int: AsyncStream<Event>.Continuation] = [:]

    /// Whether anybody listens to the events.
    var isListening: Bool { !events.isEmpty }
    /// How many sequences are open.
    var count: Int { events.count + typing.count + presence.count + answers.count }

    /// Whether anybody observes the presence in a chat.
    func observePresence(in chat: String) -> Bool { presence.values.contains { $0.chat == chat } }

    mutating func add(_ continuation: AsyncStream<TimedEvent>.Continuation) -> Int {
        next += 1
        events[next] = continuation
        return next
    }

    mutating func add(_ continuation: AsyncStream<[Person]>.Continuation, chat: String) -> Int {
        next += 1
        typing[next] = (chat, continuation)
        return next
    }

    mutating func add(_ continuation: AsyncStream<[Peer]>.Continuation, chat: String) -> Int {
        next += 1
        presence[next] = (chat, continuation)
        return next
    }

    /// What is answered for messages goes there too; no notice does.
    mutating func addAnswers(_ continuation: AsyncStream<Event>.Continuation) -> Int {
        next += 1
        answers[next] = continuation
        return next
    }

    mutating func remove(_ id: Int) {
        answers[id] = nil
        events[id] = nil
        typing[id] = nil
        presence[id] = nil
    }

    func tell(_ event: TimedEvent) {
        for id in events.keys.sorted() { events[id]?.yield(event) }
    }

    func tellAnswer(_ event: Event) {
        for id in answers.keys.sorted() { answers[id]?.yield(event) }
    }

    func typing(_ people: [Person], in chat: String) {
        for id in typing.keys.sorted() where typing[id]?.chat == chat { typing[id]?.continuation.yield(people) }
    }

    func presence(_ peers: [Peer], in chat: String) {
        for id in presence.keys.sorted() where presence[id]?.chat == chat { presence[id]?.continuation.yield(peers) }
    }

    /// Ends the sequences of a chat that was left.
    mutating func finish(chat: String) {
        for (id, entry) in typing where entry.chat == chat {
            entry.continuation.finish()
            typing[id] = nil
        }
        for (id, entry) in presence where entry.chat == chat {
            entry.continuation.finish()
            presence[id] = nil
        }
    }

    mutating func finish() {
        for continuation in events.values { continuation.finish() }
        for continuation in answers.values { continuation.finish() }
        for entry in typing.values { entry.continuation.finish() }
        for entry in presence.values { entry.continuation.finish() }
        events = [:]
        answers = [:]
        typing = [:]
        presence = [:]
    }
}
