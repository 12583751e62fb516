import InklingCLI
import InklingModel
import Testing

/// The doctor's texts that need no network.
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
        #expect(Reach.best([.heard, .forbidden]) == .forbidden)
    }

    private static let unread = Finding.Unread(
        reason: "only root can read its rules", look: "sudo -E inkling doctor kitchen")

    private static func finding(
        _ reach: Reach, isWireless: Bool = false, _ known: SilentPeer.Circumstances = .init(arguments: " kitchen")
    ) -> Finding {
        SilentPeer(
            label: "Bob", addresses: ["192.0.2.7:7000", "[fe80::1%2]:7000"], reach: reach, isWireless: isWireless
        ).finding(known)
    }

    /// People do not read out an address, a path or a command.
    private static func canBeReadOut(_ finding: Finding) -> Bool {
        let spoken = finding.spoken ?? ""
        return spoken.hasSuffix(".") && !spoken.dropLast().contains(".") && !spoken.contains("inkling ")
            && !spoken.contains("/") && !spoken.contains("::")
    }

    @Test("somebody who is announced and does not answer: each cause has its own fix, and its own sentence")
    func silent() {
        for reach in [Reach.forbidden, .refused, .heard, .unheard, .unknown] {
            for unread in [nil, Self.unread] {
                let finding = Self.finding(reach, .init(unread: unread, arguments: " kitchen"))
                #expect(finding.status == .problem && finding.check == "peers" && finding.fix != nil)
                #expect(
                    finding.text.hasPrefix("Bob is announced at 192.0.2.7:7000, [fe80::1%2]:7000, but does not answer"))
                #expect(Self.canBeReadOut(finding), "\(finding)")
            }
        }
        #expect(Self.finding(.refused).text.contains("left without saying goodbye"))
        #expect(!Self.finding(.heard).text.contains("isolates"))
        #expect(Self.finding(.unheard).text.contains("Most likely the network isolates its devices"))
        #expect(Self.finding(.unheard, isWireless: true).text.contains("The wireless network isolates its devices"))
        #expect(Self.finding(.unheard, isWireless: true).spoken?.contains("Wi-Fi") == true)
        #expect(Self.finding(.unheard).fix?.contains("client isolation") == true)
        #expect(Self.finding(.heard, .init(isWalled: true)).status == .note)
        #expect(Self.finding(.forbidden).text.contains("the firewall of this machine does not let out"))
    }

    @Test("of two firewalls the one here is the first suspect as long as nobody has read its rules")
    func suspects() {
        for reach in [Reach.heard, .unknown] {
            let unread = Self.finding(reach, .init(unread: Self.unread, arguments: " kitchen"))
            #expect(unread.text.contains("The first suspect is the firewall of this machine"))
            #expect(unread.fix == Self.unread.look && unread.isLook)
            #expect(unread.spoken?.contains("I have to look at the firewall of mine as root") == true)
            let read = Self.finding(reach)
            #expect(read.text.contains("so one there drops UDP"))
            #expect(read.fix?.hasPrefix("inkling doctor kitchen    (there, as root") == true)
            // Peers can have blocked only the user's own key.
            #expect(!read.text.contains("blocked"))
            #expect(Self.finding(reach, .init(isOneself: true)).text.hasSuffix("they have blocked you"))
        }
        let alone = Summary.sentence([.ok("a", "b")], present: 0, chat: "k", isFirewallKnown: false)
        #expect(alone.contains("I still have to look at its firewall as root") && !alone.contains("in order"))
    }

    @Test("a firewall whose rules nobody can read is the first suspect where datagrams are lost")
    func unreadFirewall() {
        let fine = Finding.firewall(Self.unread, .none)
        #expect(fine.status == .note && fine.text.hasPrefix("only root can read its rules"))
        for (loss, text) in [
            (Finding.Loss.lost, "most likely it drops what is sent to this machine"),
            (.refused, "it does not let out what this machine sends"),
        ] {
            let finding = Finding.firewall(Self.unread, loss)
            #expect(finding.status == .problem && finding.check == "firewall" && finding.text.hasPrefix(text))
            #expect(finding.fix == Self.unread.look && Self.canBeReadOut(finding))
            #expect(finding.lines.last == "         look: sudo -E inkling doctor kitchen")
            #expect(finding.spoken?.contains("firewall") == true)
        }
        let undiscovered = Finding.undiscovered(isWalled: false, Self.unread)
        #expect(undiscovered.text.contains("The first suspect is the firewall of this machine"))
        #expect(undiscovered.fix == Self.unread.look && Self.canBeReadOut(undiscovered))
        #expect(Finding.undiscovered(isWalled: true, nil).status == .note)
        #expect(Self.canBeReadOut(.undiscovered(isWalled: false, nil)))
    }

    @Test("a rule about what leaves is not told as one about what comes")
    func directions() {
        func finding(_ hook: String, hasPort: Bool = false) -> Finding? {
            let rules = FirewallTests.json([("C", hook, "accept", [#"meta l4proto "udp"; drop"#])])
            return Firewall.obstacles(nftables: rules, port: hasPort ? 40_001 : nil)?.first.map {
                .firewall($0, hasPort: hasPort)
            }
        }
        #expect(finding("input")?.text.hasPrefix("it may drop what others send: meta l4proto udp drop") == true)
        #expect(finding("output")?.text.hasPrefix("it may drop what this machine sends: meta l4proto udp drop") == true)
        #expect(finding("input")?.spoken?.contains("drops what others send") == true)
        #expect(finding("output")?.spoken?.contains("drops what Inkling sends") == true)
        #expect(finding("output")?.text.hasSuffix("with --port N one port is enough") == true)
        #expect(finding("output", hasPort: true)?.text.contains("--port") == false)
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
        let first = Finding.problem("UDP port", "only root can use port 5.", spoken: "First.")
        let second = Finding.problem("peers", "x", spoken: "Spoken.")
        #expect(Summary.sentence([fine, first, second], present: 1, chat: "k") == "First.")
        #expect(Summary.sentence([second, first], present: 1, chat: "k") == "Spoken.")
    }

    @Test("the daemon, its port and its version, and whose it is")
    func daemon() {
        let prompt = Finding.daemon(version: "0.1.0", program: "0.1.0", port: 7_000, isHolder: true)
        #expect(prompt.status == .ok && prompt.text.hasPrefix("none runs, but a prompt of yours runs Inkling, on UDP"))
        let same = Finding.daemon(version: "0.1.0", program: "0.1.0", port: 7_000)
        #expect(same.status == .ok && same.text.contains("UDP port 7000") && same.text.hasPrefix("yours runs"))
        let older = Finding.daemon(version: "0.1.0", program: "0.2.0", port: 7_000, ofRoot: true)
        #expect(older.status == .note && older.fix != nil && older.text.hasPrefix("root's runs"))
        #expect(older.text.hasSuffix("this program 0.2.0: restart the daemon to use the new one"))
        #expect(Finding.noDaemon(isNodeThere: true).text.hasPrefix("you run none, but you have a chat open"))
        #expect(Finding.noDaemon(isNodeThere: true, ofRoot: true).text.hasPrefix("root runs none, but root has"))
        #expect(Finding.noDaemon(isNodeThere: false).text.hasPrefix("you run none"))
        #expect(Finding.noDaemon(isNodeThere: false, ofRoot: true).text.hasPrefix("root runs none"))
        let others = Finding.daemon(of: "alice", .daemon, arguments: " kitchen")
        #expect(others.status == .note && others.text.hasPrefix("alice's runs, and root can't use it"))
        #expect(others.fix == "inkling doctor kitchen    (as alice: looks through that daemon)")
        #expect(Finding.daemon(of: "alice", .none, arguments: "").text.hasPrefix("alice runs none"))
        let chat = Finding.daemon(of: "alice", .chat, arguments: "")
        #expect(chat.text.hasPrefix("alice runs none, but has a chat open"))
    }

    @Test("systemctl is named only where a service manager runs that knows the service")
    func managed() {
        func line(isInstalled: Bool, isManaged: Bool) -> String {
            ServiceUnit.startLine(
                isInstalled: isInstalled, isManaged: isManaged, unit: "avahi-daemon", without: "sudo avahi-daemon -D",
                package: "avahi-daemon")
        }
        #expect(line(isInstalled: true, isManaged: true) == "sudo systemctl start avahi-daemon")
        #expect(line(isInstalled: true, isManaged: false) == "sudo avahi-daemon -D")
        #expect(line(isInstalled: false, isManaged: true) == "sudo apt-get install avahi-daemon")
        #expect(Finding.unusableDaemon("x", isManaged: true).fix?.hasPrefix("systemctl --user") == true)
        #expect(
            Finding.unusableDaemon("x", isManaged: false).fix
                == "end it with inkling stop, and start it again: inkling daemon")
    }

    @Test(
        "root needs no sudo, and where there is none the line says who has to type it",
        arguments: [
            ("sudo -E inkling doctor x", "inkling doctor x", "inkling doctor x    (as root)"),
            ("sudo a && sudo b    (why)", "a && b    (why)", "a && b    (as root; why)"),
            ("inkling chat 'sudo x'", "inkling chat 'sudo x'", "inkling chat 'sudo x'"),
        ])
    func sudo(_ fix: String, _ root: String, _ without: String) {
        let finding = Finding.note("a", "b", fix: fix)
        #expect(finding.adapted(isRoot: false, hasSudo: true).fix == fix)
        #expect(finding.adapted(isRoot: true, hasSudo: false).fix == root)
        #expect(finding.adapted(isRoot: false, hasSudo: false).fix == without)
    }

    @Test("the doctor has a name of its own, another one each time, within the limits")
    func name() {
        #expect(DoctorName.text(host: "kiosk.example.org", number: 7) == "doctor 7 on kiosk")
        #expect(DoctorName.text(host: "", number: 7) == "doctor 7")
        #expect(DoctorName.text(host: "\u{1B}[1m\n", number: 7) == "doctor 7 on 1m")
        #expect(DoctorName.text(host: String(repeating: "x", count: 64), number: 99_999).utf8.count <= 64)
        #expect(DoctorName.text(host: "mfrggzdfmztwq2lk", number: 7) == "doctor 7")
        // A person who met one doctor must not take the next one for an impostor.
        let likenesses = (0..<2_000).map { NameLikeness(of: DoctorName.text(host: "kiosk", number: $0)).whole }
        #expect(Set(likenesses).count == likenesses.count)
    }

    // MARK: People seen

    private static func user(_ letter: Character) throws -> UserID {
        try #require(UserID(String(repeating: letter, count: 16)))
    }

    private static let key = PublicKey(String(repeating: "B", count: 42) + "A").unsafelyUnwrapped

    private static func peer(_ user: UserID, _ name: String, _ presence: Presence = .online) -> Peer {
        Peer(user: user, name: name, presence: presence, key: key)
    }

    private static func sighting(_ user: UserID, at address: String, isLinked: Bool) -> Sighting {
        Sighting(
            instance: "i", user: user, addresses: [address], isOneself: false, isLinked: isLinked)
    }

    @Test("the user's own node is nobody else, and who is on the same machine shows nothing of the network")
    func seen() throws {
        let (own, bob, carol) = (try Self.user("a"), try Self.user("b"), try Self.user("c"))
        let seen = SeenInChat(
            people: [Self.peer(own, "Alice"), Self.peer(bob, "Bob"), Self.peer(carol, "Carol")], known: [],
            sightings: [
                Self.sighting(own, at: "192.0.2.1:7000", isLinked: false),
                Self.sighting(bob, at: "192.0.2.1:7001", isLinked: true),
                Self.sighting(carol, at: "[fe80::2%eth0]:7000", isLinked: true),
            ], elsewhere: 0, own: [own], ownName: "Alice", ownAddresses: ["192.0.2.1", "fe80::1"])
        #expect(seen.ownNodes == [own] && seen.silent.isEmpty)
        #expect(seen.answering.map(\.text) == ["Bob answers on this machine", "Carol answers"])
        #expect(seen.elsewhereOnNetwork.map(\.name) == ["Carol"])
    }

    @Test("who does not answer has the name that is known, told apart as elsewhere")
    func names() throws {
        let (bob, other) = (try Self.user("b"), try Self.user("d"))
        let (carol, stranger) = (try Self.user("c"), try Self.user("e"))
        func known(_ user: UserID, _ name: String, isBlocked: Bool = false) -> KnownPeer {
            KnownPeer(
                user: user, key: Self.key, names: [name], namedSince: 0, firstSeen: 0, lastSeen: 0, isVerified: false,
                isBlocked: isBlocked)
        }
        let seen = SeenInChat(
            people: [Self.peer(bob, "Bob", .offline)],
            known: [known(other, "Bob"), known(carol, "Carol", isBlocked: true)],
            sightings: [bob, other, carol, stranger].map { Self.sighting($0, at: "192.0.2.9:7000", isLinked: false) },
            elsewhere: 0, own: [], ownName: "Alice", ownAddresses: [])
        #expect(seen.silent.map(\.user) == [bob, other, stranger])
        #expect(seen.label(of: bob) == "Bob ~\(bob.description.prefix(4))")
        #expect(seen.label(of: other) == "Bob ~\(other.description.prefix(4))")
        #expect(seen.label(of: stranger) == "somebody you have not met (\(stranger))")
        #expect(seen.answering.map(\.text) == ["Carol is announced, and you have blocked them"])
    }
}
