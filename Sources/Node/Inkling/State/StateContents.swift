import InklingModel
import InklingWire

/// The content of `state.db`.
package struct StateContents: Sendable {
    package var people = KnownPeers()
    package var moves = Moves()
    package var chats = KeptChats()
    package var names = ChatNames()
    package var age: AgeCounter?
    /// The logs of chats that the user has left, which the last run may not have ended.
    package var ending: [String] = []

    package init() {}

    /// Reads records.
    ///
    /// - Parameter damaged: Called for each record that says nothing that this program knows.
    init(_ records: [StateTables.Key: [UInt8]], damaged: (StateTables.Key) -> Void) {
        var people: [KnownPeers.Entry] = []
        var chains: [Moves.Chain] = []
        var chats: [(place: Int, chat: Chat, holds: Bool?)] = []
        var names: [(place: UInt64, name: String, isOpen: Bool)] = []
        for (key, content) in records {
            switch key.kind {
            case .mark: break
            case .age:
                age = try? AgeCounter(content)
                if age == nil { damaged(key) }
            case .person:
                if let person = KnownPeers.Entry(key.id, content) { people.append(person) } else { damaged(key) }
            case .chain:
                let id = hexadecimal(key.id)
                if let chain = try? Moves.Chain(content, id: id) { chains.append(chain) } else { damaged(key) }
            case .chat:
                if let chat = KeptChats.chat(content) { chats.append(chat) } else { damaged(key) }
            case .privateName, .openName:
                guard let place = UInt64(bigEndianBytes: content) else {
                    damaged(key)
                    continue
                }
                names.append((place, String(decoding: key.id, as: UTF8.self), key.kind == .openName))
            case .ending: ending.append(hexadecimal(key.id))
            }
        }
        self.people = KnownPeers(people)
        moves = Moves(chains)
        for (_, chat, holds) in chats.sorted(by: { ($0.place, $0.chat.name) < ($1.place, $1.chat.name) }) {
            self.chats.put(chat)
            self.chats.holds[chat.name] = holds
        }
        for (place, name, isOpen) in names.sorted(by: { ($0.place, $0.name) < ($1.place, $1.name) }) {
            self.names.add(name, isOpen: isOpen, place: place)
        }
    }

    /// The records that say this.
    var records: [StateTables.Key: [UInt8]] {
        var records: [StateTables.Key: [UInt8]] = [:]
        if let age { records[.init(.age)] = age.encoded() }
        for person in people.all { records[.init(.person, person.key.bytes)] = person.bytes }
        for (id, content) in moves.records { records[.init(.chain, id)] = content }
        for (name, content) in chats.records { records[.init(.chat, name)] = content }
        for name in names.all { records[name.key] = name.content }
        for log in ending { records[.init(.ending, log)] = [] }
        return records
    }
}

extension StateTables {
    /// Puts two states together. *Blocked* and *removed* win, and so does the end of a chat. Of other differences, the newer
    /// state wins.
    static func merged(_ newer: Records, _ older: Records) -> Records {
        var merged: Records = newer.merging(older) { newest, _ in newest }.reduce(into: [:]) { records, record in
            let (key, content) = record
            guard let other = older[key], other != content else {
                records[key] = content
                return
            }
            switch key.kind {
            case .person:
                var person = KnownPeers.Entry(key.id, content)
                if KnownPeers.Entry(key.id, other)?.isBlocked == true { person?.isBlocked = true }
                records[key] = person?.bytes ?? other
            case .chain:
                let id = hexadecimal(key.id)
                guard var chain = try? Moves.Chain(content, id: id) else {
                    records[key] = other
                    return
                }
                if let other = try? Moves.Chain(other, id: id) { chain.merge(other) }
                records[key] = chain.encoded()
            default: records[key] = content
            }
        }
        guard newer.keys.contains(where: { $0.kind == .ending }) else { return merged }
        // The user left these chats after the older state.
        let contents = StateContents(merged) { _ in }
        for chat in contents.chats.chats where newer[Key(.ending, contents.moves.logID(of: chat))] != nil {
            merged[Key(.chat, Array(chat.name.utf8))] = nil
        }
        return merged
    }
}

