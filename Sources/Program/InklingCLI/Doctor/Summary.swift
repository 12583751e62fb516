import InklingText

/// The last sentence of the doctor, which the user can read aloud on the telephone.
package enum Summary {
    /// Returns the sentence.
    ///
    /// - Parameters:
    ///   - findings: the findings in the order of the checks.
    ///   - present: the number of people on other machines who answer in the chat.
    ///   - chat: the chat's name.
    ///   - isFirewallKnown: whether the doctor read the firewall's rules.
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
