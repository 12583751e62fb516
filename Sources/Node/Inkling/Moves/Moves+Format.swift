import FoundationEssentials
import InklingModel
import InklingWire

/// The form on disk: JSON, of version 1. Keys are in base64url, secrets in base32, and fingerprints in base64url.
///
/// - `moves`: the chats that the node left, each with `former`, its fingerprint; `chat`, the newest chat; and `log`, the
///   ID of the history. A chat has `fingerprint`, `owner`, `removed` and, unless the user left it, `secret`.
/// - `departures`: the departed chats, each with `name`, `secret`, `owner`, `refused`, `chosen`, `until` in seconds since
///   1970, and `successor` with `seed`, `owner` and `removed`.
extension Moves {
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
        struct Chat: Codable {
            var fingerprint: String
            var owner: String
            var removed: [String]
            var secret: String?
        }

        struct Move: Codable {
            var former: String
            var chat: Chat
            var log: String
        }

        struct Departure: Codable {
            var name, secret, owner: String
            var refused: [String]
            var successor: Successor
            var chosen: [String]
            var until: Double
        }

        struct Successor: Codable {
            var seed, owner: String
            var removed: [String]
        }

        var version: Int
        var moves: [Move]
        var departures: [Departure]
    }

    /// Returns JSON with sorted members.
    package func encoded() -> [UInt8] {
        let file = File(
            version: Self.version,
            moves: moves.map { move in
                File.Move(
                    former: Self.text(move.former),
                    chat: File.Chat(
                        fingerprint: Self.text(move.place.fingerprint),
                        owner: move.place.owner.base64url, removed: move.place.removed.map(\.base64url),
                        secret: move.place.secret?.base32),
                    log: move.log)
            },
            departures: departures.map { departure in
                File.Departure(
                    name: departure.name, secret: departure.secret.base32, owner: departure.owner.base64url,
                    refused: departure.refused.map(\.base64url),
                    successor: File.Successor(
                        seed: TextEncoding.base64url.encode(departure.successor.seed.bytes),
                        owner: departure.successor.owner.base64url,
                        removed: departure.successor.removed.map(\.base64url)),
                    chosen: departure.chosen.map(\.base64url), until: departure.until)
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers can always be encoded.
        let data = (try? encoder.encode(file)) ?? Data()
        return Array(data) + [UInt8(ascii: "\n")]
    }

    /// Reads the whole file. If one entry is damaged, reads none.
    package init(_ bytes: [UInt8]) throws(Fault) {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version, version > 0 else {
            throw .damaged
        }
        guard version == Self.version else { throw .newer }
        guard let file = try? JSONDecoder().decode(File.self, from: data), file.moves.count <= MovesLimits.moves,
            file.departures.count <= MovesLimits.departures
        else { throw .damaged }
        let moves = file.moves.compactMap(Self.move)
        let departures = file.departures.compactMap(Self.departure)
        guard moves.count == file.moves.count, departures.count == file.departures.count,
            Set(moves.map(\.former)).count == moves.count
        else { throw .damaged }
        self.init(moves: moves, departures: departures)
    }

    private static func move(_ move: File.Move) -> Move? {
        guard let former = fingerprint(move.former), let fingerprint = fingerprint(move.chat.fingerprint),
            let owner = PublicKey(move.chat.owner), let removed = keys(move.chat.removed),
            removed.count <= Limits.removedKeys, let secret = secret(move.chat.secret), SealedKeys.isID(move.log)
        else { return nil }
        return Move(
            former: former,
            place: Place(
                fingerprint: fingerprint, owner: owner, removed: removed, secret: secret),
            log: move.log)
    }

    private static func departure(_ departure: File.Departure) -> Departure? {
        let next = departure.successor
        guard let chat = try? Chat(departure.name), let secret = try? ChatSecret(base32: departure.secret),
            let owner = PublicKey(departure.owner), let refused = keys(departure.refused),
            refused.count <= Limits.removedKeys,
            let seed = (try? TextEncoding.base64url.decode(next.seed.utf8, count: Limits.secretSize))
                .flatMap({ SuccessorSeed($0) }),
            let nextOwner = PublicKey(next.owner),
            let removed = keys(next.removed), removed.count <= Limits.removedKeys, !removed.contains(nextOwner),
            let chosen = keys(departure.chosen),
            chosen.count <= MovesLimits.chosenKeys + 1, KnownPeersLimits.times.contains(departure.until)
        else { return nil }
        return Departure(
            name: chat.name, secret: secret, owner: owner, refused: refused,
            successor: Successor(seed: seed, owner: nextOwner, removed: removed),
            chosen: Set(chosen).sorted(), until: departure.until)
    }

    private static func keys(_ texts: [String]) -> [PublicKey]? {
        let keys = texts.compactMap { PublicKey($0) }
        return keys.count == texts.count ? keys : nil
    }

    /// Returns the secret of a member, which may be absent; nil if the member is not a secret.
    private static func secret(_ text: String?) -> ChatSecret?? {
        guard let text else { return .some(nil) }
        return (try? ChatSecret(base32: text)).map { .some($0) }
    }

    private static func text(_ fingerprint: ChatFingerprint) -> String {
        TextEncoding.base64url.encode(fingerprint.bytes)
    }

    private static func fingerprint(_ text: String) -> ChatFingerprint? {
        (try? TextEncoding.base64url.decode(text.utf8, count: Limits.fingerprintSize)).flatMap { ChatFingerprint($0) }
    }
}
