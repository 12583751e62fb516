import CTOML
import Glibc
import InklingConsole
import InklingModel
import InklingText

/// The user's settings, `inkling/config.toml` in `$XDG_CONFIG_HOME`. Missing settings are nil. Options on the command
/// line override the file.
package struct SettingsFile: Equatable, Sendable {
    package var name: String?
    /// The chat or invite that commands without a chat's name use.
    package var chat: String?
    package var indicator: IndicatorStyle?
    package var reducedMotion: Bool?
    package var interfaces: [String]?
    package var excludedInterfaces: [String]?
    package var sendsTyping: Bool?
    package var showsTyping: Bool?
    /// Whether the terminal rings when somebody mentions the user.
    package var ringsForMentions: Bool?
    /// Whether notifications of the desktop show the texts of private chats.
    package var notifiesWithTexts: Bool?
    /// The program, with its arguments, that the daemon starts for messages that no front end shows; not empty.
    package var messageHook: [String]?
    /// Whether the daemon sets the user away while no front end shows a chat.
    package var goesAwayAlone: Bool?

    package static let maximumBytes = 64 << 10

    /// A fault in the settings, with its place and the advice, in one line.
    package struct Refusal: Error, Equatable {
        package let text: String
    }

    package init() {}

    /// The open chat that commands without a chat's name use; nil if the setting is an invite.
    var openChat: String? { chat.flatMap { Chat.isInvite($0) ? nil : NormalForm.canonical($0) } }

    /// Returns `$XDG_CONFIG_HOME/inkling/config.toml`, or the path that replaces it without this variable; nil for a
    /// user without a home.
    package static func defaultPath(environment: (String) -> String?) -> String? {
        // The convention ignores a path that is not absolute.
        if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") { return folder + "/inkling/config.toml" }
        return environment("HOME").map { $0 + "/.config/inkling/config.toml" }
    }

    /// Reads a file. Only a file that the user named must exist.
    package static func read(_ path: String, isNamed: Bool) throws(Refusal) -> SettingsFile {
        if !isNamed, access(path, F_OK) != 0, errno == ENOENT || errno == ENOTDIR { return SettingsFile() }
        let shown = SafeText.line(path)
        let text: String
        do {
            text = try SmallFile.text(path, maximumBytes: maximumBytes)
        } catch {
            let hint = isNamed ? "check its path and permissions" : "make it readable, or start with --no-config"
            throw switch error {
            case .unreadable: Refusal(text: "can't read the settings in \(shown); \(hint)")
            case .tooLong: Refusal(text: "\(shown) is too long for a settings file; shorten or remove it")
            case .noText: Refusal(text: "\(shown) is not a settings file: it is not UTF-8; fix or remove it")
            }
        }
        return try SettingsFile(text, path: path)
    }

    /// Returns a warning if other users can read the invite in the file, and so join that chat; nil for none.
    ///
    /// - Parameter mode: The permissions of the file; nil for a source without permissions, such as standard input.
    package func warning(path: String, mode: mode_t?) -> String? {
        guard let chat, Chat.isInvite(chat), let mode, SmallFile.isReadableByOthers(mode) else { return nil }
        return "others on this machine can read the invite in \(SafeText.line(path)), and so join that chat. "
            + "Make the file private: chmod 600\(ShellQuoting.argument(path))"
    }

    /// Reads TOML.
    ///
    /// - Parameter path: The name of the file in a refusal.
    package init(_ text: String, path: String) throws(Refusal) {
        func refusal(line: Int, _ reason: String) -> Refusal {
            Refusal(
                text: "\(SafeText.line(path)), line \(line): \(SafeText.line(reason)); fix that line, or start with "
                    + "--no-config")
        }
        if let line = Self.lineOfNUL(text) { throw refusal(line: line, "NUL can't be in a setting") }
        let document: TOMLDocument
        do {
            document = try TOMLDocument(text)
        } catch {
            guard let line = error.line else {
                throw Refusal(text: "\(SafeText.line(path)) is not valid TOML; fix it, or start with --no-config")
            }
            throw refusal(line: line, Self.hint(text, line: line) ?? error.text)
        }
        var reader = Reader(path: path)
        try reader.read(
            document.root,
            [.name, .chat, .onMessage, .indicator, .interfaces, .mentions, .notifications, .privacy])
        name = reader.string(.name)
        chat = reader.string(.chat)
        if let style = reader.string(.style) {
            guard let known = IndicatorStyle(rawValue: style) else {
                let styles = IndicatorStyle.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw reader.refusal(.style, "takes one of \(styles)")
            }
            indicator = known
        }
        reducedMotion = reader.bool(.reduceMotion)
        interfaces = reader.strings(.use)
        excludedInterfaces = reader.strings(.leaveOut)
        guard interfaces == nil || excludedInterfaces == nil else {
            throw reader.refusal(.leaveOut, "can't be combined with interfaces.use; remove one of them")
        }
        sendsTyping = reader.bool(.sendTyping)
        ringsForMentions = reader.bool(.bell)
        notifiesWithTexts = reader.bool(.showTexts)
        showsTyping = reader.bool(.showTyping)
        goesAwayAlone = reader.bool(.autoAway)
        messageHook = reader.strings(.onMessage)
        if let messageHook, messageHook.first?.isEmpty != false {
            throw reader.refusal(.onMessage, "takes a program and its arguments, such as [\"notify-message\"]")
        }
        if let name, let fault = NameFault(ofOwnName: NormalForm.canonical(name)) {
            throw reader.refusal(.name, "can't be used: \(fault.reason)")
        }
        if let chat {
            do {
                _ = try Chat.isInvite(chat) ? Chat(invite: chat) : Chat(chat)
            } catch .chatName(let fault) {
                throw reader.refusal(.chat, "can't be used: \(fault.reason)")
            } catch {
                throw reader.refusal(.chat, "can't be used: \(SafeText.line(error.fact))")
            }
        }
    }

    /// Returns the first line with a NUL, raw or as an escape; nil if there is none.
    private static func lineOfNUL(_ text: String) -> Int? {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let first = lines.firstIndex { line in
            line.contains(0) || ["\\u0000", "\\U00000000"].contains { line.firstRange(of: $0.utf8) != nil }
        }
        return first.map { $0 + 1 }
    }

    /// Returns an explanation for a line with a nameless table, or with a text without quotes; nil for other lines.
    private static func hint(_ text: String, line: Int) -> String? {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard lines.indices.contains(line - 1) else { return nil }
        if isNamelessTable(lines[line - 1]) { return "a table needs a name, as in [privacy]" }
        let parts = lines[line - 1].split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].allSatisfy({ $0.isLetter || " \t.-_".contains($0) }) else { return nil }
        let value = parts[1].drop { $0.isWhitespace || $0 == "[" }
        let word = String(value.prefix { $0.isLetter })
        guard !word.isEmpty, !["true", "false", "inf", "nan"].contains(word) else { return nil }
        let key = parts[0].trimmed
        return "text must be in quotes, as in \(key) = \(parts[1].contains("[") ? "[\"…\"]" : "\"…\"")"
    }

    /// Whether a line begins a table without a valid first letter of a name.
    private static func isNamelessTable(_ line: Substring) -> Bool {
        var scalars = line.unicodeScalars.drop { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
        guard scalars.popFirst() == "[" else { return false }
        if scalars.first == "[" { scalars.removeFirst() }
        guard let first = scalars.drop(while: \.properties.isWhitespace).first else { return true }
        return !(first.isASCII && (first.properties.isAlphabetic || "0123456789-_\"'[]".unicodeScalars.contains(first)))
    }
}

extension SettingsFile {
    /// The values of each setting, in words, by its full name. The manual page has the same list.
    package static let values: [String: String] = Key.allCases.reduce(into: [:]) { values, key in
        switch key.kind {
        case .string: values[key.rawValue] = "text"
        case .bool: values[key.rawValue] = "true or false"
        case .strings: values[key.rawValue] = "list of texts"
        case .table: break
        }
    }

    /// All settings, by their full names.
    private enum Key: String, CaseIterable {
        case name, chat, indicator, interfaces, mentions, notifications, privacy
        case onMessage = "on-message"
        case style = "indicator.style"
        case reduceMotion = "indicator.reduce-motion"
        case use = "interfaces.use"
        case leaveOut = "interfaces.leave-out"
        case bell = "mentions.bell"
        case showTexts = "notifications.show-texts"
        case sendTyping = "privacy.send-typing"
        case showTyping = "privacy.show-typing"
        case autoAway = "privacy.auto-away"

        var kind: Kind {
            switch self {
            case .name, .chat, .style: .string
            case .reduceMotion, .bell, .showTexts, .sendTyping, .showTyping, .autoAway: .bool
            case .use, .leaveOut, .onMessage: .strings
            case .indicator: .table([.style, .reduceMotion])
            case .interfaces: .table([.use, .leaveOut])
            case .mentions: .table([.bell])
            case .notifications: .table([.showTexts])
            case .privacy: .table([.sendTyping, .showTyping, .autoAway])
            }
        }
    }

    private enum Kind {
        case string, bool, strings
        case table([Key])
    }

    private enum Value {
        case string(String)
        case bool(Bool)
        case strings([String])
    }

    /// The reader of the tables, which accepts only known settings.
    private struct Reader {
        let path: String
        private var values: [Key: Value] = [:]

        init(path: String) {
            self.path = path
        }

        mutating func read(_ table: TOMLValue, in parent: Key? = nil, _ known: [Key]) throws(Refusal) {
            for (word, value) in (table.members ?? []).sorted(by: { $0.name < $1.name }) {
                let full = parent.map { "\($0.rawValue).\(word)" } ?? word
                guard let key = known.first(where: { $0.rawValue == full }) else {
                    let names = known.map(\.rawValue)
                    let advice =
                        NearestWord.find(full, among: names).map { "did you mean \"\($0)\"?" }
                        ?? "the settings\(parent == nil ? "" : " here") are \(names.joined(separator: ", "))"
                    throw Refusal(
                        text: "\(SafeText.line(path)): there is no setting \"\(SafeText.line(full))\"; \(advice)")
                }
                switch key.kind {
                case .string:
                    guard let text = value.string else { throw refusal(key, "takes text in quotes") }
                    values[key] = .string(text)
                case .bool:
                    guard let flag = value.boolean else { throw refusal(key, "takes true or false") }
                    values[key] = .bool(flag)
                case .strings:
                    let texts = value.elements?.map(\.string)
                    guard let texts, !texts.contains(nil) else {
                        throw refusal(
                            key,
                            key == .onMessage
                                ? "takes a list of words, such as [\"notify-message\"]"
                                : "takes a list of names, such as [\"eth0\"]")
                    }
                    values[key] = .strings(texts.compactMap { $0 })
                case .table(let inner):
                    guard value.members != nil else { throw refusal(key, "is a table: write [\(word)]") }
                    try read(value, in: key, inner)
                }
            }
        }

        func string(_ key: Key) -> String? { if case .string(let text) = values[key] { text } else { nil } }
        func bool(_ key: Key) -> Bool? { if case .bool(let flag) = values[key] { flag } else { nil } }
        func strings(_ key: Key) -> [String]? { if case .strings(let texts) = values[key] { texts } else { nil } }

        func refusal(_ key: Key, _ reason: String) -> Refusal {
            Refusal(text: "\(SafeText.line(path)): \(key.rawValue) \(reason)")
        }
    }
}

/// Returns a text as a quoted TOML string on one line.
package func tomlString(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\u{0}"..."\u{1F}", "\u{7F}":
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

/// A TOML document.
final class TOMLDocument {
    /// The fault in a text that is not TOML.
    struct Failure: Error {
        /// The line, counted from 1; nil if unknown.
        let line: Int?
        let text: String
    }

    private let document: OpaquePointer
    /// The table at the top of the document.
    private let node: OpaquePointer

    init(_ text: String) throws(Failure) {
        var text = text
        guard let document = text.withUTF8({ ctoml_read($0.baseAddress, $0.count) }) else {
            throw Failure(line: nil, text: "memory is short")
        }
        guard let node = ctoml_root(document) else {
            defer { ctoml_free(document) }
            var (line, column): (UInt32, UInt32) = (0, 0)
            let reason = String(ctoml_error(document, &line, &column))
            throw Failure(line: line > 0 ? Int(line) : nil, text: reason)
        }
        (self.document, self.node) = (document, node)
    }

    deinit { ctoml_free(document) }

    var root: TOMLValue { TOMLValue(document: self, node: node) }
}

/// A value in a TOML document. The properties for other types than its own are nil.
struct TOMLValue {
    fileprivate let document: TOMLDocument
    fileprivate let node: OpaquePointer

    var string: String? { ctoml_kind_of(node) == CTOML_STRING ? String(ctoml_string(node)) : nil }
    var boolean: Bool? { ctoml_kind_of(node) == CTOML_BOOLEAN ? ctoml_boolean(node) : nil }
    var elements: [TOMLValue]? { ctoml_kind_of(node) == CTOML_ARRAY ? values.map(\.value) : nil }
    /// The members of a table, in any order.
    var members: [(name: String, value: TOMLValue)]? { ctoml_kind_of(node) == CTOML_TABLE ? values : nil }

    private var values: [(name: String, value: TOMLValue)] {
        typealias Found = [(String, OpaquePointer)]
        var found: Found = []
        withUnsafeMutablePointer(to: &found) { found in
            ctoml_visit(node, found) { context, key, value in
                guard let context, let value else { return }
                context.assumingMemoryBound(to: Found.self).pointee.append((String(key), value))
            }
        }
        return found.map { ($0, TOMLValue(document: document, node: $1)) }
    }
}

extension String {
    fileprivate init(_ text: ctoml_text) {
        let bytes = UnsafeRawBufferPointer(start: text.bytes, count: text.count)
        self = String(decoding: bytes, as: UTF8.self)
    }
}
