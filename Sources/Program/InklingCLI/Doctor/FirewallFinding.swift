/// The doctor's findings about the firewall and its possible effects.
extension Finding {
    private static let firewallCheck = "firewall"
    private static let portsMustBeOpen = "UDP port 5353 and the chat's port must be open"

    /// The reason why the doctor does not know the firewall's rules.
    package struct Unread: Equatable, Sendable {
        /// The reason as text, such as "only root can read its rules".
        package let reason: String
        /// The command that shows more.
        package let look: String

        package init(reason: String, look: String) {
            self.reason = reason
            self.look = look
        }
    }

    /// The way in which datagrams to addresses of this host were lost.
    package enum Loss: Equatable, Sendable {
        case none
        /// The system refused to send them. Only a firewall causes this.
        case refused
        case lost
    }

    /// The finding if the program can't read the rules.
    package static func firewall(_ unread: Unread, _ loss: Loss) -> Finding {
        switch loss {
        case .none: .note(firewallCheck, "\(unread.reason); \(portsMustBeOpen)", look: unread.look)
        case .refused:
            .problem(
                firewallCheck,
                "it does not let out what this machine sends, not even to itself. Which rule does that is not known: "
                    + unread.reason, look: unread.look,
                spoken:
                    "The firewall of my computer does not let out what Inkling sends: I have to look at its rules as "
                    + "root.")
        case .lost:
            .problem(
                firewallCheck,
                "most likely it drops what is sent to this machine: not even its own datagrams arrive. Which rule does "
                    + "that is not known: \(unread.reason)", look: unread.look,
                spoken: suspicion("loses what is sent to it"))
        }
    }

    /// The finding for a rule that drops datagrams.
    ///
    /// - Parameter hasPort: whether the chat's port is known.
    package static func firewall(_ obstacle: Firewall.Obstacle, hasPort: Bool) -> Finding {
        let hint = hasPort || !obstacle.dropsChat ? "" : "; with --port N one port is enough"
        return obstacle.isInput
            ? .problem(
                firewallCheck, "it may drop what others send: \(obstacle.rule)\(hint)",
                fix: obstacle.fix,
                spoken: "The firewall of my computer drops what others send to Inkling: I have to let it pass.")
            : .problem(
                firewallCheck, "it may drop what this machine sends: \(obstacle.rule)\(hint)",
                fix: obstacle.fix,
                spoken: "The firewall of my computer drops what Inkling sends to others: I have to let it pass.")
    }

    /// The finding if the probe does not find its own service.
    ///
    /// - Parameters:
    ///   - isWalled: whether a known firewall rule drops discovery.
    ///   - unread: the reason why the rules are not known; nil if they are.
    package static func undiscovered(isWalled: Bool, _ unread: Unread?) -> Finding {
        let check = "discovery"
        let text = "a service that was announced was not found within 5 s"
        if isWalled { return .note(check, "\(text); the firewall's rules explain it") }
        if let unread {
            return .problem(
                check,
                "\(text). The first suspect is the firewall of this machine (\(unread.reason)), the next are the settings "
                    + "in /etc/avahi/avahi-daemon.conf", look: unread.look, spoken: suspicion("finds nobody"))
        }
        return .problem(
            check, "Avahi answers, but \(text)",
            look:
                "grep -E 'allow-interfaces|deny-interfaces|disable-publishing' /etc/avahi/avahi-daemon.conf    (none of "
                + "them should keep Avahi from the networks above)",
            spoken: "Avahi on my computer runs but finds nobody: I have to look at its settings.")
    }

    /// Returns a sentence for the telephone if a firewall with unknown rules is the suspect.
    static func suspicion(_ symptom: String) -> String {
        "My computer \(symptom), most likely because of its firewall: I have to look at its rules as root."
    }
}
