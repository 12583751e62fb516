import InklingCLI
import Testing

@Suite("Firewall rules")
struct FirewallTests {
    /// Returns the JSON of nft for chains of one table, each of which has a hook, a policy and rules.
    static func json(
        family: String = "inet", table: String = "filter",
        _ chains: [(name: String, hook: String?, policy: String, rules: [String])]
    ) -> String {
        let place = #""family":"\#(family)","table":"\#(table)""#
        let entries = chains.flatMap { chain in
            let hook = chain.hook.map { #","hook":"\#($0)","policy":"\#(chain.policy)""# } ?? ""
            return [#"{"chain":{\#(place),"name":"\#(chain.name)"\#(hook)}}"#]
                + chain.rules.map { rule in
                    let statements = rule.split(separator: "; ").map { statement(String($0)) }.joined(separator: ",")
                    return #"{"rule":{\#(place),"chain":"\#(chain.name)","expr":[\#(statements)]}}"#
                }
        }
        return #"{"nftables":[{"metainfo":{"version":"1.0.6"}},\#(entries.joined(separator: ","))]}"#
    }

    /// Returns the JSON of a statement: a verdict, a chain to jump to, a statement in JSON, or a comparison with a value
    /// in JSON.
    private static func statement(_ text: String) -> String {
        if text.hasPrefix("{") { return text }
        let words = text.split(separator: " ", maxSplits: 2).map(String.init)
        switch words.count {
        case 1: return #"{"\#(text)":null}"#
        case 2: return #"{"\#(words[0])":{"target":"\#(words[1])"}}"#
        default:
            let isSelector = ["meta", "ct"].contains(words[0])
            let left =
                isSelector
                ? #"{"\#(words[0])":{"key":"\#(words[1])"}}"#
                : #"{"payload":{"protocol":"\#(words[0])","field":"\#(words[1])"}}"#
            let isNegated = words[2].hasPrefix("!= ")
            let right = isNegated ? String(words[2].dropFirst(3)) : words[2]
            return #"{"match":{"op":"\#(isNegated ? "!=" : "==")","left":\#(left),"right":\#(right)}}"#
        }
    }

    private static func found(
        _ rules: [String], hook: String = "input", policy: String = "accept", port: UInt16? = 40_001
    ) throws -> [Firewall.Obstacle] {
        try #require(Firewall.obstacles(nftables: json([("chain", hook, policy, rules)]), port: port))
    }

    private static let range = #"udp dport {"set":[53,{"range":[40000,40010]}]}"#
    private static let both = #"udp dport {"set":[5353,40001]}; accept"#

    @Test(
        "the rules that name UDP or a port, or drop all, are reported, and others are not",
        arguments: [
            ([], 40_001, []), (["drop"], 40_001, ["drop"]),
            (
                [#"{"counter":{"packets":1,"bytes":2}}; {"reject":{"type":"icmpx","expr":"x"}}"#], 40_001,
                ["counter reject"]
            ),
            ([#"meta l4proto "udp"; drop"#], 40_001, ["meta l4proto udp drop"]),
            ([#"meta l4proto {"set":["tcp","udp"]}; drop"#], 40_001, ["meta l4proto { tcp, udp } drop"]),
            (["tcp dport 40001; drop", #"meta l4proto "tcp"; drop"#], 40_001, []),
            (["udp dport 5353; drop"], 40_001, ["udp dport 5353 drop"]), (["udp dport 53; drop"], 40_001, []),
            (["udp dport != 5353; drop"], 40_001, ["udp dport != 5353 drop"]),
            ([range + "; drop"], 40_001, ["udp dport { 53, 40000-40010 } drop"]), ([range + "; drop"], 40_011, []),
            (["udp dport 40001; drop"], nil, ["udp dport 40001 drop"]), ([both, "drop"], 40_001, []),
            (["drop", both], 40_001, ["drop"]), ([#"ct state "invalid"; drop"#], 40_001, []),
            ([#"ip saddr "@banned"; drop"#, #"{"limit":{"rate":3,"per":"second"}}; drop"#], 40_001, []),
            (
                [#"ip saddr {"prefix":{"addr":"10.0.0.0","len":8}}; udp dport 40001; drop"#], 40_001,
                ["ip saddr 10.0.0.0/8 udp dport 40001 drop"]
            ),
            ([#"meta iifname "lo"; drop"#], 40_001, []),
        ] as [([String], UInt16?, [String])])
    func rules(_ rules: [String], port: UInt16?, reported: [String]) throws {
        let found = try Self.found(rules, port: port)
        #expect(found.map(\.rule) == reported.map { "\($0) (chain inet filter chain)" })
    }

    @Test(
        "a policy that drops is reported, unless a rule accepts the ports",
        arguments: [
            ([], true, true), ([both], false, false), (["udp dport 5353; accept"], false, true),
            (["accept"], false, false),
            ([#"udp dport {"range":[40000,40010]}; accept"#], true, false), ([#"tcp dport 40001; accept"#], true, true),
            ([#"ct state ["established","related"]; accept"#, #"meta iifname "lo"; accept"#], true, true),
            ([#"meta iifname "eth0"; accept"#], false, false), ([#"ct state "new"; accept"#], false, false),
            ([#"ip saddr {"prefix":{"addr":"10.0.0.0","len":8}}; accept"#], false, false),
            ([#"ip saddr "10.0.0.7"; accept"#], true, true),
        ] as [([String], Bool, Bool)])
    func policy(_ rules: [String], dropsDiscovery: Bool, dropsChat: Bool) throws {
        let found = try Self.found(rules, policy: "drop")
        #expect(found.count == (dropsDiscovery || dropsChat ? 1 : 0))
        #expect(found.allSatisfy { $0.rule == "policy drop (chain inet filter chain)" })
        #expect(found.allSatisfy { $0.dropsDiscovery == dropsDiscovery && $0.dropsChat == dropsChat })
    }

    @Test("other hooks, chains that no rule leads to, and another program's output are no obstacle")
    func others() throws {
        #expect(try Self.found(["drop"], hook: "forward", policy: "drop").isEmpty)
        let chains =
            [("input", "input", "accept", []), ("other", nil, "", [#"meta l4proto "udp"; drop"#])]
            as [(String, String?, String, [String])]
        #expect(Firewall.obstacles(nftables: Self.json(chains), port: nil)?.isEmpty == true)
        #expect(Firewall.obstacles(nftables: #"{"nftables":[]}"#, port: nil)?.isEmpty == true)
        #expect(Firewall.obstacles(nftables: "Error: syntax error", port: nil) == nil)
    }

    @Test(
        "the command opens the dropped ports of the chain, and the report accepts its rule",
        arguments: ["input", "output"])
    func fix(hook: String) throws {
        let sign = hook == "input" ? "dport" : "sport"
        for (rules, port, ports) in [
            (["drop"], nil, "{ 5353, 32768-60999 }"), (["udp \(sign) 5353; drop"], 40_001, "5353"),
            (["udp \(sign) 40001; drop"], 40_001, "40001"),
        ] as [([String], UInt16?, String)] {
            let obstacle = try #require(Self.found(rules, hook: hook, port: port).first)
            #expect(obstacle.isInput == (hook == "input"))
            let start =
                "sudo nft insert rule inet filter chain udp \(sign) \(ports) accept    (a rule added by hand is gone"
            #expect(obstacle.fix.hasPrefix(start), "\(obstacle.fix)")
        }
        let opened = [#"udp \#(sign) {"set":[5353,{"range":[32768,60999]}]}; accept"#, "drop"]
        #expect(try Self.found(opened, hook: hook, policy: "drop", port: nil).isEmpty)
    }

    /// The chains of ufw for "allow ssh", and one more rule of the user's.
    private static func ufw(_ rule: String) -> String {
        json(
            family: "ip",
            [
                ("INPUT", "input", "drop", ["jump ufw-before-input"]), ("FORWARD", "forward", "drop", ["accept"]),
                (
                    "ufw-before-input", nil, "",
                    [
                        #"meta iifname "lo"; accept"#, "jump ufw-not-local",
                        #"ip daddr "224.0.0.251"; udp dport 5353; accept"#, "jump ufw-user-input",
                    ]
                ), ("ufw-not-local", nil, "", ["drop"]), ("ufw-user-input", nil, "", ["tcp dport 22; accept", rule]),
            ])
    }

    /// The chains of firewalld for a zone that accepts mDNS, and one more rule of the user's.
    private static func firewalld(_ rule: String) -> String {
        let zones = #"{"set":[["docker0",{"goto":{"target":"trusted"}}],["eth0",{"goto":{"target":"public"}}]]}"#
        return json(
            table: "firewalld",
            [
                (
                    "filter_INPUT", "input", "accept",
                    [#"{"vmap":{"key":{"meta":{"key":"iifname"}},"data":\#(zones)}}"#, "reject"]
                ), ("trusted", nil, "", ["accept"]),
                ("public", nil, "", [#"ip daddr "224.0.0.251"; udp dport 5353; accept"#, rule]),
            ])
    }

    @Test("rules of a firewall's manager are followed from chain to chain, and the command is the manager's")
    func managed() throws {
        func found(_ rules: String) -> [[String]]? {
            Firewall.obstacles(nftables: rules, port: 40_001)?.map { [$0.rule, $0.fix] }
        }
        let ufw = "sudo ufw allow proto udp to any port 40001"
        #expect(found(Self.ufw("tcp dport 23; accept")) == [["policy drop (chain ip filter INPUT)", ufw]])
        #expect(found(Self.ufw(Self.both)) == [])
        let obstacle = try #require(found(Self.firewalld("tcp dport 23; accept"))?.first)
        #expect(obstacle[0] == "reject (chain inet firewalld filter_INPUT)")
        #expect(
            obstacle[1].hasPrefix("sudo firewall-cmd --permanent --add-port=40001/udp && sudo firewall-cmd --reload"))
        #expect(found(Self.firewalld("udp dport 40001; accept")) == [])
    }
}
