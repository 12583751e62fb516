import InklingModel

/// The room that unread messages share, and the message to evict without room.
///
/// Each step takes the same time with few messages as with many.
struct UnreadPool {
    struct Limits {
        /// Of a chat.
        let messages: Int
        /// Of a person in a chat.
        let messagesPerPerson: Int
        let bytes: Int
        let bytesPerPerson: Int
    }

    typealias Message = UnreadMessages.Message

    /// Messages that a limit counts together.
    private enum Scope: Hashable {
        case person(UserID, chat: String)
        case user(UserID)
        case chat(String)
    }

    /// The place of a message. A message that comes again gets another one.
    private struct Place: Comparable {
        let number: MessageID
        let addition: Int

        static func < (left: Place, right: Place) -> Bool { left.number < right.number }
    }

    /// The messages of one rank in a scope.
    private struct Queue {
        var count = 0
        var size = 0
        /// The places in order. Those of removed messages go later, so that a removal moves no others.
        private var places: ArraySlice<Place> = []

        mutating func add(_ place: Place) {
            guard let last = places.last, place < last else { return places.append(place) }
            // A message that comes late, because a front end left without it, is rare.
            places.insert(place, at: places.firstIndex { place < $0 } ?? places.endIndex)
        }

        /// Returns the message with the lowest number, or with the highest.
        mutating func end(newest: Bool, among messages: [Int: Message]) -> Message? {
            while let place = newest ? places.last : places.first {
                if let message = messages[place.addition] { return message }
                if newest { places.removeLast() } else { places.removeFirst() }
            }
            return nil
        }

        /// Drops the places of removed messages if they are more than the others.
        mutating func shrink(to messages: [Int: Message]) {
            guard places.count > 2 * count + 8 else { return }
            places = ArraySlice(places.filter { messages[$0.addition] != nil })
        }
    }

    private struct Group {
        /// The queues of all ranks, the lowest first.
        var queues = SenderRank.allCases.map { _ in Queue() }
        var count = 0
        var size = 0

        /// The place of the lowest rank with messages.
        var lowest: Int? { queues.firstIndex { $0.count > 0 } }
    }

    private let limits: Limits
    private var groups: [Scope: Group] = [:]
    private var messages: [Int: Message] = [:]
    private var additions: [String: [MessageID: Int]] = [:]
    private var lastAddition = 0
    /// The size of all messages, in bytes.
    private(set) var size = 0

    init(_ limits: Limits) { self.limits = limits }

    mutating func add(_ message: Message) {
        lastAddition += 1
        messages[lastAddition] = message
        additions[message.content.chat, default: [:]][message.content.id] = lastAddition
        size += message.size
        let place = Place(number: message.content.id, addition: lastAddition)
        let rank = message.rank.rawValue
        for scope in Self.scopes(of: message) {
            groups[scope, default: Group()].queues[rank].add(place)
            count(message, in: scope, 1)
        }
    }

    mutating func remove(_ message: Message) {
        let (chat, number) = (message.content.chat, message.content.id)
        guard let addition = additions[chat]?.removeValue(forKey: number) else { return }
        if additions[chat]?.isEmpty == true { additions[chat] = nil }
        messages[addition] = nil
        size -= message.size
        for scope in Self.scopes(of: message) {
            count(message, in: scope, -1)
            if groups[scope]?.count == 0 { groups[scope] = nil }
            groups[scope]?.queues[message.rank.rawValue].shrink(to: messages)
        }
    }

    /// Evicts one message if a limit is exceeded, of the lowest rank that the limit counts. If strangers sent it, the
    /// newest one goes, else the oldest. So strangers displace only messages of strangers, and in one chat no earlier
    /// ones.
    ///
    /// - Parameter message: The message that was added last.
    /// - Returns: The evicted message and its chat; nil if there is room.
    mutating func evict(for message: Message) -> (number: MessageID, chat: String)? {
        guard let scope = exceeded(by: message), let rank = groups[scope]?.lowest else { return nil }
        let isNewest = rank == SenderRank.stranger.rawValue
        guard let gone = groups[scope]?.queues[rank].end(newest: isNewest, among: messages) else { return nil }
        remove(gone)
        return (gone.content.id, gone.content.chat)
    }

    /// Returns the first exceeded limit's messages.
    private func exceeded(by message: Message) -> Scope? {
        let (chat, user) = (message.content.chat, message.content.sender.user)
        let person = Scope.person(user, chat: chat)
        if groups[person]?.count ?? 0 > limits.messagesPerPerson { return person }
        if groups[.user(user)]?.size ?? 0 > limits.bytesPerPerson { return .user(user) }
        if groups[.chat(chat)]?.count ?? 0 > limits.messages { return .chat(chat) }
        return size > limits.bytes ? largestChat : nil
    }

    /// The chat in which messages of the lowest rank of all take the most room. A node is in few chats (L-39).
    private var largestChat: Scope? {
        let chats = additions.keys.compactMap { chat in groups[.chat(chat)].map { (name: chat, group: $0) } }
        guard let rank = chats.compactMap(\.group.lowest).min() else { return nil }
        let largest = chats.filter { $0.group.lowest == rank }
            .map { (name: $0.name, size: $0.group.queues[rank].size) }
            .max { ($0.size, $1.name) < ($1.size, $0.name) }
        return largest.map { .chat($0.name) }
    }

    private mutating func count(_ message: Message, in scope: Scope, _ sign: Int) {
        let rank = message.rank.rawValue
        groups[scope]?.count += sign
        groups[scope]?.size += sign * message.size
        groups[scope]?.queues[rank].count += sign
        groups[scope]?.queues[rank].size += sign * message.size
    }

    private static func scopes(of message: Message) -> [Scope] {
        let (chat, user) = (message.content.chat, message.content.sender.user)
        return [.person(user, chat: chat), .user(user), .chat(chat)]
    }
}
