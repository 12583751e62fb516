import InklingCore
import InklingModel
import NIOCore
import Synchronization

/// The readers of a node's events.
struct EventReaders {
    private static let ids = Atomic(0)
    private struct Reader {
        let mailbox: SharedMailbox
        /// The chat whose events the reader gets; nil for all chats and notices.
        let chat: String?
    }

    private var readers: [Int: Reader] = [:]
    /// The messages that some readers have not taken, and the number of those readers.
    private var untaken: [MessageID: Int] = [:]
    /// The events that came while nobody read them, by chat.
    private var untold: [String: Mailbox.Gap] = [:]
    /// Whether the node has a sink, which reads too.
    var hasSink = false
    /// The timer for the next check of readers that take nothing.
    var timer: Scheduled<Void>?

    /// Whether there is no reader.
    var isEmpty: Bool { readers.isEmpty && !hasSink }
    var areWatched: Bool { readers.values.contains(where: \.mailbox.isWatched) }
    /// Whether any reader gets notices.
    var readNotices: Bool { hasSink || readers.values.contains { $0.chat == nil } }

    /// Whether any reader gets the events of a chat.
    private func read(_ chat: String) -> Bool { readNotices || readers.values.contains { $0.chat == chat } }

    /// Returns a number for a new reader. Any thread may call this.
    static func nextID() -> Int { ids.add(1, ordering: .relaxed).newValue }

    /// Returns the counts of missed events that no reader has received.
    mutating func takeUntold() -> [String: Mailbox.Gap] {
        defer { untold = [:] }
        return untold
    }

    /// Returns the count of missed events of a chat that no reader has received.
    mutating func takeUntold(in chat: String) -> Mailbox.Gap? { untold.removeValue(forKey: chat) }

    /// Adds a reader.
    ///
    /// - Parameter chat: The chat whose events the reader gets; nil for all chats and notices.
    mutating func add(_ mailbox: SharedMailbox, _ id: Int, chat: String? = nil) {
        readers[id] = Reader(mailbox: mailbox, chat: chat)
    }

    /// Delivers an event to all readers of its chat. The node holds a message until its readers have it.
    ///
    /// - Parameter isAnswered: Whether a call that waits for this outcome has already received it.
    /// - Returns: The messages that no reader has to take any more.
    mutating func tell(_ timed: TimedEvent, isAnswered: Bool) -> [MessageID] {
        var holders = hasSink ? 1 : 0
        var released: [MessageID] = []
        for id in readers.keys.sorted() {
            guard let reader = readers[id], reader.chat == nil || reader.chat == timed.event.chat else { continue }
            switch reader.mailbox.put(timed) {
            case .waiting: holders += 1
            case .ended: released += remove(id)
            case .taken, .missed: break
            }
        }
        switch timed.event {
        case .message(let message):
            if !read(message.chat) { miss(messages: 1, in: message.chat, at: timed.at) }
            guard holders > 0 else { return released + [message.id] }
            untaken[message.id] = holders
        case .delivered, .failed:
            guard !isAnswered, let chat = timed.event.chat, !read(chat) else { break }
            miss(outcomes: 1, in: chat, at: timed.at)
        case .peer, .typing, .notice, .missed, .waiting: break
        }
        return released
    }

    private mutating func miss(messages: Int = 0, outcomes: Int = 0, in chat: String, at time: Timestamp) {
        let before = untold[chat]
        untold[chat] = Mailbox.Gap(
            messages: (before?.messages ?? 0) + messages, outcomes: (before?.outcomes ?? 0) + outcomes, at: time)
    }

    /// Returns the messages that the reader took as the last of their readers. Removes a reader whose sequence has
    /// ended.
    mutating func collectTaken(by id: Int) -> [MessageID] {
        guard let mailbox = readers[id]?.mailbox else { return [] }
        return mailbox.isFinished ? remove(id) : release(mailbox.collectTaken())
    }

