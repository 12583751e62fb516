import InklingCore
import InklingModel
import InklingWire
import NIOCore

/// The received texts with an ID, which the node keeps until the user has read them.
extension Node {
    /// Receives a new text, which the node shows when it is on disk (M-82).
    func receive(
        _ text: String, _ id: TextID, _ number: UInt64, from person: InklingCore.Person, in entry: JoinedChat,
        isDelayed: Bool
    ) {
        let kept = KeptText(key: person.key, name: person.name, id: id, at: Node.wallClock(), text: text)
        let isRepeated = entry.texts?.arrivals.contains { $0.text.key == kept.key && $0.text.id == id } ?? false
        let arrival = ChatTexts.Arrival(number: number, text: kept, isDelayed: isDelayed, isRepeated: isRepeated)
        entry.texts?.arrivals.append(arrival)
        keep(arrival, in: entry)
    }

    private func keep(_ arrival: ChatTexts.Arrival, in entry: JoinedChat) {
        guard let log = entry.texts?.log else { return }
        let (stay, number) = (entry.membership, arrival.number)
        texts.store?.value.append([.received(arrival.text)], to: log) { [self] reason in
            onLoop { $0.kept(number, in: stay, isKept: reason == nil) }
        }
    }

    private func kept(_ number: UInt64, in stay: Membership, isKept: Bool) {
        guard let entry = joined.first(where: { $0.membership === stay }), !isStopped,
            let place = entry.texts?.arrivals.firstIndex(where: { $0.number == number })
        else { return }
        guard isKept else {
            eventLoop.scheduleTask(in: TimeAmount(NodeLimits.diskRetry)) { [weak self] in
                self?.onLoop { $0.keepArrivalAgain(number, in: stay) }
            }
            return
        }
        entry.texts?.arrivals[place].isKept = true
        guard !texts.isReleasing else { return }
        // One ack answers all texts of one write.
        texts.isReleasing = true
        eventLoop.execute { [self] in
            onLoop { node in
                node.texts.isReleasing = false
                for entry in node.joined { node.releaseArrivals(in: entry) }
            }
        }
    }

    /// Writes a text again whose write failed.
    private func keepArrivalAgain(_ number: UInt64, in stay: Membership) {
        guard let entry = joined.first(where: { $0.membership === stay }), !isStopped,
            let arrival = entry.texts?.arrivals.first(where: { $0.number == number }), !arrival.isKept
        else { return }
        keep(arrival, in: entry)
    }

    /// Acknowledges and shows the texts that are on disk, in the order in which they came.
    private func releaseArrivals(in entry: JoinedChat) {
        let kept = (entry.texts?.arrivals ?? []).prefix(while: \.isKept)
        guard !kept.isEmpty, !isStopped else { return }
        entry.texts?.arrivals.removeFirst(kept.count)
        endpoint.textsKept(kept.map(\.number), now: clock.now)
        for arrival in kept {
            guard !arrival.isRepeated else {
                endpoint.messageTaken(arrival.number, now: clock.now)
                continue
            }
            entry.texts?.unread[MessageID(rawValue: arrival.number)] = arrival.text
            tell(arrival.event(in: entry), at: arrival.text.at, isDelayed: arrival.isDelayed)
        }
        drain()
    }

    /// Shows a text that is not on disk, because no text waits in the chat any more.
    func show(_ arrival: ChatTexts.Arrival, in entry: JoinedChat) {
        guard !arrival.isRepeated else { return endpoint.messageTaken(arrival.number, now: clock.now) }
        tell(arrival.event(in: entry), at: arrival.text.at, isDelayed: arrival.isDelayed)
    }

    /// Returns the unread texts of an earlier run. Each text comes once.
    package func takeRestoredTexts(in chat: String) -> [TimedEvent] {
        guard let entry = joinedChat(chat), let chatTexts = entry.texts else { return [] }
        entry.texts?.restored = []
        return chatTexts.restored.compactMap { id in
            guard let text = chatTexts.unread[id] else { return nil }
            return TimedEvent(at: text.at, event: text.event(id, in: chat))
        }
    }

    /// Records that the user has read these messages. Only those with an ID are on disk.
    package func readTexts(_ numbers: [MessageID], in chat: String) {
        guard let entry = joinedChat(chat) else { return }
        // The texts of a chat that has ended are with those of the chat that follows it.
        for entry in entry.hasEnded ? joined : [entry] {
            guard let log = entry.texts?.log else { continue }
            let read = numbers.compactMap { entry.texts?.unread.removeValue(forKey: $0) }
            guard !read.isEmpty else { continue }
            texts.store?.value.append(read.map { .read($0.key, $0.id) }, to: log) { _ in }
        }
    }
}

extension ChatTexts.Arrival {
    fileprivate func event(in entry: JoinedChat) -> Event { text.event(MessageID(rawValue: number), in: entry.name) }
}
