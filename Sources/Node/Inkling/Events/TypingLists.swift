import InklingModel

/// The lists of typists of a reader's chats: the latest one, and the one that the reader knows.
struct TypingLists: Sendable {
    struct List {
        let chat: String
        var latest: [Person] = []
        /// The time of the latest list.
        var at: Timestamp = 0
        /// The list that the reader knows.
        var told: [Person] = []

        fileprivate var isEmpty: Bool { latest.isEmpty && told.isEmpty }
    }

    // A reader has few chats, which a search finds faster than hashing does.
    private var lists: [List] = []

    /// The number of lists that name somebody.
    var count: Int { lists.count { !$0.isEmpty } }

    subscript(chat: String) -> List? { lists.first { $0.chat == chat } }

    /// Stores the latest list of a chat.
    mutating func came(_ people: [Person], in chat: String, at time: Timestamp) {
        let place = place(of: chat)
        (lists[place].latest, lists[place].at) = (people, time)
    }

    /// Records the list that the reader knows.
    mutating func tell(_ people: [Person], in chat: String) { lists[place(of: chat)].told = people }

    /// Records that the reader knows the latest list.
    ///
    /// - Returns: Whether the reader knew another one before.
    mutating func told(_ people: [Person], in chat: String) -> Bool {
        let place = place(of: chat)
        defer { (lists[place].latest, lists[place].told) = (people, people) }
        return lists[place].told != people
    }

    mutating func remove(_ chat: String) { lists.removeAll { $0.chat == chat } }

    /// Returns the place of a chat's list, which may be a new one.
    private mutating func place(of chat: String) -> Int {
        if let place = lists.firstIndex(where: { $0.chat == chat }) { return place }
        lists.removeAll(where: \.isEmpty)
        lists.append(List(chat: chat))
        return lists.count - 1
    }
}
