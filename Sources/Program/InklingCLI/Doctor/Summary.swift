import InklingText

/// The end of what a doctor says: one sentence that a person can read to somebody on the telephone.
package enum Summary {
    /// - Parameters:
    ///   - findings: in the order in which they are to be dealt with.
    ///   - present: how many people on other machines answer in the chat.
    ///   - chat: the chat's name.
    ///   - isFirewallKnown: whether the firewall's rules were looked at.
    package static func sentence(
        _ findings: [Finding], present: Int, chat: String, isFirewallKnown: Bool = true
    ) -> String {
        let name = SafeText.line(chat)
        if let first = findings.first(where: { $0.status == .problem }) {
            return first.spoken ?? "My computer has a problem with \(first.check): I have to fix it."
        }
        guard present > 0 else {
            let start =
                isFirewallKnown
                ? "My computer is in order, but finds nobody in the chat \"\(name)\": "
                : "My computer finds nobody in the chat \"\(name)\", and I still have to look at its firewall as root: "
            return start + "please open a chat of exactly that name on yours, and run the doctor there too."
        }
        let people = present == 1 ? "1 person" : "\(present) people"
        return "My computer is in order, and \(people) in the chat \"\(name)\" can be reached from it: whoever is "
            + "missing should run the doctor on theirs."
    }
}
