import FoundationEssentials
import InklingModel
import InklingWire

/// The form on disk: JSON, of version 1. Keys, fingerprints and seeds are in base64url, secrets
/// in base32.
///
/// - `turn`: the place of the chain's last move among those of all chains.
/// - `left`: the fingerprints of the chats that the node left, the oldest first.
/// - `chat`: the newest chat, with `fingerprint`, `owner`, `removed` and, unless the user left it, `secret`.
/// - `log`: the ID of the history. `ownLog`: the ID of the newest chat's own history, if there is one.
/// - `departures`: the departed chats, the oldest first. Each has `name`, `secret`, `owner`, `refused`, `chosen`, `until`
///   in milliseconds of the state directory's age, and `successor` with `seed`, `owner` and `removed`.
extension Moves.Chain {
    private static let version = 1

    package enum Fault: Error, Equatable {
        /// The text does not have this format.
        case damaged
        /// A later version wrote the text.
        case newer
    }

    private struct Version: Decodable {
        let version: Int
    }

    private struct File: Codable {
        struct Departure: Codable {
            var name, secret, owner: String
            var refused: [String]
            var successor: Successor
            var chosen: [String]
            var until: Int64
        }

        struct Successor: Codable {
            var seed, owner: String
            var removed: [String]
        }

        var version, turn: Int
        var left: [String]
        var chat: StoredPlace
        var log: String
        var ownLog: String?
        var departures: [Departure]
    }

    /// Returns JSON with sorted members.
    package func encoded() -> [UInt8] {
        let file = File(
            version: Self.version, turn: turn, left: left.map(\.text), chat: StoredPlace(place), log: log,
            ownLog: ownLog,
            departures: departures.map { departure in
                let next = departure.successor
                return File.Departure(
                    name: departure.name, secret: departure.secret.base32, owner: departure.owner.base64url,
                    refused: departure.refused.map(\.base64url),
                    successor: File.Successor(
                        seed: TextEncoding.base64url.encode(next.seed.bytes), owner: next.owner.base64url,
                        removed: next.removed.map(\.base64url)),
                    chosen: departure.chosen.map(\.base64url), until: departure.until.milliseconds)
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers can always be encoded.
        let data = (try? encoder.encode(file)) ?? Data()
        return Array(data) + [UInt8(ascii: "\n")]
    }

    /// Reads the whole file. If one entry is damaged, reads none.
    package init(_ bytes: [UInt8], id: String) throws(Fault) {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version, version > 0 else {
            throw .damaged
        }
        guard version == Self.version else { throw .newer }
        guard let file = try? JSONDecoder().decode(File.self, from: data),
            (0...Int(Int32.max)).contains(file.turn), let place = file.chat.place,
            ([file.log] + (file.ownLog.map { [$0] } ?? [])).allSatisfy({ LogName.isID($0) }),
            (1...MovesLimits.leftChats).contains(file.left.count), file.departures.count <= MovesLimits.departures
        else { throw .damaged }
        let left = file.left.compactMap { ChatFingerprint(text: $0) }
        let departures = file.departures.compactMap(Self.departure)
        guard left.count == file.left.count, departures.count == file.departures.count else { throw .damaged }
        self.init(
            id: id, turn: file.turn, left: left, place: place, log: file.log, ownLog: file.ownLog,
            departures: departures)
    }

    private static func departure(_ departure: File.Departure) -> Moves.Departure? {
        let next = departure.successor
        guard let chat = try? Chat(departure.name), let secret = try? ChatSecret(base32: departure.secret),
            let owner = PublicKey(departure.owner), let refused = keys(departure.refused, upTo: Limits.removedKeys),
            let seed = (try? TextEncoding.base64url.decode(next.seed.utf8, count: Limits.secretSize))
                .flatMap({ SuccessorSeed($0) }),
            let nextOwner = PublicKey(next.owner), let removed = keys(next.removed, upTo: Limits.removedKeys),
            !removed.contains(nextOwner), let chosen = keys(departure.chosen, upTo: MovesLimits.chosenKeys + 2),
            let until = Age(milliseconds: departure.until)
        else { return nil }
        return Moves.Departure(
            name: chat.name, secret: secret, owner: owner, refused: refused,
            successor: Successor(seed: seed, owner: nextOwner, removed: removed), chosen: Set(chosen).sorted(),
            until: until)
    }
}

/// A newest chat on disk.
private struct StoredPlace: Codable {
    var fingerprint, owner: String
    var removed: [String]
    var secret: String?

    init(_ place: Moves.Place) {
        fingerprint = place.fingerprint.text
        owner = place.owner.base64url
        removed = place.removed.map(\.base64url)
        secret = place.secret?.base32
    }

    /// Nil if a member is damaged.
    var place: Moves.Place? {
        guard let fingerprint = ChatFingerprint(text: fingerprint), let owner = PublicKey(owner),
            let removed = keys(removed, upTo: Limits.removedKeys)
        else { return nil }
        guard let secret else {
            return Moves.Place(fingerprint: fingerprint, owner: owner, removed: removed, secret: nil)
        }
        guard let secret = try? ChatSecret(base32: secret) else { return nil }
        return Moves.Place(fingerprint: fingerprint, owner: owner, removed: removed, secret: secret)
    }
}

/// The file that builds before 0.3.0 wrote, for all chains. Its chats stay recognised. No successor of its departed chats
/// can be given any more, because a seed is missing.
extension Moves {
    private struct EarlierFile: Decodable {
        struct Move: Decodable {
            let former: String
            let chat: StoredPlace
            let log: String
        }

        /// An entry of any form.
        struct Entry: Decodable {
            let move: Move?

            init(from decoder: any Decoder) { move = try? Move(from: decoder) }
        }

        let moves: [Entry]
    }

    /// Reads what fits; nil if the text has another form.
    package init?(earlier bytes: [UInt8]) {
        guard let file = try? JSONDecoder().decode(EarlierFile.self, from: Data(bytes)) else { return nil }
        var chains: [Chain] = []
        for move in file.moves.compactMap(\.move) {
            guard let former = ChatFingerprint(text: move.former), let place = move.chat.place,
                LogName.isID(move.log)
            else { continue }
            if let index = chains.firstIndex(where: { $0.place.fingerprint == place.fingerprint }) {
                chains[index].left = (chains[index].left + [former]).suffix(MovesLimits.leftChats)
            } else {
                chains.append(
                    Chain(
                        id: Chain.newID(), turn: 0, left: [former], place: place, log: move.log, ownLog: nil,
                        departures: []))
            }
        }
        self.init(chains)
    }
}

private func keys(_ texts: [String], upTo maximum: Int) -> [PublicKey]? {
    let keys = texts.compactMap { PublicKey($0) }
    return keys.count == texts.count && keys.count <= maximum ? keys : nil
}

extension ChatFingerprint {
    fileprivate var text: String { TextEncoding.base64url.encode(bytes) }

    fileprivate init?(text: String) {
        guard let bytes = try? TextEncoding.base64url.decode(text.utf8, count: Limits.fingerprintSize) else {
            return nil
        }
        self.init(bytes)
    }
}
