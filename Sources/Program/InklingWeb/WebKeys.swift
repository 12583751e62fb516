import InklingWire
import NIOCore

/// The tickets and session keys of one run of the server.
struct WebKeys {
    enum Kind: String {
        case ticket, session
    }

    enum Found {
        case key(HMACKey)
        /// The key is of another run, or never was.
        case unknown
        /// The ticket was used before.
        case used
        /// The ticket is too old.
        case expired
    }

    private struct Ticket {
        enum State {
            case fresh(HMACKey, until: NIODeadline)
            case used
        }

        let id: String
        var state: State
    }

    private struct Session {
        let id: String
        let key: HMACKey
        /// The number of open pages with this key.
        var pages = 0
        let drafts = PageDrafts()
    }

    /// The size of a key or a nonce, in bytes.
    static let size = 32

    /// The oldest first.
    private var tickets: [Ticket] = []
    /// Those that no page used for the longest time first.
    private var sessions: [Session] = []

    /// Returns the ID of a key: the first half of 16 bytes of a hash, in hexadecimal digits.
    static func id(of key: [UInt8]) -> String {
        let hash = SHA256.hash(Array("inkling web id".utf8) + key)
        return hash.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Returns random bytes, of the size of a key.
    static func bytes(using random: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// Makes a ticket, and returns its text.
    mutating func addTicket(until end: NIODeadline, using random: inout some RandomNumberGenerator) -> String {
        let key = Self.bytes(using: &random)
        if tickets.count >= WebLimits.tickets { tickets.removeFirst() }
        tickets.append(Ticket(id: Self.id(of: key), state: .fresh(HMACKey(key), until: end)))
        return TextEncoding.base64url.encode(key)
    }

    func find(_ kind: Kind, _ id: String, at now: NIODeadline) -> Found {
        switch kind {
        case .session: return sessions.first { $0.id == id }.map { .key($0.key) } ?? .unknown
        case .ticket:
            switch tickets.first(where: { $0.id == id })?.state {
            case nil: return .unknown
            case .used: return .used
            case .fresh(let key, let end): return now < end ? .key(key) : .expired
            }
        }
    }

    /// Opens a page with a ticket, which is used then, and makes a session key.
    ///
    /// - Returns: The ID and the text of the session key.
    mutating func openPage(ticket id: String, using random: inout some RandomNumberGenerator) -> (String, String) {
        if let index = tickets.firstIndex(where: { $0.id == id }) { tickets[index].state = .used }
        let key = Self.bytes(using: &random)
        if sessions.count >= WebLimits.sessions, let unused = sessions.firstIndex(where: { $0.pages == 0 }) {
            sessions.remove(at: unused)
        }
        let session = Session(id: Self.id(of: key), key: HMACKey(key), pages: 1)
        sessions.append(session)
        return (session.id, TextEncoding.base64url.encode(key))
    }

    /// Opens a page with a session key.
    mutating func openPage(session id: String) {
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return }
        var session = sessions.remove(at: index)
        session.pages += 1
        sessions.append(session)
    }

    /// The drafts of the tab with a session key.
    func drafts(session id: String) -> PageDrafts { sessions.first { $0.id == id }?.drafts ?? PageDrafts() }

    /// Closes a page with a session key.
    mutating func closePage(session id: String) {
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return }
        sessions[index].pages -= 1
    }
}
