import FoundationEssentials
import Glibc

/// A new folder for its owner alone, which vanishes with the value.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter name: The start of the folder's name.
    package init(_ name: String = "inkling") throws(SystemError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func write(_ text: String, to name: String, mode: mode_t = 0o600) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
        chmod("\(path)/\(name)", mode)
    }

    /// Returns the content of a file; nil if there is no such file.
    package func text(_ name: String) -> String? { try? String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }

    /// Returns the permissions of a file, or of the folder itself without a name.
    package func mode(_ name: String) -> mode_t {
        var status = stat()
        lstat("\(path)/\(name)", &status)
        return status.st_mode & 0o7777
    }
}
