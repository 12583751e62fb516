import FoundationEssentials

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
