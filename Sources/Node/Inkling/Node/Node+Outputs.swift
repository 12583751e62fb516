import Glibc
import InklingCore
import InklingWire

/// The outputs of the protocol: datagrams to the socket, events to readers.
extension Node {
    /// Performs all outputs of the protocol, and sets the timer.
    func drain() {
        let isOutermost = !isDraining
        isDraining = true
        performOutputs()
        schedule()
        guard isOutermost else { return }
        isDraining = false
        deliver()
    }

    private func performOutputs() {
        var doubts: [Address] = []
        while let output = endpoint.nextOutput() { perform(output, &doubts) }
        if !doubts.isEmpty, !isStopped {
            for address in doubts { endpoint.doubt(address, now: clock.now) }
            // Sends the datagram once more, and ignores errors: a doubt must not cause another one.
            var ignored: [Address] = []
            while let output = endpoint.nextOutput() { perform(output, &ignored) }
        }
    }

    private func perform(_ output: Output, _ doubts: inout [Address]) {
        switch output {
        case .send(let bytes, let address, let kind):
            guard let error = socket.send(bytes, to: address, from: source(of: kind)) else { return }
            sendErrors[UDPSocket.errorText(error), default: 0] += 1
            if error != EAGAIN, !doubts.contains(address) { doubts.append(address) }
        case .typing(let id, let people):
            guard let entry = joinedChat(id) else { return }
            var shown: [Person] = []
            // A closure would ask Swift's runtime for its thread.
            for person in configuration.showsTyping ? people : [] {
                shown.append(Person(user: userID(of: person.key, in: entry), name: person.name))
            }
            if configuration.showsTyping { tell(.typing(chat: entry.name, shown)) }
            observers.typing(shown, in: entry.name, after: executor)
        case .presence(let id, let person, let presence, let reason):
            guard let entry = joinedChat(id) else { return }
            let peer = remember(person, presence, in: entry)
            tell(.peer(.init(chat: entry.name, peer, why: reason)))
            observers.presenceChanged(in: entry.name)
        case .message(let id, let person, let number, let text, let textID):
            guard let entry = joinedChat(id) else { return endpoint.messageTaken(number, now: clock.now) }
            // The socket is not empty yet, so the message waited there while this node was stopped (J-15).
            let isDelayed = endpoint.wantsSocketDrained
            if let textID, entry.texts != nil {
                return receive(text, textID, number, from: person, in: entry, isDelayed: isDelayed)
            }
            tell(
                .message(.init(chat: entry.name, from: Person(person), id: MessageID(rawValue: number), text: text)),
                isDelayed: isDelayed)
        case .invite(let id, let person, let invite):
            if let entry = joinedChat(id) { receive(invite, from: person, in: entry) }
        case .delivered(let number, let id, let key):
            guard let chat = name(of: id), !finishText(number, of: key, in: chat, nil) else { return }
            let (message, user) = (MessageID(rawValue: number), userID(of: key, in: joinedChat(id)))
            tell(.delivered(.init(chat: chat, message: message, user: user)))
        case .failed(let number, let id, let key, let reason):
            guard let chat = name(of: id), !finishText(number, of: key, in: chat, reason) else { return }
            let (message, user) = (MessageID(rawValue: number), userID(of: key, in: joinedChat(id)))
            tell(.failed(.init(chat: chat, message: message, user: user, why: reason)))
        case .keepWill(let session, let bytes, let address):
            informHelper { $0.keep(session, bytes, to: socket.name(of: address)) }
        case .dropWill(let session):
            informHelper { $0.drop(session) }
        case .peerIsOneself:
            tell(.notice(.peerIsOneself))
        case .reachable(let id, let key):
            guard let entry = joinedChat(id) else { return }
            setLeft(false, key, in: entry)
            sendTexts(to: key, in: entry, again: true)
        case .unreachable(let id, let key):
            if let entry = joinedChat(id) { becameAbsent(key, in: entry) }
        case .left(let id, let key):
            if let entry = joinedChat(id) { setLeft(true, key, in: entry) }
        case .successor(let id, _, let successor): follow(successor, from: id)
        case .newcomer(let id, let key): meet(key, in: id)
        case .otherSuccessor(let id): meetOtherSuccessor(in: id)
        }
    }

    /// Returns the source address for a datagram. An answer leaves from the address to which the other datagram was
    /// sent (L-50). The system chooses the source of all other datagrams.
    private func source(of kind: DatagramKind) -> Address? {
        switch kind {
        case .response, .retry, .tell, .pong: arrival?.address
        case .initiation, .ask, .heartbeat, .typing, .record, .ack, .forward, .ping, .bye: nil
        }
    }

