import ArgumentParser
import Glibc
import InklingConformance

/// A file with the JSON lines between the suite and the programs, which `Scripts/conformance.d/schema.py` checks.
///
/// Each row has the case, the number of the program within the case, a direction and the line, with blanks between them.
/// The direction is `>` for a line to the program, and `<` for a line from it.
final class Transcript: Sendable {
    private let descriptor: Int32

    /// Empties the file at `path`, or makes it.
    init(path: String) throws(ValidationError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ValidationError("Can't write \(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// Appends a row by one call. Cases that run side by side then don't mix their rows.
    func record(_ line: [UInt8], _ direction: String, _ program: ProgramID, of test: String) {
        let row = Array("\(test) \(program.number) \(direction) ".utf8) + line + [0x0A]
        _ = Glibc.write(descriptor, row, row.count)
    }
}