    /// Removes a reader that no longer exists.
    ///
    /// - Returns: The messages that no reader has to take any more.
    mutating func remove(_ id: Int) -> [MessageID] {
        guard let mailbox = readers.removeValue(forKey: id)?.mailbox else { return [] }
        let (numbers, gaps) = mailbox.close()
        for (chat, gap) in gaps where !read(chat) {
            miss(messages: gap.messages, outcomes: gap.outcomes, in: chat, at: gap.at)
        }
        return release(mailbox.collectTaken()) + release(numbers)
    }

    /// Checks for readers that take nothing.
    ///
    /// - Returns: The messages that no reader has to take any more.
    mutating func look() -> [MessageID] {
        readers.keys.sorted().flatMap { release(readers[$0]?.mailbox.look(patience: NodeLimits.readerLooks) ?? []) }
    }

    /// Records that one reader has these messages, or will not get them.
    ///
    /// - Returns: The messages that no reader has to take any more.
    mutating func release(_ numbers: [MessageID]) -> [MessageID] {
        numbers.filter { number in
            guard let holders = untaken[number] else { return false }
            untaken[number] = holders > 1 ? holders - 1 : nil
            return holders == 1
        }
    }

    /// Ends the sequences of a chat that the node left. Readers can still take the waiting events.
    ///
    /// - Returns: The messages that no reader has to take any more.
    mutating func finish(chat: String) -> [MessageID] {
        var released: [MessageID] = []
        for id in readers.keys.sorted() where readers[id]?.chat == chat {
            guard let mailbox = readers.removeValue(forKey: id)?.mailbox else { continue }
            released += release(mailbox.finish())
        }
        return released
    }

    /// Ends all sequences. Readers can still take the waiting events.
    ///
    /// - Returns: The messages that no reader has to take any more.
    mutating func finish() -> [MessageID] {
        for reader in readers.values { reader.mailbox.finish() }
        readers = [:]
        timer?.cancel()
        timer = nil
        defer { untaken = [:] }
        return untaken.keys.sorted()
    }
}

extension Node {
    /// Returns a sequence of all events from now on, in all chats, until the node is stopped. The sequence begins with
    /// the number of events that came while the node had no reader, and with the last 32 unread notices.
    ///
    /// Each call makes a new sequence. The number of waiting events is bounded: see ``NodeEvents`` for a slow reader.
    /// While programs read events, a message counts as taken when all its readers have taken it.
    public func events() -> NodeEvents {
        guard !isStopped else { return NodeEvents.ended }
        let id = EventReaders.nextID()
        var mailbox = Mailbox()
        for (chat, gap) in readers.takeUntold() { mailbox.miss(gap, in: chat) }
        for notice in earlyNotices { mailbox.add(notice) }
        for entry in joined {
            mailbox.begin(
                chat: entry.name, present: entry.present.values.map(\.user), typing: typingPeople(in: entry.name))
        }
        let reader = reader(id, mailbox)
        earlyNotices = []
        readers.add(reader.mailbox, id)
        return NodeEvents(reader)
    }

    /// Returns the events of one chat. The sequence begins with the chat's state at the node's next step.
    nonisolated func events(of chat: ChatHandle) -> NodeEvents {
        let id = EventReaders.nextID()
        let reader = reader(id, Mailbox())
        let mailbox = reader.mailbox
        eventLoop.execute { [self] in onLoop { $0.add(mailbox, id, to: chat) } }
        return NodeEvents(reader)
    }

    private func add(_ mailbox: SharedMailbox, _ id: Int, to chat: ChatHandle) {
        guard let entry = joinedChat(chat), !isStopped else {
            mailbox.finish()
            return
        }
        // If the reader has dropped the sequence already, `forgetReader` on the event loop removes it from the table.
        readers.add(mailbox, id, chat: entry.name)
        let now = Node.wallClock()
        if let gap = readers.takeUntold(in: entry.name) {
            let missed = Event.missed(.init(chat: entry.name, messages: gap.messages, outcomes: gap.outcomes))
            _ = mailbox.put(TimedEvent(at: gap.at, event: missed))
        }
        for peer in others(in: entry.name) {
            let reason: PresenceReason = peer.presence == .away ? .away : .hello
            _ = mailbox.put(TimedEvent(at: now, event: .peer(.init(chat: entry.name, peer, why: reason))))
        }
        _ = mailbox.put(TimedEvent(at: now, event: .typing(chat: entry.name, typingPeople(in: entry.name))))
        watchReaders()
    }

