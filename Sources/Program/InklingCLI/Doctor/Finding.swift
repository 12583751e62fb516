import FoundationEssentials
import InklingService
import InklingText

/// The result of one check.
package struct Finding: Equatable, Sendable {
    package enum Status: String, Sendable {
        case ok, note, problem
    }

    package let check: String
    package let status: Status
    package let text: String
    /// The command that fixes the problem or shows more about it.
    package private(set) var fix: String?
    /// Whether the command only shows more.
    package let isLook: Bool
    /// The problem in one sentence without commands and addresses, which the user can read aloud on the telephone; nil
    /// for other findings.
    package let spoken: String?

    private init(
        _ check: String, _ status: Status, _ text: String, fix: String?, look: String?, spoken: String? = nil
    ) {
        self.check = check
        self.status = status
        self.text = text
        self.fix = fix ?? look
        isLook = fix == nil && look != nil
        self.spoken = spoken
    }

    package static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check, .ok, text, fix: nil, look: nil)
    }

    /// Returns a finding that is a problem or a remark.
    ///
    /// - Parameters:
    ///   - fix: the command that fixes the problem.
    ///   - look: a command that shows more, if no command fixes the problem.
    package static func note(_ check: String, _ text: String, fix: String? = nil, look: String? = nil) -> Finding {
        Finding(check, .note, text, fix: fix, look: look)
    }

    package static func problem(
        _ check: String, _ text: String, fix: String? = nil, look: String? = nil, spoken: String
    ) -> Finding {
        Finding(check, .problem, text, fix: fix, look: look, spoken: spoken)
    }

    /// Returns the finding for the current user. Root needs no `sudo` in the command. Without `sudo` on the machine,
    /// the user must become root.
    package func adapted(isRoot: Bool, hasSudo: Bool) -> Finding {
        guard isRoot || !hasSudo, let fix else { return self }
        let starts = fix.replacing(#/(^|&& |; |then: )sudo (-E )?/#) { $0.output.1 }
        guard starts != fix else { return self }
        var finding = self
        var line = starts
        if !isRoot {
            if let range = line.firstRange(of: "    (") {
                line.replaceSubrange(range, with: "    (as root; ")
            } else {
                line += "    (as root)"
            }
        }
        finding.fix = line
        return finding
    }

    package var lines: [String] {
        let label = status.rawValue + String(repeating: " ", count: 9 - status.rawValue.count)
        let first = label + SafeText.line("\(check): \(text)")
        return [first] + (fix.map { ["         \(isLook ? "look" : "fix it"): " + SafeText.line($0)] } ?? [])
    }

    var value: JSONValue {
        var members: [(String, JSONValue)] = [
            ("check", .string(check)), ("status", .string(status.rawValue)), ("text", .string(text)),
        ]
        if let fix { members.append(("mend", .string(fix))) }
        return .object(members)
    }
}

/// The doctor's findings about the daemon and its version.
extension Finding {
    private static let daemonCheck = "daemon"

    /// The finding about a running daemon.
    ///
    /// - Parameters:
    ///   - version: the version of the daemon's program.
    ///   - port: the UDP port of its node.
    ///   - isHolder: whether a prompt has the node.
    ///   - root: whether root runs the doctor and owns the daemon.
    package static func daemon(
        version: String, program: String, port: UInt16, isHolder: Bool = false, ofRoot root: Bool = false
    ) -> Finding {
        let owner = root ? "root's" : "yours"
        let runner = isHolder ? "none runs, but a prompt of \(owner) runs Inkling" : "\(owner) runs"
        let text = "\(runner), on UDP port \(port), and its node is asked who is in the chat"
        guard let difference = VersionDifference.text(daemon: version, program: program) else {
            return .ok(daemonCheck, text)
        }
        return .note(
            daemonCheck, "\(text). \(difference)",
            look: "inkling status    (shows since when it runs, and both versions)")
    }

