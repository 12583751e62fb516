import Inkling
import InklingModel

/// The file of kept chats in a state directory. Only the user can read it. A writer must hold the directory.
package struct KeptChatsFile: Sendable {
    package static let name = "kept-chats.json"

    package enum Reading: Equatable {
        case missing
        case chats([Chat])
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
                return .chats(try KeptChats(bytes).chats)
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

    /// Replaces the chats in the file, completely or not at all.
    ///
    /// - Returns: The reason for a failure.
    package func write(_ chats: [Chat]) -> String? { file.write(KeptChats(chats).bytes) }
}
