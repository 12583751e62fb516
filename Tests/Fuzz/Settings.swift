import InklingCLI
import InklingModel
import InklingText

/// A text as TOML writes it in quotes.
private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        if (0x20..<0x7F).contains(scalar.value) && scalar != "\"" && scalar != "\\" {
            result.unicodeScalars.append(scalar)
        } else {
            let digits = String(scalar.value, radix: 16)
            result += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
    }
    return result + "\""
}

/// A settings file that says all that these settings say.
private func file(_ settings: SettingsFile) -> String {
    func list(_ names: [String]) -> String { "[" + names.map(quoted).joined(separator: ", ") + "]" }
    var lines: [String] = []
    if let name = settings.name { lines.append("name = \(quoted(name))") }
    if let chat = settings.chat { lines.append("chat = \(quoted(chat))") }
    if let style = settings.indicator { lines.append("indicator.style = \(quoted(style.rawValue))") }
    if let isReduced = settings.reducedMotion { lines.append("indicator.reduce-motion = \(isReduced)") }
    if let names = settings.interfaces { lines.append("interfaces.use = \(list(names))") }
    if let names = settings.excludedInterfaces { lines.append("interfaces.leave-out = \(list(names))") }
    if let shows = settings.notifiesWithTexts { lines.append("notifications.show-texts = \(shows)") }
    if let sends = settings.sendsTyping { lines.append("privacy.send-typing = \(sends)") }
    if let shows = settings.showsTyping { lines.append("privacy.show-typing = \(shows)") }
    return lines.map { $0 + "\n" }.joined()
}

/// Settings are within their limits, or refused in one line that says where.
private func checkSettings(_ text: String) {
    do {
        let settings = try SettingsFile(text, path: "config.toml")
        for text in [settings.name, settings.chat].compactMap({ $0 }) where !Chat.isInvite(text) {
            check((1...64).contains(NormalForm.canonical(text).utf8.count), "a name of \(text.utf8.count) bytes")
        }
        check(settings.interfaces == nil || settings.excludedInterfaces == nil, "interfaces to use and to leave out")
        check(!text.utf8.contains(0), "taken, with a NUL in it, where reading ends")
        let again = try? SettingsFile(file(settings), path: "config.toml")
        check(again == settings, "other settings from their own file: \(file(settings))")
    } catch {
        check(error.text.hasPrefix("config.toml"), "a refusal that does not name the file")
        check(error.text.utf8.count < 2 * text.utf8.count + 600, "a refusal of \(error.text.utf8.count) bytes")
        check(areIdentical(SafeText.line(error.text), error.text), "a refusal that is not safe to show")
        if let line = lineNumber(of: error.text) {
            // An error at the end may be counted on the line after the last one.
            check((1...text.utf8.count(where: { $0 == 0x0A }) + 2).contains(line), "there is no line \(line)")
        }
    }
}

/// The number in `config.toml, line 7: …`; nil without one.
private func lineNumber(of refusal: String) -> Int? {
    let start = "config.toml, line "
    guard refusal.hasPrefix(start) else { return nil }
    return Int(refusal.dropFirst(start.count).prefix { $0.isNumber })
}

/// Any texts, once written into a file, are what is read from it, or refused.
private func checkValues(_ text: String) {
    var settings = SettingsFile()
    settings.name = String(text.prefix(16))
    settings.excludedInterfaces = [text, String(text.reversed())]
    guard let again = try? SettingsFile(file(settings), path: "config.toml") else { return }
    check(areIdentical(again.name ?? "", settings.name ?? ""), "another name than its file's")
    check(again.excludedInterfaces?.count == 2, "other interfaces than their file's")
    for (left, right) in zip(again.excludedInterfaces ?? [], settings.excludedInterfaces ?? []) {
        check(areIdentical(left, right), "another interface than its file's")
    }
}

/// The settings file, and settings that are written into one.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSettings(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // A file that is not UTF-8 is refused before it is read as settings.
    let text = String(decoding: input(data, count), as: UTF8.self)
    checkSettings(text)
    checkValues(text)
    return 0
}
