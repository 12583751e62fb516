import Glibc
import InklingService
import InklingText

/// A setting that the program writes for its user.
package enum SettingsEdit: Equatable, Sendable {
    case name(String)
    /// The setting `mentions.bell`.
    case bell(Bool)

    /// Returns the text of a settings file with this value. Everything else stays the same. The result is nil if the
    /// program can't edit the setting in its present form.
    package func applied(to text: String) -> String? {
        guard let before = try? SettingsFile(text, path: "") else { return nil }
        var wanted = before
        switch self {
        case .name(let name): wanted.name = name
        case .bell(let isOn): wanted.ringsForMentions = isOn
        }
        let edited = edited(text)
        return (try? SettingsFile(edited, path: "")) == wanted ? edited : nil
    }

    /// Writes the value into a file. A new file is only for the user.
    ///
    /// - Returns: The failure as the end of a sentence; nil after a success.
    package func write(to path: String) -> String? {
        guard access(path, F_OK) == 0 else {
            SmallFile.makeFolders(above: path)
            return Self.make(path, edited(""), mode: 0o600)
        }
        guard let text = try? SmallFile.text(path, maximumBytes: SettingsFile.maximumBytes) else {
            return "can't be read"
        }
        guard let new = applied(to: text) else { return "has it in a form that the program can't change" }
        guard new != text else { return nil }
        // The path may be a link into the user's own collection of settings. The program then writes the linked file.
        guard let resolved = realpath(path, nil) else { return Self.text(errno) }
        defer { free(resolved) }
        let place = String(cString: resolved)
        let fault = Self.make(place + ".new", new, mode: SmallFile.mode(place) ?? 0o600)
        guard fault == nil, rename(place + ".new", place) != 0 else { return fault }
        defer { unlink(place + ".new") }
        return Self.text(errno)
    }

    private static func make(_ path: String, _ text: String, mode: mode_t) -> String? {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return Self.text(errno) }
        defer { close(descriptor) }
        guard Output(descriptor: descriptor).write(Array(text.utf8)), fchmod(descriptor, mode) == 0,
            fsync(descriptor) == 0
        else {
            defer { unlink(path) }
            return Self.text(errno)
        }
        return nil
    }

    private static func text(_ code: Int32) -> String { "can't be written (\(String(cString: strerror(code))))" }

    // MARK: Lines

    private var table: String? {
        switch self {
        case .name: nil
        case .bell: "mentions"
        }
    }

    private var key: String {
        switch self {
        case .name: "name"
        case .bell: "bell"
        }
    }

    private var value: String {
        switch self {
        case .name(let name): tomlString(name)
        case .bell(let isOn): isOn ? "true" : "false"
        }
    }

    private func edited(_ text: String) -> String {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let dotted = table.map { "\($0).\(key)" } ?? key
        let firstTable = lines.firstIndex { $0.trimmed.hasPrefix("[") } ?? lines.count
        if let index = lines[..<firstTable].firstIndex(where: { Self.key(of: $0) == dotted }) {
            lines[index] = "\(dotted) = \(value)" + Self.comment(of: lines[index])
        } else if let table {
            insert(into: table, &lines)
        } else {
            lines.insert("\(key) = \(value)", at: 0)
        }
        return lines.joined(separator: "\n")
    }

    private func insert(into table: String, _ lines: inout [String]) {
        guard let header = lines.firstIndex(where: { $0.prefix { $0 != "#" }.trimmed == "[\(table)]" }) else {
            while lines.last?.isEmpty == true { lines.removeLast() }
            lines += (lines.isEmpty ? [] : [""]) + ["[\(table)]", "\(key) = \(value)", ""]
            return
        }
        let end = lines[(header + 1)...].firstIndex { $0.trimmed.hasPrefix("[") } ?? lines.count
        if let index = lines[(header + 1)..<end].firstIndex(where: { Self.key(of: $0) == key }) {
            lines[index] = "\(key) = \(value)" + Self.comment(of: lines[index])
        } else {
            lines.insert("\(key) = \(value)", at: header + 1)
        }
    }

    private static func key(of line: String) -> String? {
        let parts = line.split(separator: "=", maxSplits: 1)
        return parts.count == 2 ? parts[0].trimmed : nil
    }

    /// Returns the comment at the end of a line, with the blanks before it. If the text before has a `#`, the function
    /// finds no comment.
    private static func comment(of line: String) -> String {
        guard let sign = line.lastIndex(of: "#"), !line[sign...].contains(where: { "\"'".contains($0) }) else {
            return ""
        }
        let blanks = line[..<sign].reversed().prefix { $0 == " " || $0 == "\t" }
        return String(blanks.reversed()) + line[sign...]
    }
}
