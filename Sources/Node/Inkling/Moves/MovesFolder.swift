import Glibc
import Synchronization

/// The folder `moves` in the state directory, with a small file for each chain. Only the user can read it. A writer must
/// hold the directory.
///
/// A change of one chat's chain thus writes a few KiB, and costs no other chat's memory.
package final class MovesFolder: Sendable {
    package static let name = "moves"
    /// The file of all chains that builds before 0.3.0 wrote. The first write replaces it.
    package static let earlierFile = "moves.json"

    /// The moves on disk at the start of a node.
    package struct Reading: Equatable {
        /// Something that the node can't use, and leaves unchanged.
        package struct Fault: Equatable {
            package let path, reason: String
        }

        package var moves = Moves()
        package var faults: [Fault] = []
        /// Whether the folder itself can't be read.
        package var isUnusable = false
        /// Whether ``moves`` has chains of the earlier file.
        package var hasEarlierMoves = false

        package init() {}
    }

    package let path: String
    private let directory: String
    /// The chains on disk.
    private let written = Mutex<[String: Moves.Chain]>([:])
    private let hasEarlierMoves = Mutex(false)

    package init(in directory: String) {
        self.directory = directory
        path = "\(directory)/\(Self.name)"
    }

    /// Reads all chains. A file that can't be used costs its own chain alone.
    package func read() -> Reading {
        var reading = Reading()
        var chains: [String: Moves.Chain] = [:]
        do throws(StateFile.Failure) {
            for id in try ids() {
                do throws(StateFile.Failure) {
                    chains[id] = try chain(id)
                } catch {
                    reading.faults.append(.init(path: "\(path)/\(id).json", reason: Self.reason(error)))
                }
            }
        } catch {
            reading.faults = [.init(path: path, reason: Self.reason(error))]
            reading.isUnusable = true
        }
        written.withLock { $0 = chains }
        reading.moves = Moves(Array(chains.values))
        readEarlierFile(&reading)
        return reading
    }

    private func readEarlierFile(_ reading: inout Reading) {
        let file = StateFile(
            directory: directory, name: Self.earlierFile, newName: "moves.new",
            maximumBytes: MovesLimits.earlierFileBytes)
        guard let bytes = try? file.read() else { return }
        guard let earlier = Moves(earlier: bytes) else {
            reading.faults.append(.init(path: "\(directory)/\(Self.earlierFile)", reason: Self.reason(.damaged)))
            return
        }
        // A kill may have come between the writes of the chains and the removal of the file.
        let known = Set(reading.moves.chains.flatMap(\.left))
        reading.moves = Moves(
            earlier.chains.filter { known.isDisjoint(with: $0.left) } + reading.moves.chains)
        reading.hasEarlierMoves = true
        hasEarlierMoves.withLock { $0 = true }
    }

    /// Writes the chains that changed, each completely or not at all, and removes the files of forgotten ones.
    ///
    /// - Returns: The reason for a failure.
    package func write(_ moves: Moves) -> String? {
        written.withLock { written in
            for chain in moves.chains where written[chain.id] != chain {
                if let reason = makeFolder() ?? file(chain.id).write(chain.encoded()) { return reason }
                written[chain.id] = chain
            }
            let current = Set(moves.chains.map(\.id))
            for id in written.keys where !current.contains(id) {
                guard unlink("\(path)/\(id).json") == 0 || errno == ENOENT else { return StateFile.text(errno) }
                written[id] = nil
            }
            if hasEarlierMoves.withLock({ $0 }) {
                guard unlink("\(directory)/\(Self.earlierFile)") == 0 || errno == ENOENT else {
                    return StateFile.text(errno)
                }
                hasEarlierMoves.withLock { $0 = false }
            }
            return nil
        }
    }

    private func makeFolder() -> String? {
        guard mkdir(path, 0o700) == 0 else { return errno == EEXIST ? nil : StateFile.text(errno) }
        return StateFile.syncDirectory(directory)
    }

    private func file(_ id: String) -> StateFile {
        StateFile(directory: path, name: "\(id).json", newName: "\(id).new", maximumBytes: MovesLimits.fileBytes)
    }

    private func chain(_ id: String) throws(StateFile.Failure) -> Moves.Chain {
        let bytes = try file(id).read()
        do throws(Moves.Chain.Fault) {
            return try Moves.Chain(bytes, id: id)
        } catch {
            throw error == .newer ? .unreadable(reason: "a later version wrote it") : .damaged
        }
    }

    /// The chains on disk, in ascending order.
    private func ids() throws(StateFile.Failure) -> [String] {
        guard access(path, R_OK | X_OK) == 0 else {
            guard errno != ENOENT else { return [] }
            throw .unreadable(reason: StateFile.text(errno))
        }
        return EarlierLogs.names(in: path).sorted().compactMap { name in
            let parts = name.split(separator: ".", maxSplits: 1)
            return parts.count == 2 && LogName.isID(parts[0]) && parts[1] == "json" ? String(parts[0]) : nil
        }
    }

    private static func reason(_ failure: StateFile.Failure) -> String {
        switch failure {
        case .missing: "it is missing"
        case .damaged: "it is damaged"
        case .unreadable(let reason): reason
        }
    }
}
