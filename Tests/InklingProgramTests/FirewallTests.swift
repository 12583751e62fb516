import InklingCLI
import Testing

@Suite("Firewall rules")
struct FirewallTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let chain: [String]
        var port: UInt16?
        /// The rules that the finding must name; empty where the firewall accepts all.
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
        for obstacle in found {
            let chat = row.port.map { "\($0)" } ?? "32768-60999"
            let ports =
                !obstacle.dropsChat ? "5353" : obstacle.dropsDiscovery ? "{ 5353, \(chat) }" : chat
            #expect(
                obstacle.fix.hasPrefix("sudo nft insert rule inet filter input udp dport \(ports) accept    ("),
                "\(obstacle.fix)")
        }
    }

    @Test(
        "whether rules keep out discovery or the chat is told",
        arguments: [
            ("udp dport 5353 drop", true, false), ("udp dport 40001 drop", false, true), ("drop", true, true),
        ])
    func kinds(_ rule: String, dropsDiscovery: Bool, dropsChat: Bool) {
        let rules = "table inet filter {\nchain input {\n\(Self.input)\n\(rule)\n}\n}"
        let found = Firewall.obstacles(nftables: rules, port: 40_001)
        #expect(found.map(\.dropsDiscovery) == [dropsDiscovery] && found.map(\.dropsChat) == [dropsChat])
    }

    /// A short form of ufw's rules for "allow ssh".
    private static let ufw = """
        table ip filter {
        	chain INPUT {
        		type filter hook input priority filter; policy drop;
        		counter packets 3 bytes 180 jump ufw-before-input
        		counter packets 0 bytes 0 jump ufw-after-input
        		counter packets 0 bytes 0 jump ufw-reject-input
        	}

        	chain ufw-before-input {
        		iifname "lo" counter packets 0 bytes 0 accept
        		ct state related,established counter packets 3 bytes 180 accept
        		ct state invalid counter packets 0 bytes 0 drop
        		meta l4proto icmp icmp type echo-request counter packets 0 bytes 0 accept
        		counter packets 0 bytes 0 jump ufw-not-local
        		ip daddr 224.0.0.251 udp dport 5353 counter packets 0 bytes 0 accept
        		counter packets 0 bytes 0 jump ufw-user-input
        	}

        	chain ufw-not-local {
        		fib daddr type local counter packets 0 bytes 0 return
        		fib daddr type multicast counter packets 0 bytes 0 return
        		limit rate 3/minute burst 10 packets counter packets 0 bytes 0 jump ufw-logging-deny
        		counter packets 0 bytes 0 drop
        	}

        	chain ufw-logging-deny {
        		limit rate 3/minute burst 10 packets counter packets 0 bytes 0 log prefix "[drop all] "
        	}

        	chain ufw-after-input {
        		udp dport 137 counter packets 0 bytes 0 drop
        	}

        	chain ufw-reject-input {
        	}

        	chain ufw-user-input {
        		meta l4proto tcp tcp dport 22 counter packets 0 bytes 0 accept
        		RULE
        	}
        }
        """

    /// firewalld's rules for a zone that accepts mDNS.
    private static let firewalld = """
        table inet firewalld {
        	chain filter_INPUT {
        		type filter hook input priority filter + 10; policy accept;
        		ct state vmap { established : accept, related : accept, invalid : drop }
        		ct status dnat accept
        		iifname "lo" accept
        		jump filter_INPUT_ZONES
        		reject with icmpx admin-prohibited
        	}

        	chain filter_INPUT_ZONES {
        		iifname vmap { "docker0" : goto filter_IN_trusted, "eth0" : goto filter_IN_public }
        	}

        	chain filter_IN_trusted {
        		accept
        	}

        	chain filter_IN_public {
        		ip daddr 224.0.0.251 udp dport 5353 accept
        		meta l4proto { icmp, ipv6-icmp } accept
        		RULE
        	}
        }
        """

    private func obstacles(_ rules: String, _ rule: String) -> [[String]] {
        Firewall.obstacles(
            nftables: rules.replacing("RULE", with: rule), port: 40_001, interfaces: ["eth0", "wlan0"]
        ).map { [$0.rule, $0.fix] }
    }

    @Test("rules are followed from chain to chain, and whoever manages them is told the port")
    func managed() {
        #expect(
            obstacles(Self.ufw, "") == [
                ["policy drop (chain ip filter INPUT)", "sudo ufw allow proto udp to any port 40001"]
            ])
        #expect(
            obstacles(Self.ufw, "meta l4proto udp udp dport { 5353, 40001 } counter packets 0 bytes 0 accept").isEmpty)
        #expect(
            obstacles(Self.firewalld, "") == [
                [
                    "reject with icmpx admin-prohibited (chain inet firewalld filter_INPUT)",
                    "sudo firewall-cmd --permanent --zone=public --add-port=40001/udp && sudo firewall-cmd --reload",
                ]
            ])
        #expect(obstacles(Self.firewalld, "udp dport 40001 accept").isEmpty)
    }

    @Test(
        "what can't be decided from here lets pass, and drops only where it names the port",
        arguments: [
            ("ip saddr 192.168.0.0/16 accept", true), ("ip saddr 192.168.0.7 accept", false),
            ("iifname \"eth*\" accept", true), ("iifname \"docker0\" accept", false),
            ("iifname != \"docker0\" accept", true), ("ct state new accept", true), ("ct mark 0x1 accept", false),
            ("meta pkttype host accept", true), ("udp sport 67 udp dport 68 accept", false),
            ("ip saddr 192.168.0.0/16 udp dport 40001 accept", true),
        ])
    func undecided(_ rule: String, passes: Bool) {
        #expect(obstacles(Self.ufw, rule).isEmpty == passes)
    }

    @Test(
        "a rule on some senders is no obstacle, unless it names the port",
        arguments: [
            ("ip saddr @banned drop", true), ("ip saddr 10.0.0.0/8 jump closed", true),
            ("limit rate over 10/second drop", true), ("limit rate over 10/second udp dport 40001 drop", false),
            ("jump closed", false), ("goto closed", false), ("jump closed comment \"accept\"", false),
            ("jump absent", true),
        ])
    func someSenders(_ rule: String, passes: Bool) {
        let rules = """
            table inet filter {
            	chain closed {
            		drop
            	}
            	chain input {
            		type filter hook input priority filter; policy accept;
            		\(rule)
            	}
            }
            """
        #expect(Firewall.obstacles(nftables: rules, port: 40_001).isEmpty == passes)
    }

    @Test(
        "what leaves has the own port as its source, and somebody else's as its destination",
        arguments: [
            ("udp dport 5353 drop", "drop", true, false), ("udp dport 40002 drop", "drop", false, true),
            ("udp sport 40001 drop", "drop", false, true), ("udp sport 40002 drop", nil, false, false),
            ("udp dport 53 drop", nil, false, false), ("meta l4proto udp drop", "drop", true, true),
            ("oifname \"eth0\" udp dport 32768-60999 drop", "drop", false, true),
            ("oifname \"lo\" drop", nil, false, false), ("udp sport { 5353, 40001 } accept; drop", nil, false, false),
            ("udp dport 5353 accept; drop", "drop", false, true),
        ] as [(String, String?, Bool, Bool)])
    func output(_ rules: String, _ obstacle: String?, dropsDiscovery: Bool, dropsChat: Bool) {
        let lines = rules.split(separator: ";").joined(separator: "\n")
        let text =
            "table ip filter {\nchain OUTPUT {\ntype filter hook output priority filter; policy accept;\n\(lines)\n}\n}"
        let found = Firewall.obstacles(nftables: text, port: 40_001, interfaces: ["eth0"])
        #expect(found.count == (obstacle == nil ? 0 : 1))
        #expect(found.allSatisfy { !$0.isInput && $0.rule.hasSuffix("drop (chain ip filter OUTPUT)") })
        #expect(found.allSatisfy { $0.dropsDiscovery == dropsDiscovery && $0.dropsChat == dropsChat })
        #expect(
            found.allSatisfy {
                let ports = !dropsChat ? "5353" : dropsDiscovery ? "{ 5353, 40001 }" : "40001"
                return $0.fix.hasPrefix("sudo nft insert rule ip filter OUTPUT udp sport \(ports) accept    (")
                    && $0.fix.contains("gone after a reboot")
            })
    }

    @Test("the line that opens a firewall opens it")
    func opened() {
        for hook in ["input", "output"] {
            func rules(_ first: String) -> String {
                "table inet filter {\nchain \(hook) {\ntype filter hook \(hook) priority 0; policy drop;\n\(first)\n}\n}"
            }
            let fix = Firewall.obstacles(nftables: rules(""), port: nil).first?.fix ?? ""
            let rule = fix.split(separator: "filter \(hook) ").last?.prefix { $0 != "(" } ?? ""
            #expect(rule.contains("accept") && Firewall.obstacles(nftables: rules(String(rule)), port: nil).isEmpty)
        }
    }

    @Test(
        "firewalld is told the zone of the interface that is used",
        arguments: [
            (#"iifname "wlan0" goto filter_IN_home"#, "home"),
            ("iifname \"eth1\" goto filter_IN_work\ngoto filter_IN_public", "public"),
            (#"iifname vmap { "docker0" : goto filter_IN_trusted, "eth0" : goto filter_IN_home }"#, "home"),
            (#"ip saddr 10.0.0.0/8 drop"#, nil),
        ] as [(String, String?)])
    func zones(_ rules: String, _ zone: String?) {
        let text = """
            table inet firewalld {
            chain filter_INPUT {
            type filter hook input priority filter + 10; policy accept;
            reject with icmpx admin-prohibited
            }
            chain filter_INPUT_ZONES {
            \(rules)
            }
            }
            """
        let found = Firewall.obstacles(nftables: text, port: 40_001, interfaces: ["eth0", "wlan0"])
        let option = zone.map { " --zone=\($0)" } ?? ""
        #expect(
            found.map(\.fix) == [
                "sudo firewall-cmd --permanent\(option) --add-service=mdns --add-port=40001/udp && "
                    + "sudo firewall-cmd --reload"
            ])
    }
}
