/// The effect of a firewall on the datagrams of a node, as far as the rules can be read.
///
/// The walk follows the rules as the kernel does for the first datagram of a flow: chain by chain, with their jumps.
/// The walk can't decide some conditions, such as an address or a rate. Then a rule that accepts counts as true, and a
/// rule that drops counts only if it names the port.
package enum Firewall {
    package struct Obstacle: Equatable {
        package let rule: String
        package let fix: String
        /// Whether the command only shows more.
        package let isLook: Bool
        /// Whether the rule concerns arriving datagrams, and not leaving ones.
        package let isInput: Bool
        /// Whether the rule drops mDNS.
        package let dropsDiscovery: Bool
        package let dropsChat: Bool
    }

    /// Returns the rules that drop the node's datagrams.
    ///
    /// - Parameters:
    ///   - rules: The output of `nft list ruleset`.
    ///   - port: The node's UDP port; nil if the system chooses one.
    ///   - chosen: The ports that the system chooses among.
    ///   - interfaces: The node's interfaces; nil if unknown.
    package static func obstacles(
        nftables rules: String, port: UInt16?, chosen: ClosedRange<UInt16> = 32_768...60_999,
        interfaces: Set<String>? = nil
    ) -> [Obstacle] {
        let some = chosen.lowerBound + (chosen.upperBound - chosen.lowerBound) / 2
        let ports = [5_353] + (port.map { [$0] } ?? [chosen.lowerBound, some, chosen.upperBound])
        let wanted = port.map { $0...$0 } ?? chosen
        var found: [(place: FirewallPlace, rules: [String], ports: Set<UInt16>)] = []
        for table in FirewallTable.tables(in: rules) {
            for (name, chain) in table.chains {
                guard let isInput = chain.isInput else { continue }
                let place = FirewallPlace(
                    manager: table.manager, table: table.name, chain: name, isInput: isInput,
                    zone: table.zone(of: interfaces ?? []))
                for port in ports {
                    let walk = FirewallWalk(
                        table: table, port: port, isInput: isInput, others: chosen, interfaces: interfaces)
                    guard let rule = walk.obstacle(in: name) else { continue }
                    if let index = found.firstIndex(where: { $0.place.isOpenedWith(place) }) {
                        if !found[index].rules.contains(rule) { found[index].rules.append(rule) }
                        found[index].ports.insert(port)
                    } else {
                        found.append((place, [rule], [port]))
                    }
                }
            }
        }
        return found.map { place, rules, ports in
            let (dropsDiscovery, dropsChat) = (ports.contains(5_353), ports != [5_353])
            let fix = place.fix(discovery: dropsDiscovery, chat: dropsChat ? wanted : nil)
            return Obstacle(
                rule: rules.joined(separator: ", "), fix: fix.line, isLook: fix.isLook, isInput: place.isInput,
                dropsDiscovery: dropsDiscovery, dropsChat: dropsChat)
        }
    }
}

/// The command that opens the firewall, or shows the rules that drop datagrams.
private struct FirewallFix: Equatable {
    var line: String
    var isLook = false
}

/// The chain that drops datagrams.
private struct FirewallPlace {
    let manager: FirewallTable.Manager
    let table: String
    let chain: String
    let isInput: Bool
    /// The firewall's zone of the interfaces, if the firewall manager has zones and the zone is known.
    let zone: String?

    /// Returns whether one command opens both places.
    func isOpenedWith(_ other: FirewallPlace) -> Bool {
        guard manager == other.manager, isInput == other.isInput else { return false }
        return manager != .none || table == other.table && chain == other.chain
    }

