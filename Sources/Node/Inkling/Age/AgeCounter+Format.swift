import FoundationEssentials
import InklingModel

/// The form on disk: JSON, of version 1. `age`, `boot`, `sinceBoot` and `hasGap` are the members of the count. `anchor`
/// has `age` and `timeOfDay`; without a synchronised clock it is absent. A time of day is in seconds since 1970, and all
/// other times are in milliseconds.
extension AgeCounter {
    private static let version = 1
    /// The longest name of a start of the machine, in bytes. Linux has 36.
    private static let maximumBootSize = 64

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
        struct Anchor: Codable {
            var age: Int64
            var timeOfDay: Double
        }

        var version: Int
        var age: Int64
        var boot: String
        var sinceBoot: Int64
        var anchor: Anchor?
        var hasGap: Bool
    }

    /// Returns JSON with sorted members.
    package func encoded() -> [UInt8] {
        let file = File(
            version: Self.version, age: age.milliseconds, boot: boot, sinceBoot: sinceBoot,
            anchor: anchor.map { File.Anchor(age: $0.age.milliseconds, timeOfDay: $0.timeOfDay.rawValue) },
            hasGap: hasGap)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and finite numbers can always be encoded.
        let data = (try? encoder.encode(file)) ?? Data()
        return Array(data) + [UInt8(ascii: "\n")]
    }

    package init(_ bytes: [UInt8]) throws(Fault) {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version, version > 0 else {
            throw .damaged
        }
        guard version == Self.version else { throw .newer }
        guard let file = try? JSONDecoder().decode(File.self, from: data), file.age >= 0,
            let age = Age(milliseconds: file.age), file.boot.utf8.count <= Self.maximumBootSize,
            Age.range.contains(file.sinceBoot)
        else { throw .damaged }
        var anchor: Anchor?
        if let known = file.anchor {
            guard let at = Age(milliseconds: known.age), KnownPeersLimits.times.contains(known.timeOfDay) else {
                throw .damaged
            }
            anchor = Anchor(age: at, timeOfDay: Timestamp(rawValue: known.timeOfDay))
        }
        self.init(age: age, boot: file.boot, sinceBoot: file.sinceBoot, anchor: anchor, hasGap: file.hasGap)
    }
}
