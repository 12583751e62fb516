import InklingText

/// The end of what a doctor says: one sentence that a person can read to somebody on the telephone.
package enum Summary {
    /// - Parameters:
    ///   - findings: in the order in which they are to be dealt with.
    ///   - present: how many people answer in the chat.
    ///   - chat: the chat's name.
    package static func sentence(_ findings: [Finding], present: Int, chat: String) -> String {
        let name = SafeText.line(chat)
        if let first = findings.first(where: { $0.status == .problem }) {
            return first.spoken ?? "My computer has a problem with \(first.check): \(plain(first.text))."
        }
        guard present > 0 else {
            return "My computer is in order, but finds nobody in the chat \"\(name)\": please open a chat of exactly "
                + "that name on yours, and run the doctor there too."
        }
        let people = present == 1 ? "1 person" : "\(present) people"
        return "My computer is in order, and \(people) in the chat \"\(name)\" can be reached from it: whoever is "
            + "missing should run the doctor on theirs."
    }

    /// Without a full stop at the end.
    private static func plain(_ text: String) -> String {
        let line = SafeText.line(text)
        return line.hasSuffix(".") ? String(line.dropLast()) : line
    }
}