    /// Returns the fix. A leaving datagram has the node's port as its source port, and another node's port as its
    /// destination.
    ///
    /// - Parameters:
    ///   - discovery: whether mDNS is dropped.
    ///   - chat: the ports of the chat, if they are dropped.
    func fix(discovery: Bool, chat: ClosedRange<UInt16>?) -> FirewallFix {
        func ports(_ sign: String) -> [String] {
            let range = chat.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)\(sign)\($0.upperBound)" }
            return (discovery ? ["5353"] : []) + [range].compactMap { $0 }
        }
        switch manager {
        case .none:
            let list = ports("-")
            let set = list.count == 1 ? list[0] : "{ \(list.joined(separator: ", ")) }"
            return FirewallFix(
                line:
                    "sudo nft insert rule \(table) \(chain) udp \(isInput ? "dport" : "sport") \(set) accept    (a rule "
                    + "added by hand is gone after a reboot: to keep it, add it where your rules are kept, such as "
                    + "/etc/nftables.conf)")
        case .ufw:
            let list = ports(":").joined(separator: ",")
            return FirewallFix(
                line: isInput
                    ? "sudo ufw allow proto udp to any port \(list)"
                    : "sudo ufw allow out proto udp from any port \(list) to any")
        case .firewalld where isInput:
            let services = discovery ? " --add-service=mdns" : ""
            let added = chat == nil ? "" : ports("-").last.map { " --add-port=\($0)/udp" } ?? ""
            return FirewallFix(
                line:
                    "sudo firewall-cmd --permanent\(zone.map { " --zone=\($0)" } ?? "")\(services)\(added) && sudo firewall-cmd --reload"
            )
        case .firewalld:
            return FirewallFix(
                line: "sudo firewall-cmd --list-all-policies    (look for what drops UDP that leaves)", isLook: true)
        }
    }
}

/// A table of nftables rules.
private struct FirewallTable {
    struct Chain {
        /// Whether the chain sees arriving datagrams, and not leaving ones; nil if datagrams reach it only from other
        /// chains.
        var isInput: Bool?
        var drops = false
        var rules: [String] = []
    }

    /// The program that made the rules, and restores them after a direct change.
    enum Manager {
        case none, ufw, firewalld
    }

    /// The name with its family, such as "inet filter".
    var name: String
    var chains: [(name: String, Chain)] = []

    /// Returns the zone of firewalld for the first of some interfaces, in the order of the rules. The default zone is
    /// the last rule.
    func zone(of interfaces: Set<String>) -> String? {
        guard manager == .firewalld, let zones = chain("filter_INPUT_ZONES") else { return nil }
        for rule in zones.rules {
            for match in rule.matches(of: #/(?:"([^"]+)" *:? *)?goto filter_IN_(\w+)/#) {
                guard let name = match.output.1 else { return String(match.output.2) }
                if interfaces.contains(String(name)) { return String(match.output.2) }
            }
        }
        return nil
    }

    func chain(_ name: String) -> Chain? { chains.first { $0.name == name }?.1 }

    var manager: Manager {
        if chains.contains(where: { $0.name.hasPrefix("ufw") }) { return .ufw }
        return name.hasSuffix(" firewalld") ? .firewalld : .none
    }

    static func tables(in text: String) -> [FirewallTable] {
        var tables: [FirewallTable] = []
        var chain: (name: String, Chain)?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            switch words.first {
            case "table"? where words.count >= 3: tables.append(FirewallTable(name: "\(words[1]) \(words[2])"))
            case "chain"? where words.count >= 2: chain = (words[1], Chain())
            case "type"? where chain != nil:
                if line.contains("hook input") { chain?.1.isInput = true }
                if line.contains("hook output") { chain?.1.isInput = false }
                chain?.1.drops = line.contains("policy drop")
            case "}"?:
                if let chain, !tables.isEmpty { tables[tables.count - 1].chains.append(chain) }
                chain = nil
            default: chain?.1.rules.append(words.joined(separator: " "))
            }
        }
        return tables
    }
}

/// One datagram's way through the rules of a table.
private struct FirewallWalk {
    let table: FirewallTable
    let port: UInt16
    let isInput: Bool
    /// The possible ports of other nodes, to which a chat's datagrams may go.
    let others: ClosedRange<UInt16>
    let interfaces: Set<String>?

