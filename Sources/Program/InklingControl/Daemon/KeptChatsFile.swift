import Inkling
import InklingModel

/// The file of kept chats in a state directory. Only the user can read it. A writer must hold the directory.
package struct KeptChatsFile: Sendable {
    package static let name = "kept-chats.json"

    package enum Reading: Equatable {
        case missing
        case chats([Chat], holds: [String: Bool] = [:])
        /// The file is damaged and stays unchanged. The daemon keeps no chats.
        case damaged
        /// A later version wrote the file, which stays unchanged. The daemon keeps no chats.
        case newer
        /// The daemon can't read the file, which stays unchanged. The daemon keeps no chats.
        case unreadable(reason: String)
    }

    private let file: StateFile

    package init(in directory: String) {
        file = StateFile(directory: directory, name: Self.name, newName: "kept-chats.new")
    }

    package func read() -> Reading {
        do throws(StateFile.Failure) {
            let bytes = try file.read()
            do throws(KeptChats.Fault) {
                let kept = try KeptChats(bytes)
                return .chats(kept.chats, holds: kept.holds)
            } catch {
                return error == .newer ? .newer : .damaged
            }
        } catch {
            return switch error {
            case .missing: .missing
            case .damaged: .damaged
            case .unreadable(let reason): .unreadable(reason: reason)
            }
        }
    }

    /// Changes the chats in the file, completely or not at all.
    ///
    /// - Returns: The reason for a failure, after which the file is as it was.
    package func change(_ change: (inout KeptChats) -> Void) -> String? {
        let former: KeptChats
        switch read() {
        case .missing: former = KeptChats()
        case .chats(let chats, let holds): former = KeptChats(chats, holds: holds)
        case .damaged: return "is damaged"
        case .newer: return "is of a later version of Inkling"
        case .unreadable(let reason): return "can't be read: \(reason)"
        }
        var kept = former
        change(&kept)
        guard kept != former else { return nil }
        guard kept.chats.count <= DaemonLimits.keptChats else { return "has no room for another" }
        return write(kept).map { "can't be written: \($0)" }
    }

    /// Replaces the chats in the file, completely or not at all.
    ///
    /// - Returns: The reason for a failure.
    package func write(_ kept: KeptChats) -> String? { file.write(kept.bytes) }

    /// Replaces the chats in the file, all with the usual switches.
    package func write(_ chats: [Chat]) -> String? { write(KeptChats(chats)) }
}
