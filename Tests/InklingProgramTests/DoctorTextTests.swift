import InklingCLI
import Testing

/// What a doctor says, in so far as it needs no network for it.
@Suite("What the doctor says")
struct DoctorTextTests {
    private static let table = """
        192.0.2.7 dev eth0 lladdr 02:00:00:00:00:07 REACHABLE
        192.0.2.8 dev eth0 FAILED
        192.0.2.9 dev eth0 INCOMPLETE
        192.0.2.10 dev eth0 lladdr 02:00:00:00:00:10 STALE
        fe80::1 dev eth0 lladdr 02:00:00:00:00:01 router DELAY
        fe80::2 dev eth0 FAILED
        fe80::2 dev wlan0 lladdr 02:00:00:00:00:02 PROBE
        fe80::3 dev wlan0 FAILED
        fe80::3 dev eth0 lladdr 02:00:00:00:00:03 REACHABLE
        192.0.2.11 dev eth0
        """

    @Test(
        "the table of neighbours says who answers on the link",
        arguments: [
            ("192.0.2.7", .heard), ("192.0.2.8", .unheard), ("192.0.2.9", .unheard), ("192.0.2.10", nil),
            ("fe80::1", nil), ("fe80::2", .unheard), ("fe80::3", .heard), ("192.0.2.11", nil), ("192.0.2.1", nil),
            ("", nil),
        ] as [(String, Reach?)])
    func neighbours(_ address: String, _ reach: Reach?) {
        #expect(Reach.neighbour(address, in: Self.table) == reach)
    }

    @Test("of several addresses the one counts that says most")
    func best() {
        #expect(Reach.best([]) == .unknown && Reach.best([.unknown, .unheard]) == .unheard)
        #expect(Reach.best([.unheard, .heard]) == .heard && Reach.best([.heard, .refused, .unheard]) == .refused)
    }

    private static func finding(_ reach: Reach, isWireless: Bool = false, isWalled: Bool = false) -> Finding {
        SilentPeer(
            user: "bbbbbbbbbbbbbbbb", addresses: ["192.0.2.7:7000", "[fe80::1%2]:7000"], reach: reach,
            isWireless: isWireless
        ).finding(isWalled: isWalled)
    }

    @Test("somebody who is announced and does not answer: each cause has its own fix, and its own sentence")
    func silent() {
        for reach in [Reach.refused, .heard, .unheard, .unknown] {
            let finding = Self.finding(reach)
            #expect(finding.status == .problem && finding.check == "peers" && finding.fix != nil)
            #expect(
                finding.text.hasPrefix(
                    "bbbbbbbbbbbbbbbb is announced at 192.0.2.7:7000, [fe80::1%2]:7000, but does not answer"))
            let spoken = finding.spoken ?? ""
            #expect(spoken.hasSuffix(".") && !spoken.dropLast().contains(".") && !spoken.contains("inkling "))
        }
        #expect(Self.finding(.refused).text.contains("left without saying goodbye"))
        #expect(Self.finding(.heard).fix?.contains("udp dport 7000 accept") == true)
        #expect(!Self.finding(.heard).text.contains("isolates"))
        #expect(Self.finding(.unheard).text.contains("Most likely the network isolates its devices"))
        #expect(Self.finding(.unheard, isWireless: true).text.contains("The wireless network isolates its devices"))
        #expect(Self.finding(.unheard, isWireless: true).spoken?.contains("Wi-Fi") == true)
        #expect(Self.finding(.unheard).fix?.contains("client isolation") == true)
        #expect(Self.finding(.heard, isWalled: true).status == .note)
    }

    @Test("the last sentence is of the first problem, or says how many can be reached")
    func summary() {
        let fine = Finding.ok("identity", "fine")
        #expect(
            Summary.sentence([fine], present: 0, chat: "kitchen")
                == "My computer is in order, but finds nobody in the chat \"kitchen\": please open a chat of exactly that "
                + "name on yours, and run the doctor there too.")
        #expect(
            Summary.sentence([fine, .note("a", "b")], present: 1, chat: "k\u{1B}")
                == "My computer is in order, and 1 person in the chat \"k\\x1b\" can be reached from it: whoever is "
                + "missing should run the doctor on theirs.")
        #expect(Summary.sentence([fine], present: 3, chat: "k").contains("3 people"))
        let first = Finding.problem("UDP port", "only root can use port 5.", fix: nil)
        let second = Finding.problem("peers", "x", fix: nil, spoken: "Spoken.")
        #expect(
            Summary.sentence([fine, first, second], present: 1, chat: "k")
                == "My computer has a problem with UDP port: only root can use port 5.")
        #expect(Summary.sentence([second, first], present: 1, chat: "k") == "Spoken.")
    }

    @Test("the daemon, its port and its version")
    func daemon() {
        let same = Finding.daemon(version: "0.1.0", program: "0.1.0", port: 7_000)
        #expect(same.status == .ok && same.text.contains("UDP port 7000"))
        let older = Finding.daemon(version: "0.1.0", program: "0.2.0", port: 7_000)
        #expect(older.status == .note && older.fix != nil)
        #expect(older.text.hasSuffix("this program 0.2.0: restart the daemon to use the new one"))
        #expect(Finding.noDaemon(isNodeThere: true).text.contains("a chat of yours does"))
        #expect(Finding.noDaemon(isNodeThere: false).text.hasPrefix("none runs"))
    }
}