    private var isMDNS: Bool { port == 5_353 }
    private static let depth = 16

    private enum End {
        case passes
        case drops(String)
        /// No rule of the chain decided about the datagram.
        case goesOn
        case leaves(chain: String, match: Match, returns: Bool)
        case returns
    }

    private enum Match {
        case never, perhaps, always

        func and(_ other: Match) -> Match {
            if self == .never || other == .never { return .never }
            return self == .always ? other : .perhaps
        }
    }

    /// Returns the rule or policy that drops the datagram, with its chain.
    func obstacle(in chain: String) -> String? {
        switch follow(chain, depth: 0) {
        case .drops(let rule): rule
        case .goesOn where table.chain(chain)?.drops == true: "policy drop (chain \(table.name) \(chain))"
        default: nil
        }
    }

    private func follow(_ name: String, depth: Int) -> End {
        guard depth < Self.depth, let chain = table.chain(name) else { return .goesOn }
        for text in chain.rules {
            for rule in Self.unfolded(Self.tokens(text)) {
                let place =
                    "\(text.replacing(#/counter packets \d+ bytes \d+ /#, with: "")) (chain \(table.name) \(name))"
                let end = end(of: rule, place)
                guard case .leaves(let target, let match, let returns) = end else {
                    switch end {
                    case .goesOn: continue
                    case .returns: return .goesOn
                    default: return end
                    }
                }
                switch follow(target, depth: depth + 1) {
                case .passes: return .passes
                case .drops(let rule) where match == .always: return .drops(rule)
                case _ where match == .always && !returns: return .goesOn
                default: continue
                }
            }
        }
        return .goesOn
    }

    /// Returns the effect of a rule on the datagram.
    private func end(of rule: [Token], _ place: String) -> End {
        let verdicts: Set<String> = ["accept", "drop", "reject", "return", "jump", "goto"]
        guard let index = rule.firstIndex(where: { !$0.isQuoted && verdicts.contains($0.text) }) else { return .goesOn }
        let conditions = rule[..<index]
        let match = match(conditions)
        guard match != .never else { return .goesOn }
        let target = index + 1 < rule.count ? rule[index + 1].text : ""
        switch rule[index].text {
        case "accept": return .passes
        case "return": return match == .always ? .returns : .goesOn
        case "jump", "goto": return .leaves(chain: target, match: match, returns: rule[index].text == "jump")
        default:
            let namesPort = conditions.contains { $0.text == "dport" || !isInput && $0.text == "sport" }
            return match == .always || namesPort ? .drops(place) : .goesOn
        }
    }

    // MARK: Conditions

