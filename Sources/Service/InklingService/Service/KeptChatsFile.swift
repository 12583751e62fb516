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

    /// The reason why a program can't use the file, or a change of it.
    package struct Fault: Error {
        /// The predicate of a sentence about the file.
        package let text: String
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
    /// - Returns: A predicate about the file after a failure.
    package func change(_ change: (inout KeptChats) -> Void) -> String? {
        do throws(Fault) {
            return write(try read().changed(by: change)).map { "can't be written: \($0)" }
        } catch {
            return error.text
        }
    }

    /// Replaces the chats in the file, completely or not at all.
    ///
    /// - Returns: The reason for a failure.
    package func write(_ kept: KeptChats) -> String? { file.write(kept.bytes) }

    /// Replaces the chats in the file, all with the usual switches.
    package func write(_ chats: [Chat]) -> String? { write(KeptChats(chats)) }
}

extension KeptChatsFile.Reading {
    /// Returns the chats of the file after a change.
    package func changed(by change: (inout KeptChats) -> Void) throws(KeptChatsFile.Fault) -> KeptChats {
        var kept = KeptChats()
        switch self {
        case .missing: break
        case .chats(let chats, let holds): kept = KeptChats(chats, holds: holds)
        case .damaged: throw KeptChatsFile.Fault(text: "is damaged")
        case .newer: throw KeptChatsFile.Fault(text: "is of a later version of Inkling")
        case .unreadable(let reason): throw KeptChatsFile.Fault(text: "can't be read: \(reason)")
        }
        change(&kept)
        guard kept.chats.count <= DaemonLimits.keptChats else {
            throw KeptChatsFile.Fault(text: "has no room for another chat")
        }
        return kept
    }
}
