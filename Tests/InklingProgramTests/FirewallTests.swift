import Testing

import inkling

@Suite("Firewall rules")
struct FirewallTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let chain: [String]
        var port: UInt16?
        /// What is named as in the way; nothing if it lets all through.
        let rules: [String]
    }

    private static let input = "type filter hook input priority filter; policy accept;"
    private static let shut = "type filter hook input priority filter; policy drop;"

    static let rows = [
        Row(testDescription: "no rules", chain: [input], rules: []),
        Row(testDescription: "UDP dropped", chain: [input, "meta l4proto udp drop"], rules: ["meta l4proto udp drop"]),
        Row(testDescription: "all rejected", chain: [input, "counter reject"], rules: ["counter reject"]),
        Row(testDescription: "TCP dropped", chain: [input, "tcp dport 22 drop", "meta l4proto tcp drop"], rules: []),
        Row(testDescription: "mDNS dropped", chain: [input, "udp dport 5353 drop"], rules: ["udp dport 5353 drop"]),
        Row(testDescription: "mDNS by name", chain: [input, "udp dport mdns drop"], rules: ["udp dport mdns drop"]),
        Row(testDescription: "another port", chain: [input, "udp dport 53 drop"], rules: []),
        Row(
            testDescription: "all but mDNS", chain: [input, "udp dport != 5353 drop"], rules: ["udp dport != 5353 drop"]
        ),
        Row(
            testDescription: "the chat's port in a set", chain: [input, "udp dport { 53, 40000-40010 } drop"],
            port: 40_001,
            rules: ["udp dport { 53, 40000-40010 } drop"]),
        Row(
            testDescription: "a set without it", chain: [input, "udp dport { 53, 40000-40010 } drop"], port: 40_011,
            rules: []),
        Row(testDescription: "shut", chain: [shut], rules: ["policy drop"]),
        Row(
            testDescription: "shut but for what is needed", chain: [shut, "udp dport { 5353, 40001 } accept"],
            port: 40_001, rules: []),
        Row(
            testDescription: "shut but for mDNS", chain: [shut, "udp dport 5353 accept"], port: 40_001,
            rules: ["policy drop"]),
        Row(testDescription: "shut for any port", chain: [shut, "udp dport 5353 accept"], rules: ["policy drop"]),
        Row(
            testDescription: "let through before it is dropped",
            chain: [input, "udp dport { 5353, 40001 } accept", "drop"], port: 40_001, rules: []),
        Row(
            testDescription: "connections and loopback are let through",
            chain: [shut, "ct state established,related accept", "iif \"lo\" accept"], rules: ["policy drop"]),
        Row(
            testDescription: "forwarding is no concern",
            chain: ["type filter hook forward priority filter; policy drop;", "drop"], rules: []),
        Row(testDescription: "a chain that nothing leads to", chain: ["meta l4proto udp drop"], rules: []),
    ]

    @Test("the rules that stand in a node's way are named, with the line that opens it", arguments: rows)
    func obstacles(_ row: Row) {
        let lines = ["table inet filter {", "\tchain input {"] + row.chain.map { "\t\t\($0)" } + ["\t}", "}"]
        let found = Firewall.obstacles(nftables: lines.joined(separator: "\n"), port: row.port)
        #expect(found.map(\.rule) == row.rules.map { "\($0) (chain inet filter input)" })
        #expect(found.allSatisfy { $0.mend.hasPrefix("sudo nft insert rule inet filter input udp dport { 5353, ") })
    }
}
