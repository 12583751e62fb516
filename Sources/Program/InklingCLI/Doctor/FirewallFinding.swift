/// What a doctor says of the firewall, and of what it may be the reason for.
extension Finding {
    private static let firewallCheck = "firewall"
    private static let portsMustBeOpen = "UDP port 5353 and the chat's port must be open"

    /// Why the firewall's rules are not known.
    package struct Unread: Equatable, Sendable {
        /// Such as "only root can read its rules".
        package let reason: String
        /// The line that leads on.
        package let look: String

        package init(reason: String, look: String) {
            self.reason = reason
            self.look = look
        }
    }

    /// What becomes of datagrams to the own addresses.
    package enum Loss: Equatable, Sendable {
        case none
        /// The system did not let them out, which is always a firewall.
        case refused
        case lost
    }

    /// The rules can't be read.
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

    /// A rule is in the way.
    ///
    /// - Parameter hasPort: whether the chat's port is known.
    package static func firewall(_ obstacle: Firewall.Obstacle, hasPort: Bool) -> Finding {
        let hint = hasPort || !obstacle.dropsChat ? "" : "; with --port N one port is enough"
        return obstacle.isInput
            ? .problem(
                firewallCheck, "it may drop what others send: \(obstacle.rule)\(hint)",
                fix: obstacle.isLook ? nil : obstacle.fix, look: obstacle.fix,
                spoken: "The firewall of my computer drops what others send to Inkling: I have to let it pass.")
            : .problem(
                firewallCheck, "it may drop what this machine sends: \(obstacle.rule)\(hint)",
                fix: obstacle.isLook ? nil : obstacle.fix, look: obstacle.fix,
                spoken: "The firewall of my computer drops what Inkling sends to others: I have to let it pass.")
    }

    /// A service that was announced is not found.
    ///
    /// - Parameters:
    ///   - isWalled: whether the firewall is known to keep discovery out.
    ///   - unread: why its rules are not known; nil if they are.
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

    /// A sentence for the telephone where the firewall is suspected, and its rules are not known.
    static func suspicion(_ symptom: String) -> String {
        "My computer \(symptom), most likely because of its firewall: I have to look at its rules as root."
    }
}
