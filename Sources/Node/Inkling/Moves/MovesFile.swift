/// `moves.json` in the state directory. Only the user can read it. A writer must hold the directory.
package struct MovesFile: Sendable {
    package static let name = "moves.json"

    package enum Reading: Equatable {
        case missing
        case moves(Moves)
        /// The node can't use the file, which stays unchanged.
        case unusable(reason: String)
    }

    package let path: String
    private let file: StateFile

    package init(in directory: String) {
        path = "\(directory)/\(Self.name)"
        file = StateFile(
            directory: directory, name: Self.name, newName: "moves.new", maximumBytes: MovesLimits.fileBytes)
    }

    package func read() -> Reading {
        do throws(StateFile.Failure) {
            let bytes = try file.read()
            do throws(Moves.Fault) {
                return .moves(try Moves(bytes))
            } catch {
                return .unusable(reason: error == .newer ? "a later version wrote it" : "it is damaged")
            }
        } catch {
            return switch error {
            case .missing: .missing
            case .damaged: .unusable(reason: "it is damaged")
            case .unreadable(let reason): .unusable(reason: reason)
            }
        }
    }

    /// Replaces the moves in the file, completely or not at all.
    ///
    /// - Returns: The reason for a failure.
    package func write(_ moves: Moves) -> String? { file.write(moves.encoded()) }
}
