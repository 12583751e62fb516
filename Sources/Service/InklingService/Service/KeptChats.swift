import InklingModel

/// The chats of a user that last until the user leaves them, as text: one JSON object. A daemon joins them again after a
/// restart. A prompt without a daemon joins one of them by its name.
package struct KeptChats: Equatable, Sendable {
    /// The version of the format.
    static let version = 1

    package enum Fault: Error, Equatable {
        /// The text does not have this format.
        case damaged
        /// A later version wrote the text.
        case newer
    }

    /// The chats, in the order in which they were kept.
    package var chats: [Chat]
    /// Whether texts wait in these chats, for those that differ from the usual.
    package var holds: [String: Bool]

    package init(_ chats: [Chat] = [], holds: [String: Bool] = [:]) {
        self.chats = chats
        self.holds = holds
    }

    package init(_ bytes: [UInt8]) throws(Fault) {
        let members: JSONMembers
        do {
            members = try JSONMembers(bytes)
        } catch {
            throw .damaged
        }
        guard case .number(let digits) = members["version"], let version = Int(digits), version > 0 else {
            throw .damaged
        }
        guard version == Self.version else { throw .newer }
        guard case .array(let elements) = members["chats"], elements.count <= DaemonLimits.keptChats else {
            throw .damaged
        }
        chats = []
        holds = [:]
        for element in elements {
            guard let chat = Self.chat(element), !chats.contains(where: { $0.name == chat.name }) else {
                throw .damaged
            }
            chats.append(chat)
            guard case .object(let members) = element else { continue }
            switch members["hold"] {
            case nil: break
            case .boolean(let isOn): holds[chat.name] = isOn
            default: throw .damaged
            }
        }
    }

    /// Adds a chat, in place of an earlier one of its name.
    package mutating func put(_ chat: Chat) {
        if let index = chats.firstIndex(where: { $0.name == chat.name }) {
            chats[index] = chat
        } else {
            chats.append(chat)
        }
    }

    package mutating func remove(_ name: String) {
        chats.removeAll { $0.name == name }
        holds[name] = nil
    }

    private static func chat(_ element: JSONElement) -> Chat? {
        guard case .object(let members) = element, case .string(let name) = members["chat"] else { return nil }
        switch members["secret"] {
        case nil: return try? Chat(name)
        case .string(let text):
            guard let secret = try? Secret(text), let owner = key(members["owner"]), let partner = key(members["with"])
            else { return nil }
            return try? Chat(name, secret: secret, owner: owner, partner: partner)
        default: return nil
        }
    }

    /// Returns the key of a member, which may be absent; nil if the member is no key.
    private static func key(_ element: JSONElement?) -> PublicKey?? {
        guard let element else { return .some(nil) }
        return element.key.map { .some($0) }
    }

    package var bytes: [UInt8] {
        let chats = chats.map { chat -> JSONValue in
            var members: [(String, JSONValue)] = [("chat", .string(chat.name))]
            if let secret = chat.secret { members.append(("secret", .string(secret.text))) }
            if let owner = chat.owner { members.append(("owner", .string(owner.description))) }
            if let partner = chat.partner { members.append(("with", .string(partner.description))) }
            if let isOn = holds[chat.name] { members.append(("hold", .boolean(isOn))) }
            return .object(members)
        }
        return Array(JSONValue.object([("version", .integer(Self.version)), ("chats", .array(chats))]).text.utf8) + [
            0x0A
        ]
    }
}