/// The bytes of a person: numbers big-endian, times as the pattern of their bits, ages in milliseconds. A number of one byte
/// comes before a list, and one of two bytes before a text.
///
/// - the first and the last time of presence
/// - the days met, the age at the beginning of the last one, and the milliseconds together
/// - the number that counts those kept, plus 1; 0 on probation
/// - a byte with the decisions: 1 for verified, 2 for blocked
/// - the list of names, and that of their first uses, by folded name
/// - the list of chats: stored name, time, age, list of addresses
extension KnownPeers.Entry {
    /// The number in the place of an age that was not recorded.
    private static let noAge = Int64.min

    init?(_ key: [UInt8], _ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        func time() -> Double? {
            reader.uint64().map(Double.init(bitPattern:)).flatMap { KnownPeersLimits.times.contains($0) ? $0 : nil }
        }
        func count() -> UInt64? {
            reader.uint64().flatMap { KnownPeersLimits.counts.contains($0) ? $0 : nil }
        }
        func age() -> Age?? {
            guard let number = reader.uint64().map(Int64.init(bitPattern:)) else { return nil }
            return number == Self.noAge ? .some(nil) : Age(milliseconds: number).map { .some($0) }
        }
        func text() -> String? {
            reader.uint16().flatMap { reader.text(Int($0)) }
        }
        func list<Element>(_ element: () -> Element?) -> [Element]? {
            guard let count = reader.uint8() else { return nil }
            var list: [Element] = []
            for _ in 0..<count {
                guard let next = element() else { return nil }
                list.append(next)
            }
            return list
        }
        func chat() -> (name: String, time: Double, age: Age?, addresses: [String])? {
            guard let name = text(), let time = time(), let age = age(), let addresses = list(text) else { return nil }
            return (name, time, age, addresses)
        }
        guard let key = PublicKey(key), let firstSeen = time(), let lastSeen = time(), let days = count(),
            let began = age() ?? nil, let together = count(), let kept = reader.uint64(),
            let decisions = reader.uint8(),
            let names = list(text), let named = list({ text().flatMap { name in time().map { (name, $0) } } }),
            let chats = list(chat), reader.remaining == 0, kept == 0 || KnownPeersLimits.counts.contains(kept - 1)
        else { return nil }
        self.init(key: key, names: names, firstSeen: firstSeen, lastSeen: lastSeen)
        self.named = Dictionary(named) { first, _ in first }
        self.days = DaysMet(count: days, began: began)
        self.together = .milliseconds(Int64(together))
        self.kept = kept == 0 ? nil : kept - 1
        (isVerified, isBlocked) = (decisions & 1 != 0, decisions & 2 != 0)
        self.chats = Dictionary(chats.map { ($0.name, $0.time) }) { first, _ in first }
        ages = Dictionary(chats.compactMap { chat in chat.age.map { (chat.name, $0) } }) { first, _ in first }
        let known = chats.filter { !$0.addresses.isEmpty }.map { ($0.name, $0.addresses) }
        self.addresses = Dictionary(known) { first, _ in first }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        func append(_ text: String) {
            writer.append(UInt16(clamping: text.utf8.count))
            writer.append(text.utf8.prefix(Int(UInt16.max)))
        }
        for time in [firstSeen, lastSeen] { writer.append(time.bitPattern) }
        writer.append(days.count)
        writer.append(UInt64(bitPattern: days.began.milliseconds))
        writer.append(UInt64(together.milliseconds))
        writer.append(kept.map { $0 + 1 } ?? 0)
        writer.append((isVerified ? 1 : 0) | (isBlocked ? 2 : 0) as UInt8)
        writer.append(UInt8(names.count))
        for name in names { append(name) }
        writer.append(UInt8(named.count))
        for (name, time) in named.sorted(by: { $0.key < $1.key }) {
            append(name)
            writer.append(time.bitPattern)
        }
        writer.append(UInt8(chats.count))
        for (chat, time) in chats.sorted(by: { $0.key < $1.key }) {
            append(chat)
            writer.append(time.bitPattern)
            writer.append(UInt64(bitPattern: ages[chat]?.milliseconds ?? Self.noAge))
            let addresses = addresses[chat] ?? []
            writer.append(UInt8(addresses.count))
            for address in addresses { append(address) }
        }
        return writer.bytes
    }
}
