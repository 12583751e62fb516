/// `age.json` in the state directory. Only the user can read it. A writer must hold the directory.
package struct AgeFile: Sendable {
    package static let name = "age.json"
    /// The longest file that a node reads, in bytes.
    private static let maximumBytes = 4_096

    private let file: StateFile

    package init(in directory: String) {
        file = StateFile(
            directory: directory, name: Self.name, newName: "age.new", maximumBytes: Self.maximumBytes)
    }

    /// The count at the start of a node.
    package struct Opening: Sendable {
        package var counter: AgeCounter
        /// Nil if this node does not write the file.
        package let file: AgeFile?
    }

    /// Reads the count of earlier runs. A new count begins if the file is missing or damaged. Then the ages of stored
    /// texts and people advance it.
    ///
    /// - Parameter isHeld: Whether this node alone writes the file.
    package func open(isHeld: Bool, now: AgeCounter.Reading) -> Opening {
        var isNewer = false
        var counter: AgeCounter?
        if let bytes = try? file.read() {
            do throws(AgeCounter.Fault) {
                counter = try AgeCounter(bytes)
            } catch {
                isNewer = error == .newer
            }
        }
        return Opening(counter: counter ?? AgeCounter(now), file: isHeld && !isNewer ? self : nil)
    }

    /// Replaces the count in the file, completely or not at all.
    ///
    /// - Returns: The reason for a failure.
    @discardableResult
    package func write(_ counter: AgeCounter) -> String? { file.write(counter.encoded()) }
}