    private func match(_ conditions: ArraySlice<Token>) -> Match {
        var words = conditions.map(\.text)[...]
        var match = Match.always
        func value() -> (text: String, isNegated: Bool) {
            let isNegated = words.first == "!="
            if isNegated { words.removeFirst() }
            return (words.popFirst() ?? "", isNegated)
        }
        func test(_ isMet: (String) -> Match) {
            let (text, isNegated) = value()
            let ends = Self.elements(text).map(isMet)
            let met: Match = ends.contains(.always) ? .always : ends.contains(.perhaps) ? .perhaps : .never
            match = match.and(isNegated && met != .perhaps ? (met == .always ? .never : .always) : met)
        }
        while let word = words.popFirst() {
            switch word {
            case "meta", "ip", "ip6", "th": continue
            case "counter": if words.first == "packets" { words = words.dropFirst(4) }
            case "log", "nflog":
                // A log statement does not decide about the datagram.
                words = []
            case "comment": _ = value()
            case "udp":
                if words.first == "sport" || words.first == "dport" { continue }
                _ = value()
            case "l4proto", "protocol", "nexthdr": test { $0 == "udp" || $0 == "17" ? .always : .never }
            case "nfproto": _ = value()
            case "tcp", "sctp", "dccp", "icmp", "icmpv6", "igmp", "esp", "ah", "arp": return .never
            case "iif", "iifname": test { isInput ? isOwn($0) : .never }
            case "oif", "oifname": test { isInput ? .never : isOwn($0) }
            // An mDNS datagram has the same source and destination port.
            case "dport": test { isInput || isMDNS ? (holds($0, port) ? .always : .never) : holdsOthers($0) }
            case "sport":
                test { !isInput || isMDNS ? (holds($0, port) ? .always : .never) : isWide($0) ? .perhaps : .never }
            case "daddr":
                test { $0.hasPrefix("224.0.0.") || $0.hasPrefix("ff02:") ? (isMDNS ? .always : .never) : .perhaps }
            // A rule for one host's address does not match other hosts.
            case "saddr": test { $0.contains(where: "/-@".contains) ? .perhaps : .never }
            case "pkttype": test { $0 == "broadcast" ? .never : ($0 == "multicast") == isMDNS ? .always : .never }
            case "ct":
                guard let word = words.popFirst(), word == "state" else { return .never }
                test { $0 == "new" ? .always : .never }
            case "fib":
                guard words.prefix(2) == ["daddr", "type"] else { return .perhaps }
                words = words.dropFirst(2)
                test { isInput && $0 == (isMDNS ? "multicast" : "local") ? .always : .never }
            default: return match.and(.perhaps)
            }
        }
        return match
    }

    private func isOwn(_ name: String) -> Match {
        if name == "lo" { return .never }
        guard let interfaces else { return .perhaps }
        let isMet =
            name.hasSuffix("*") ? interfaces.contains { $0.hasPrefix(name.dropLast()) } : interfaces.contains(name)
        return isMet ? .always : .never
    }

    private func holds(_ text: String, _ port: UInt16) -> Bool { Self.range(text)?.contains(port) ?? false }

    /// Returns whether ports in a rule include the destinations of the chat's datagrams. Many other nodes have the same
    /// port as this node.
    private func holdsOthers(_ text: String) -> Match {
        guard let range = Self.range(text) else { return .never }
        if range.lowerBound <= others.lowerBound, range.upperBound >= others.upperBound { return .always }
        return range.overlaps(others) || range.contains(port) ? .perhaps : .never
    }

    private func isWide(_ text: String) -> Bool { (Self.range(text)?.count ?? 0) > 10_000 }

    private static func range(_ text: String) -> ClosedRange<UInt16>? {
        let ends = text.split(separator: "-").map { $0 == "mdns" ? 5_353 : UInt16($0) }
        guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else { return nil }
        return first...last
    }

    // MARK: Words

    private struct Token {
        var text: String
        var isQuoted = false
    }

    /// Splits a rule into words. Text in quotes or braces is one word.
    private static func tokens(_ rule: String) -> [Token] {
        rule.matches(of: #/"([^"]*)"|\{[^}]*\}|[^\s"]+/#).map { match in
            match.output.1.map { Token(text: String($0), isQuoted: true) } ?? Token(text: String(match.output.0))
        }
    }

    /// Returns the elements of a set or a list; a single value is its own element.
    private static func elements(_ text: String) -> [String] {
        text.split { "{},\"".contains($0) || $0.isWhitespace }.map(String.init)
    }

    /// Returns the rules that a rule with a map from values to verdicts stands for.
    private static func unfolded(_ rule: [Token]) -> [[Token]] {
        guard let index = rule.firstIndex(where: { !$0.isQuoted && $0.text == "vmap" }), index + 1 < rule.count else {
            return [rule]
        }
        let entries = rule[index + 1].text.trimmingPrefix("{").split(separator: ",")
        return entries.map { entry in
            let words = entry.split { $0 == " " || $0 == "}" || $0 == "\"" }.filter { $0 != ":" }
            return rule[..<index] + words.map { Token(text: String($0)) }
        }
    }
}