    /// The finding if the user who runs the doctor has no daemon.
    ///
    /// - Parameter isNodeThere: whether a chat uses the identity.
    package static func noDaemon(isNodeThere: Bool, ofRoot root: Bool = false) -> Finding {
        let start = root ? "root runs none" : "you run none"
        return isNodeThere
            ? .ok(
                daemonCheck,
                "\(start), but \(root ? "root has" : "you have") a chat open: the doctor is beside it in the chat, under a "
                    + "name of its own")
            : .ok(daemonCheck, "\(start), and none is needed: the doctor has a node of its own")
    }

    /// The finding for root about another user's daemon, which root can't use.
    ///
    /// - Parameters:
    ///   - user: the login name.
    ///   - arguments: the doctor's arguments, with a blank before each.
    package static func daemon(of user: String, _ node: OthersNode, arguments: String) -> Finding {
        switch node {
        case .none: .ok(daemonCheck, "\(user) runs none, and none is needed: the doctor has a node of its own")
        case .chat:
            .ok(
                daemonCheck,
                "\(user) runs none, but has a chat open: the doctor is beside it in the chat, under a name of its own")
        case .daemon:
            .note(
                daemonCheck,
                "\(user)'s runs, and root can't use it: the doctor is beside it in the chat, under a name of its own",
                look: "inkling doctor\(arguments)    (as \(user): looks through that daemon)")
        }
    }

    /// The finding if a node uses the state directory but the doctor can't attach to it.
    static func daemon(_ failure: DaemonConnection.Failure, ofRoot root: Bool, isManaged: Bool) -> Finding {
        switch failure {
        case _ where failure.isNobody: .noDaemon(isNodeThere: true, ofRoot: root)
        case .daemon(.newerInterface): .olderProgram(failure.reason)
        case .daemon(.otherState):
            .note(
                daemonCheck, "the one that listens has another state directory, and is not used",
                look: "inkling doctor --state-dir DIR    (the one that the daemon was started with)")
        case .daemon(.refused(.other("state-in-use", _))):
            .note(
                daemonCheck, "it waits until a chat of yours ends, which uses the identity",
                fix: "end that chat, and open it again: it then uses the daemon")
        case .otherUser, .noPlace, .socket, .silent, .hanging, .notDaemon, .daemon:
            .unusableDaemon(failure.reason, isManaged: isManaged)
        }
    }

    private static func olderProgram(_ reason: String) -> Finding {
        .problem(
            daemonCheck, reason, look: "inkling --version    (of this program, which is the older one)",
            spoken:
                "My Inkling daemon runs, but my programs can't use it: this computer has two versions of Inkling, and I "
                + "have to upgrade the older one.")
    }

    /// The finding about a daemon that the doctor can't use.
    ///
    /// - Parameter isManaged: whether a service manager runs the daemon.
    package static func unusableDaemon(_ reason: String, isManaged: Bool) -> Finding {
        .problem(
            daemonCheck, "a node of yours runs, but no daemon can be used: \(reason)",
            fix: isManaged
                ? "systemctl --user restart inkling.service"
                : "end it with inkling stop, and start it again: inkling daemon",
            spoken: "My Inkling daemon runs, but my programs can't use it, so I have to restart it.")
    }
}

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