    private func informHelper(_ message: (LastWill) -> Bool) {
        guard let helper = lastWill, !message(helper) else { return }
        lastWill = nil
        // The worker waits for the helper, because the node itself must not block.
        _ = worker.run(on: eventLoop) { helper.end() }
        tell(.notice(.lastWillOff(.ended)))
    }

    /// Returns the user ID of a person. A person met in the chat has a stored user ID; for others the method computes
    /// it.
    func userID(of key: PublicKey, in entry: JoinedChat?) -> UserID { entry?.met[key]?.user ?? key.userID }

    /// Records a person's name and presence.
    ///
    /// - Returns: The updated record of the person.
    private func remember(
        _ person: InklingCore.Person, _ presence: Presence, in entry: JoinedChat
    ) -> Peer {
        let now = Node.wallClock()
        let (wasThere, met) = entry.note(person, presence, at: now, age: age(), clock: clockAtBoot())
        if met.isThere {
            noteArrival(of: person, in: entry.storedName, at: now)
        } else if wasThere {
            noteDeparture(of: person.key, in: entry.storedName, at: now)
            entry.forgetSome(in: knownPeers)
        }
        return peer(person.key, met, in: entry)
    }

    /// Returns the time of day. People see this time, but no decision depends on it.
    package static func wallClock() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(rawValue: Double(time.tv_sec) + Double(time.tv_nsec / 1_000) / 1_000_000)
    }
}

/// The observers of a chat's state, and the callers that wait for the outcomes of a message. For an observer, at most
/// one state waits. For a caller, one outcome waits for each recipient.
struct Observers {
    private struct Waiter {
        let message: MessageID
        let continuation: AsyncStream<Event>.Continuation
    }

    private var next = 0
    private var typing: [Int: (chat: String, continuation: AsyncStream<[Person]>.Continuation)] = [:]
    private var typingCalls: [(chat: String, observation: TypingObservation)] = []
    private var presence: [Int: (chat: String, continuation: AsyncStream<Void>.Continuation)] = [:]
    private var waiters: [Int: Waiter] = [:]

    mutating func add(_ continuation: AsyncStream<[Person]>.Continuation, chat: String) -> Int {
        next += 1
        typing[next] = (chat, continuation)
        return next
    }

    mutating func add(_ observation: TypingObservation, chat: String) {
        typingCalls.removeAll(where: \.observation.isCancelled)
        typingCalls.append((chat, observation))
    }

    mutating func add(_ continuation: AsyncStream<Void>.Continuation, chat: String) -> Int {
        next += 1
        presence[next] = (chat, continuation)
        return next
    }

    /// Adds a waiter for the outcomes of a message.
    mutating func add(_ continuation: AsyncStream<Event>.Continuation, message: MessageID) -> Int {
        next += 1
        waiters[next] = Waiter(message: message, continuation: continuation)
        return next
    }

    mutating func remove(_ id: Int) {
        waiters[id] = nil
        typing[id] = nil
        presence[id] = nil
    }

    /// Reports an outcome. Returns whether anybody waits for it.
    func tellAnswer(_ event: Event, for message: MessageID) -> Bool {
        let told = waiters.values.filter { $0.message == message }
        for waiter in told { waiter.continuation.yield(event) }
        return !told.isEmpty
    }

    /// Reports the typists of a chat: to streams now, and to calls after the turn.
    func typing(_ people: [Person], in chat: String, after executor: NodeExecutor) {
        for (its, observation) in typingCalls where its == chat {
            executor.afterTurn { observation.call(people) }
        }
        for id in typing.keys.sorted() where typing[id]?.chat == chat { typing[id]?.continuation.yield(people) }
    }

    /// Reports a change to the observers. The node makes the list only when a reader takes it.
    func presenceChanged(in chat: String) {
        for (_, entry) in presence where entry.chat == chat { entry.continuation.yield() }
    }

    /// Ends the sequences of a chat that the node left.
    mutating func finish(chat: String) {
        typingCalls.removeAll { $0.chat == chat }
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
        for waiter in waiters.values { waiter.continuation.finish() }
        for entry in typing.values { entry.continuation.finish() }
        for entry in presence.values { entry.continuation.finish() }
        waiters = [:]
        typing = [:]
        typingCalls = []
        presence = [:]
    }
}