    private nonisolated func reader(_ id: Int, _ waiting: Mailbox) -> EventReader {
        let loop = eventLoop
        let mailbox = SharedMailbox(waiting) { [weak self] in
            loop.execute { [weak self] in self?.onLoop { $0.collectTaken(by: id) } }
        }
        return EventReader(mailbox) { [weak self] in
            loop.execute { [weak self] in self?.onLoop { $0.forgetReader(id) } }
        }
    }

    /// Reports an event to all readers.
    func tell(_ event: Event, at time: Timestamp = Node.wallClock(), isDelayed: Bool = false) {
        var isAnswered = false
        switch event {
        case .delivered(let receipt): isAnswered = observers.tellAnswer(event, for: receipt.message)
        case .failed(let failure): isAnswered = observers.tellAnswer(event, for: failure.message)
        case .peer, .typing, .message, .notice, .missed, .waiting: break
        }
        let timed = TimedEvent(at: time, event: event, isDelayed: isDelayed)
        if case .notice(let notice) = event { standingNotices.note(notice) }
        if sink != nil { untold.append(timed) }
        for number in readers.tell(timed, isAnswered: isAnswered) {
            endpoint.messageTaken(number.rawValue, now: clock.now)
        }
        if !readers.readNotices, case .notice = event {
            earlyNotices.append(timed)
            if earlyNotices.count > NodeLimits.unheardNotices { earlyNotices.removeFirst() }
        }
        if sink == nil { watchReaders() } else { deliver() }
    }

    // MARK: The sink on this event loop

    /// Connects the sink, which first gets the early notices.
    func connect(_ sink: NIOLoopBound<any EventSink>) {
        precondition(self.sink == nil && readers.isEmpty && joined.isEmpty, "the sink comes first")
        untold.append(contentsOf: earlyNotices)
        earlyNotices = []
        self.sink = sink
        deliver()
    }

    /// Delivers events to the sink, after the node has finished the step that caused them.
    func deliver() {
        guard let sink = sink?.value, !isDelivering, !isDraining else { return }
        repeat {
            isDelivering = true
            while let timed = untold.popFirst() { sink.take(timed) }
            isDelivering = false
            sink.flush()
            let settled = sink.takeSettled()
            guard !settled.isEmpty else { continue }
            // Taken messages let peers send more, which may cause further events.
            isDelivering = true
            take(readers.release(settled))
            isDelivering = false
        } while !untold.isEmpty
        if readers.timer == nil, readers.areWatched || sink.isWatched { watchReadersLater() }
        guard case .ended = lifecycle else { return }
        self.sink = nil
        sink.end()
    }

    // MARK: Taken messages

    private func collectTaken(by id: Int) { take(readers.collectTaken(by: id)) }

    private func forgetReader(_ id: Int) { take(readers.remove(id)) }

    /// Reports to the protocol the messages that no reader has to take any more.
    func take(_ messages: [MessageID]) {
        guard !messages.isEmpty, !isStopped else { return }
        for number in messages { endpoint.messageTaken(number.rawValue, now: clock.now) }
        drain()
    }

    private func watchReaders() {
        if readers.timer == nil, readers.areWatched || sink?.value.isWatched == true { watchReadersLater() }
    }

    private func watchReadersLater() {
        guard !isStopped else { return }
        let step = configuration.readerPatience / NodeLimits.readerLooks
        readers.timer = eventLoop.scheduleTask(in: TimeAmount(step)) { [weak self] in
            guard let self else { return }
            self.onLoop { node in
                node.readers.timer = nil
                node.take(node.readers.look())
                node.sink?.value.look(patience: NodeLimits.readerLooks)
                node.deliver()
                node.watchReaders()
            }
        }
    }
}