/// A report of the firewall's rules that may drop a node's datagrams.
///
/// The report compares the rules with the node's ports, and does not simulate the firewall. A rule that accepts counts
/// also under a condition that the report can't decide, such as an address. A rule that drops counts only if it names
/// UDP, or if its base chain drops all.
package enum Firewall {
    package struct Obstacle: Equatable {
        package let rule: String
        /// The command that opens the firewall.
        package let fix: String
        /// Whether the rule concerns arriving datagrams, and not leaving ones.
        package let isInput: Bool
        /// Whether the rule drops mDNS.
        package let dropsDiscovery: Bool
        package let dropsChat: Bool
    }

    /// Returns the obstacles; nil if the text is not a rule set.
    ///
    /// - Parameters:
    ///   - json: The output of `nft --json list ruleset`.
    ///   - port: The node's UDP port; nil if the system chooses one.
    ///   - chosen: The ports that the system chooses among.
    package static func obstacles(
        nftables json: String, port: UInt16?, chosen: ClosedRange<UInt16> = 32_768...60_999
    ) -> [Obstacle]? {
        let decoded = try? JSONDecoder().decode([String: [Entry]].self, from: Data(json.utf8))
        guard let entries = decoded?["nftables"] else { return nil }
        let (chains, node) = (entries.compactMap(\.chain), port.map { $0...$0 } ?? chosen)
        return chains.filter { $0.hook == "input" || $0.hook == "output" }.compactMap { base in
            let rules = base.reachedRules(of: entries.compactMap(\.rule))
            let (discovery, chat) = (base.drops(rules, 5_353...5_353), base.drops(rules, node))
            let drops = discovery + chat.filter { !discovery.contains($0) }
            guard !drops.isEmpty else { return nil }
            let isUFW = chains.contains { $0.table == base.table && $0.name.hasPrefix("ufw") }
            return Obstacle(
                rule: drops.joined(separator: ", "),
                fix: base.fix(isUFW: isUFW, discovery: !discovery.isEmpty, chat: chat.isEmpty ? nil : node),
                isInput: base.isInput, dropsDiscovery: !discovery.isEmpty, dropsChat: !chat.isEmpty)
        }
    }

    private struct Entry: Decodable {
        let chain: Chain?
        let rule: Rule?
    }

    private struct Rule: Decodable {
        let family: String
        let table: String
        let chain: String
        let expr: [RuleText]

        /// The rule as `nft list ruleset` shows it.
        var text: String { expr.map(\.text).joined(separator: " ") }
        private var last: String { expr.last?.text ?? "" }
        var accepts: Bool { last == "accept" }
        var drops: Bool { last == "drop" || last.hasPrefix("reject") }
        var namesUDP: Bool { conditions.contains { $0.contains("udp") } }

        /// The statements that limit the rule to some datagrams.
        var conditions: [String] {
            expr.dropLast().map(\.text).filter { !$0.hasPrefix("counter") && !$0.hasPrefix("log") }
        }

        /// Whether the first datagram of a flow from or to these ports may meet the conditions.
        func concerns(_ ports: ClosedRange<UInt16>) -> Bool {
            conditions.allSatisfy { condition in
                let words = condition.split(separator: " ", maxSplits: 2).map(String.init)
                guard words.count == 3 else { return true }
                let isNegated = words[2].hasPrefix("!= ")
                let values = words[2].split { " !={},".contains($0) }
                switch (words[0], words[1]) {
                case (_, "l4proto"), ("ip", "protocol"), ("ip6", "nexthdr"): return values.contains("udp") != isNegated
                case ("udp", "dport"), ("th", "dport"), ("udp", "sport"), ("th", "sport"):
                    let ranges = values.map { $0.split(separator: "-").compactMap { UInt16($0) } }
                    // A rule that accepts has to accept all ports. A rule that drops one of them counts.
                    return isNegated
                        != ranges.contains { ends in
                            guard let first = ends.first, let last = ends.last, first <= last else { return accepts }
                            return accepts != isNegated
                                ? ports.clamped(to: first...last) == ports : ports.overlaps(first...last)
                        }
                case ("ct", _): return values.contains("new") != isNegated
                case ("meta", "iif"), ("meta", "iifname"), ("meta", "oif"), ("meta", "oifname"):
                    return values.contains("lo") == isNegated
                // A rule for one sender does not concern the others.
                case (_, "saddr"): return values.count != 1 || isNegated || words[2].contains { "/-@".contains($0) }
                case let (name, _): return !["tcp", "icmp", "icmpv6", "igmp", "sctp"].contains(name)
                }
            }
        }
    }

    private struct Chain: Decodable {
        let family: String
        let table: String
        let name: String
        /// Such as "input"; nil if only other chains lead here.
        let hook: String?
        let policy: String?

        var isInput: Bool { hook == "input" }

        /// Returns the rules of this chain, and of the chains to which they lead.
        func reachedRules(of all: [Rule]) -> [Rule] {
            let rules = all.filter { $0.family == family && $0.table == table }
            var reached: Set = [name]
            while true {
                let texts = rules.filter { reached.contains($0.chain) }.map(\.text)
                let targets = texts.flatMap { $0.matches(of: #/(?:jump|goto) ([^ ,}]+)/#).map { String($0.output.1) } }
                guard !reached.isSuperset(of: targets) else { return rules.filter { reached.contains($0.chain) } }
                reached.formUnion(targets)
            }
        }

        /// Returns the rules that may drop a datagram, and the policy if it does.
        ///
        /// A rule that accepts counts against later rules of its chain, against the policy, and against rules of the
        /// base chain that drop all.
        func drops(_ rules: [Rule], _ ports: ClosedRange<UInt16>) -> [String] {
            // In other chains, a rule without conditions depends on the rules that lead there.
            let rules = rules.filter { ($0.chain == name || !$0.conditions.isEmpty) && $0.concerns(ports) }.enumerated()
            let accepting = rules.filter { $0.element.accepts }
            let dropping = rules.filter { index, rule in
                rule.drops && (rule.namesUDP || rule.conditions.isEmpty)
                    && !accepting.contains { $0.element.chain == rule.chain ? $0.offset < index : !rule.namesUDP }
            }
            let texts = dropping.map { "\($0.element.text) (chain \(family) \(table) \($0.element.chain))" }
            let isShut = policy == "drop" && accepting.isEmpty
            return isShut ? texts + ["policy drop (chain \(family) \(table) \(name))"] : texts
        }

        /// Returns the command that lets datagrams pass. A leaving datagram has the own port as its source port.
        ///
        /// - Parameters:
        ///   - discovery: whether mDNS is dropped.
        ///   - chat: the ports of the chat, if they are dropped.
        func fix(isUFW: Bool, discovery: Bool, chat: ClosedRange<UInt16>?) -> String {
            func ports(_ sign: String) -> [String] {
                let range = chat.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)\(sign)\($0.upperBound)" }
                return (discovery ? ["5353"] : []) + [range].compactMap { $0 }
            }
            if isUFW {
                let list = ports(":").joined(separator: ",")
                return "sudo ufw allow \(isInput ? "proto udp" : "out proto udp from any port \(list)") to any"
                    + (isInput ? " port \(list)" : "")
            }
            if table == "firewalld", isInput {
                let added = ports("-").map { $0 == "5353" ? " --add-service=mdns" : " --add-port=\($0)/udp" }.joined()
                return "sudo firewall-cmd --permanent\(added) && sudo firewall-cmd --reload    (for the default zone; "
                    + "--zone=NAME names another one)"
            }
            let list = ports("-")
            let set = list.count == 1 ? list[0] : "{ \(list.joined(separator: ", ")) }"
            return
                "sudo nft insert rule \(family) \(table) \(name) udp \(isInput ? "dport" : "sport") \(set) accept    "
                + "(a rule added by hand is gone after a reboot: to keep it, add it where your rules are kept, such as "
                + "/etc/nftables.conf)"
        }
    }
}

/// A statement in the JSON of nft, as `nft list ruleset` shows it. Statements without meaning for ports lose details.
private struct RuleText: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let number = try? value.decode(Int.self) {
            text = String(number)
        } else if let word = try? value.decode(String.self) {
            text = word
        } else if let list = try? value.decode([RuleText].self) {
            text = list.map(\.text).joined(separator: ",")
        } else {
            text = Self.text(((try? value.decode([String: RuleText].self)) ?? [:]).mapValues(\.text))
        }
    }

    private static func text(_ members: [String: String]) -> String {
        if let left = members["left"], let sign = members["op"], let right = members["right"] {
            return sign == "!=" ? "\(left) != \(right)" : "\(left) \(right)"
        }
        if let name = members["protocol"], let field = members["field"] { return "\(name) \(field)" }
        if let address = members["addr"], let length = members["len"] { return "\(address)/\(length)" }
        if let key = members["key"] { return members["data"].map { "\(key) \($0)" } ?? key }
        guard members.count == 1, let (name, value) = members.first else { return "" }
        switch name {
        case "match", "payload", "prefix", "target": return value
        case "range": return value.replacing(",", with: "-")
        case "set": return "{ \(value.replacing(",", with: ", ")) }"
        default: return value.isEmpty ? name : "\(name) \(value)"
        }
    }
}
