import ArgumentParser
import Glibc
import Inkling
import InklingModel
import InklingText
import Logging

/// Runs one check after the other, and prints the findings.
final class Doctor {
    var configuration: Configuration
    private let chat: Chat
    /// The daemon whose node finds the people in the chat; nil if the doctor uses its own node.
    private let daemon: DaemonConnection?
    /// The findings about daemons; empty with `--standalone`.
    private let daemonFindings: [Finding]
    let user: DoctorUser
    /// The number of people on other machines who answer in the chat.
    private var present = 0
    /// The chat as shell arguments for a further command, with a blank before them.
    let arguments: String
    /// The doctor's options as shell arguments for a further command, each with a blank before it.
    let options: String
    private let logLevel: Logger.Level
    private let isTalking: Bool
    private var findings: [Finding] = []
    /// Whether a finding names a firewall rule that drops discovery or the chat. The doctor then reports the
    /// consequences of the rule not as further problems.
    var isDiscoveryWalled = false
    var isChatWalled = false
    /// The reason why the doctor does not know the firewall's rules; nil if it knows them.
    var unread: Finding.Unread?
    private static let searchTime = Duration.seconds(5)

    init(
        configuration: Configuration, chat: Chat, user: DoctorUser, daemon: DaemonConnection?,
        _ daemonFindings: [Finding],
        arguments: String, options: String, logLevel: Logger.Level, isTalking: Bool
    ) {
        self.configuration = configuration
        self.chat = chat
        self.daemon = daemon
        self.daemonFindings = daemonFindings
        self.user = user
        self.arguments = arguments
        self.options = options
        self.logLevel = logLevel
        self.isTalking = isTalking
    }

    /// Runs all checks.
    ///
    /// - Throws: an `ExitCode` if the checks did not finish.
    func run() throws -> [Finding] {
        examineState()
        for finding in daemonFindings { report(finding) }
        var isReachable = configuration.discovery ? examineDaemons() : true
        let interfaces = examineInterfaces()
        examineMulticast(interfaces)
        // If a daemon runs, its node has the port, and the doctor does not test the port.
        let (freePort, lost) = daemon == nil ? examinePort(interfaces) : (0, [])
        examineFirewall(lost: lost)
        reportLost(lost)
        if configuration.discovery {
            if isReachable { isReachable = examineDiscovery() }
        } else {
            report(.note("discovery", "--no-discovery turns it off: only peers named with --peer can be reached"))
        }
        try examineChat(port: freePort, isReachable: isReachable)
        return findings
    }

    /// The UDP port of the chat's node; 0 for any port.
    var nodePort: UInt16 { daemon?.daemon?.port ?? configuration.port }

    /// The result in one sentence, which the user can read aloud on the telephone.
    var summary: String {
        Summary.sentence(findings, present: present, chat: chat.name, isFirewallKnown: unread == nil)
    }

    func report(_ finding: Finding) {
        let finding = finding.adapted(isRoot: user.isRoot, hasSudo: HostTools.path(of: "sudo") != nil)
        findings.append(finding)
        if isTalking { for line in finding.lines { Output.standard.write(line: line) } }
    }

    // MARK: This machine

    private func examineState() {
        let check = "identity"
        if user.isOthersDirectory {
            let directory = configuration.stateDirectory ?? "the state directory"
            return report(
                .note(check, "\(directory) belongs to \(user.other?.name ?? "another user"): nothing is kept there"))
        }
        do {
            guard let identity = try KeptIdentity.read(directory: configuration.stateDirectory) else {
                return examineEmptyState(check)
            }
            let directory = identity.directory
            if access(directory, W_OK) == 0 {
                report(.ok(check, "you are \(identity.user), kept in \(directory)"))
            } else {
                report(
                    .note(
                        check, "you are \(identity.user), but nothing new can be kept in \(directory)",
                        fix: "chmod u+rwx \(directory)"))
            }
            examineState(in: directory)
            examineMessages(in: directory)
        } catch {
            report(.problem(check, error.text, spoken: Self.spokenState))
        }
    }

    /// Checks the files of people and chats, and says what lies in them.
    private func examineState(in directory: String) {
        let check = "people and chats"
        let state = StateTables(in: directory, isHeld: false)
        guard let refusal = state.refusal else {
            if state.bytes > 0 { report(.ok(check, state.text)) }
            return
        }
        report(
            .problem(
                check, refusal, look: "ls -l \(directory)",
                spoken: "The file with the people I know and my chats can't be read: I have to look at it."))
    }

    /// Checks the files of messages, and says what lies in them.
    private func examineMessages(in directory: String) {
        let check = "messages"
        do throws(Database.Failure) {
            let messages = try StoredMessages(in: directory)
            if let kind = StoredMessages.remoteKind(of: directory) {
                report(
                    .note(
                        check,
                        "\(messages.text), on a file system of the kind \(kind): slower than a disk of this machine, and a "
                            + "power failure can cost messages"))
            } else if messages.bytes > 0 {
                report(.ok(check, messages.text))
            }
        } catch {
            report(
                .problem(
                    check, "\(directory)/\(TextTables.fileName) can't be read: \(error.reason)",
                    look: "ls -l \(directory)",
                    spoken: "The file with my messages can't be read: I have to look at it."))
        }
    }

    private func examineEmptyState(_ check: String) {
        do {
            let store = try KeyStore.openShared(directory: configuration.stateDirectory)
            if let temporary = store.temporary {
                report(
                    .problem(
                        check, temporary.text, fix: "inkling doctor --state-dir DIRECTORY", spoken: Self.spokenState))
            } else {
                report(.ok(check, "one was made in \(store.directory ?? "")"))
            }
        } catch {
            report(.problem(check, error.text, spoken: Self.spokenState))
        }
    }

    private static let spokenState = "My computer can't keep who I am in Inkling: I have to fix the folder for that."

    /// Checks the system's bus and the discovery daemon. Returns whether both answer.
    private func examineDaemons() -> Bool {
        let bus = Self.busPath()
        let busFailure = HostTools.failureToConnect(bus)
        if let reason = busFailure {
            let start = HostTools.start("dbus-daemon", unit: "dbus", without: HostTools.busStart, package: "dbus")
            report(
                .problem(
                    "D-Bus", "the system bus does not answer at \(bus)\(reason)", fix: start,
                    spoken: "D-Bus is not running on my computer, so nobody can be found: I have to start it."))
        } else {
            report(.ok("D-Bus", "the system bus answers"))
        }
        let folder = access("/run/avahi-daemon", F_OK) == 0 ? "/run/avahi-daemon" : "/var/run/avahi-daemon"
        let fix = Self.avahiStart
        if let reason = HostTools.failureToConnect("\(folder)/socket") {
            // Without a bus the doctor can't reach the discovery daemon, even if it runs.
            report(
                .problem(
                    "Avahi", "the discovery daemon is not running\(reason)", fix: fix,
                    spoken: "Avahi is not running on my computer, so nobody can be found: I have to start it."))
            return false
        }
        let version = HostTools.output(of: ["avahi-daemon", "--version"])?.trimmed
        report(.ok("Avahi", "the discovery daemon is running\(version.map { " (\($0))" } ?? "")"))
        return busFailure == nil
    }

    private static var avahiStart: String {
        HostTools.start(
            "avahi-daemon", unit: "avahi-daemon", without: HostTools.avahiStart, package: "avahi-daemon")
    }

    private static func busPath() -> String {
        let named = ChatSettings.environment("DBUS_SYSTEM_BUS_ADDRESS")?.split(separator: ";").first
        guard let named, named.hasPrefix("unix:path=") else { return "/run/dbus/system_bus_socket" }
        return String(named.dropFirst("unix:path=".count).prefix { $0 != "," })
    }

    // MARK: Discovery

    /// Checks discovery. Returns whether the node may find others.
    private func examineDiscovery() -> Bool {
        let check = "discovery"
        switch DiscoveryProbe.announceAndFind(selection, port: 9, within: Self.searchTime) {
        case .found(let time):
            let milliseconds = Int(time / .milliseconds(1))
            report(.ok(check, "a service was announced, and found again after \(milliseconds) ms"))
            return true
        case .unavailable(let outage):
            report(
                .problem(
                    check, outage.text, fix: Self.avahiStart,
                    spoken: "Avahi on my computer does not work, so nobody can be found: I have to start it again."))
        case .nothing: report(.undiscovered(isWalled: isDiscoveryWalled, unread))
        }
        return false
    }

    // MARK: The chat

    private func examineChat(port: UInt16, isReachable: Bool) throws {
        var configuration = configuration
        configuration.port = port
        configuration.sendsTyping = false
        configuration.lastWill = false
        // A random name, because peers would notice a second node with the user's key, or one with the user's name and
        // another key.
        configuration.name = DoctorName.random()
        configuration.isEphemeral = true
        configuration.stateToRead = user.other?.directory ?? configuration.stateDirectory
        let settings = ChatSettings(
            // The doctor's own node sends nothing to the chat. Its chat therefore needs no confirmed name.
            node: configuration, chat: chat, isConfirmed: daemon == nil, arguments: arguments, mode: .plain,
            indicator: .standard,
            reducedMotion: true, decorated: false, logLevel: logLevel, daemon: daemon)
        do {
            let session = try ChatProgram.runCommand(settings) { host, _ in
                DoctorSession(host, looksElsewhere: configuration.discovery && isReachable)
            }
            guard let sights = try session.result?.get() else { throw ExitCode(1) }
            let own = Set(user.identities.keys).union([sights.identity.user])
            let isEmpty =
                sights.people.allSatisfy { $0.presence == .offline } && sights.sightings.allSatisfy(\.isOneself)
            if !isReachable, isEmpty, configuration.peers.isEmpty {
                return report(.note("peers", "nobody can be found without discovery; fix the problems above first"))
            }
            reportPeople(
                in: SeenInChat(
                    sights, own: own, ownName: daemon == nil ? self.configuration.name : sights.identity.name))
        } catch let error as NodeError {
            report(
                .problem(
                    "chat", error.text, spoken: "My computer can't join the chat: I have to find out why."))
        }
    }

    private func reportPeople(in seen: SeenInChat) {
        let check = "peers"
        for node in seen.ownNodes.sorted() {
            let name = user.isRoot ? user.identities[node].map { "\($0)'s node" } : nil
            report(.ok(check, "\(name ?? "a node of yours") is in the chat, and is not counted"))
        }
        for finding in seen.answering { report(finding) }
        reportSilent(seen)
        let (others, silent) = (seen.elsewhereOnNetwork, seen.silent)
        if !configuration.peers.isEmpty, seen.present.isEmpty { reportNamedPeers() }
        present = others.count
        guard others.isEmpty, silent.isEmpty, configuration.peers.isEmpty else { return }
        let name = SafeText.line(chat.name)
        if seen.elsewhere > 0 {
            report(
                .problem(
                    check,
                    "nobody else is in the \(chat.isOpen ? "open" : "private") chat \(name), but "
                        + (seen.elsewhere == 1 ? "1 node is" : "\(seen.elsewhere) nodes are")
                        + " announced in other chats. Names must match exactly, and a private chat is not the "
                        + "open chat of the same name",
                    fix: chat.isOpen
                        ? "inkling chat\(arguments)    (on all machines)"
                        : "inkling chat --invite INVITE    (the same invite on all machines)",
                    spoken: "We can find each other, but are in different chats: please open the same one as I, "
                        + (chat.isOpen ? "with the name \"\(name)\"." : "with the invite that I use.")))
        } else if isDiscoveryWalled {
            report(.note(check, "nobody else is announced; fix the firewall first"))
        } else {
            let place = seen.present.isEmpty ? "" : " on another machine"
            let start =
                "nobody else is announced\(place). Start a chat on the other machine and run this again. If that does not help, "
            if let unread {
                report(
                    .note(
                        check,
                        start
                            + "the first suspect is the firewall of this machine (\(unread.reason)), the next is the one "
                            + "there. Otherwise multicast does not pass between you: a wireless network isolates its devices, "
                            + "or there are two separate networks", look: unread.look))
            } else {
                report(
                    .note(
                        check,
                        start
                            + "multicast does not pass between you: there is a firewall there, a wireless network that "
                            + "isolates its devices, or two separate networks",
                        fix: "inkling chat --peer HOST:N\(arguments)    (there: inkling chat --port N\(arguments))"))
            }
        }
    }

    private func reportNamedPeers() {
        let text = "none of the peers named with --peer answers: \(configuration.peers.joined(separator: ", "))"
        guard !isChatWalled else { return report(.note("peers", "\(text); fix the firewall first")) }
        if let unread {
            let suspect = "the first suspect is the firewall of this machine (\(unread.reason)), the next one is there"
            return report(
                .problem(
                    "peers", "\(text); \(suspect)", look: unread.look,
                    spoken: "The computers that I named don't answer: I have to look at the firewall of mine as root, "
                        + "and please run the doctor as root on yours."))
        }
        report(
            .problem(
                "peers", text,
                fix: "on the other machine: inkling chat --port N\(arguments), with N open in its firewall",
                spoken:
                    "The computers that I named don't answer: please open the chat with the port that I tell you, and "
                    + "let your firewall pass it."))
    }

    private func reportSilent(_ seen: SeenInChat) {
        // If a known firewall rule explains silent peers, they need no probe.
        let isLookedAt = !seen.silent.isEmpty && !isChatWalled
        let reaches = isLookedAt ? ReachProbe.run(seen.silent.flatMap(\.addresses)) : [:]
        let isWireless = Interfaces.matching(selection, from: Interfaces.all()).contains {
            HostTools.isWireless($0.name)
        }
        let known = SilentPeer.Circumstances(
            isWalled: isChatWalled, unread: unread, isOneself: daemon != nil, arguments: arguments)
        for sighting in seen.silent {
            let peer = SilentPeer(
                label: seen.label(of: sighting.user), addresses: sighting.addresses,
                reach: .best(sighting.addresses.compactMap { reaches[$0] }), isWireless: isWireless)
            report(peer.finding(known))
        }
    }
}

/// The doctor's checks of the networks: the interfaces, multicast, the port and the firewall.
extension Doctor {
    var selection: InterfaceSelection {
        if !configuration.interfaces.isEmpty { return .named(configuration.interfaces) }
        return configuration.excludedInterfaces.isEmpty ? .automatic : .except(configuration.excludedInterfaces)
    }

    /// Returns the interfaces that the node uses.
    func examineInterfaces() -> [NetworkInterface] {
        let check = "interfaces"
        let all = Interfaces.all()
        do {
            _ = try Interfaces.select(selection, from: all)
        } catch {
            report(
                .problem(
                    check, error.text, fix: "inkling chat --interface NAME",
                    spoken:
                        "My computer does not have the network interface that I told Inkling to use: I have to choose "
                        + "another."))
            // The other checks run as if the user had named no interface.
            configuration.interfaces = []
            configuration.excludedInterfaces = []
        }
        let used = Interfaces.matching(selection, from: all)
        for interface in used {
            let addresses = interface.networks.map(\.address.hostText).joined(separator: ", ")
            if interface.networks.isEmpty {
                report(
                    .problem(
                        check, "\(interface.name) is used, but has no address", fix: Self.addressLine(interface),
                        spoken: "My computer has no address on the network yet: I have to get it one."))
            } else if !interface.isMulticast && !interface.isLoopback {
                report(
                    .problem(
                        check,
                        "\(interface.name) (\(addresses)) is used, but carries no multicast: nobody can be found on it",
                        fix: "sudo ip link set \(interface.name) multicast on",
                        spoken:
                            "The network interface of my computer carries no multicast, so nobody can be found: I have "
                            + "to turn that on."))
            } else {
                report(.ok(check, "\(interface.name) is used: \(addresses)"))
            }
        }
        for interface in all where !used.contains(interface) && !interface.isLoopback {
            let fix: String? =
                !interface.isUp
                ? "sudo ip link set \(interface.name) up"
                : interface.networks.isEmpty ? Self.addressLine(interface) : nil
            report(
                .note(
                    check, "\(interface.name) is left out: \(reasonLeftOut(interface))",
                    fix: fix))
        }
        if used.allSatisfy(\.isLoopback) {
            let reason = used.isEmpty ? "no network interface can be used" : "there is no network except loopback"
            report(
                .problem(
                    check, "\(reason): only nodes on this machine can be reached",
                    look: "ip -brief link    (then: sudo ip link set NAME up)",
                    spoken: "My computer is not on a network: I have to connect it to the one that you use."))
        }
        return used
    }

    private func reasonLeftOut(_ interface: NetworkInterface) -> String {
        switch Interfaces.reasonLeftOut(interface, selection) {
        case .notNamed: "it was not chosen"
        case .excluded: "it was left out by name"
        case .down: "it is down, or has no cable or network"
        case .withoutAddress: "it has no address"
        case .loopback: "it reaches only this machine"
        case .virtual: "it looks like a container's or a tunnel's; choose it with --interface \(interface.name)"
        }
    }

    private static func addressLine(_ interface: NetworkInterface) -> String {
        "sudo dhclient \(interface.name)"
    }

    func examineMulticast(_ interfaces: [NetworkInterface]) {
        guard interfaces.contains(where: { !$0.isLoopback && $0.isMulticast }) else { return }
        let source = HostTools.multicastSource()
        report(.ok("multicast", source.map { "it leaves from \($0)" } ?? "it has no route, but discovery needs none"))
    }

    /// Returns a port that a node can use, and the datagrams that were lost in the test.
    func examinePort(_ interfaces: [NetworkInterface]) -> (port: UInt16, lost: [SocketProbe.Echo]) {
        let check = "UDP port"
        let wanted = configuration.port
        let name = wanted == 0 ? "a free port" : "port \(wanted)"
        do {
            let own = interfaces + Interfaces.all().filter { $0.isLoopback && $0.isUp && !interfaces.contains($0) }
            let (_, echoes) = try SocketProbe.run(port: wanted, interfaces: own)
            let lost = echoes.filter { $0.failure != nil }
            if lost.isEmpty { report(.ok(check, "\(name) can be used, and datagrams to all its addresses arrive")) }
            if wanted != 0, !configuration.acceptsRouted {
                report(
                    .note(
                        check, "a chat on port \(wanted) answers hosts of your own networks alone, and those of --peer",
                        fix: "inkling chat --port \(wanted) --routed    (lets in who comes over a router)"))
            }
            return (wanted, lost)
        } catch {
            switch error {
            case .portTaken:
                report(
                    .note(
                        check, "port \(wanted) is in use by another program, which may be your own chat",
                        look: "sudo ss -ulpn 'sport = :\(wanted)'    (shows which)"))
            case .portNotAllowed:
                report(
                    .problem(
                        check, "only root can use port \(wanted)", fix: "inkling chat --port 40123",
                        spoken: "I told Inkling to use a port that only root can use: I have to choose another."))
            case .other(let reason):
                report(
                    .problem(
                        check, "can't create a socket: \(reason)",
                        look: "ulimit -n    (how many files and sockets may be open)",
                        spoken: "My computer can't create a socket for Inkling: I have to find out why."))
            }
        }
        return (0, [])
    }

    /// Reports one finding for all addresses of this host, because the losses have one cause. The finding about
    /// firewall rules may already have named the cause.
    func reportLost(_ lost: [SocketProbe.Echo]) {
        guard let reason = lost.first?.failure else { return }
        let check = "UDP port"
        let text = "datagrams to this machine's addresses are lost (\(lost.map(\.address).joined(separator: ", ")))"
        if isChatWalled {
            report(.note(check, "\(text); the firewall's rules explain it"))
        } else if unread != nil {
            report(.note(check, "\(text): \(reason)"))
        } else {
            report(
                .problem(
                    check, "\(text): \(reason)", look: "sudo nft list ruleset    (look for what drops UDP)",
                    spoken: "My computer loses what is sent to its own addresses: I have to look at its firewall."))
        }
    }

    /// - Parameter lost: the lost datagrams to the own addresses.
    func examineFirewall(lost: [SocketProbe.Echo]) {
        guard !lost.isEmpty || Self.firewallTools.contains(where: { HostTools.path(of: $0) != nil }) else {
            return report(.note("firewall", "no program for its rules is installed here, so there is most likely none"))
        }
        guard let obstacles = firewallObstacles() else { return reportUnread(lost) }
        isDiscoveryWalled = obstacles.contains(where: \.dropsDiscovery)
        isChatWalled = obstacles.contains(where: \.dropsChat)
        for obstacle in obstacles { report(.firewall(obstacle, hasPort: nodePort != 0)) }
        if HostTools.hasOlderFirewallRules {
            unread = Finding.Unread(
                reason: "legacy iptables rules exist and were not checked",
                look: "sudo iptables-legacy -S; sudo ip6tables-legacy -S    (look for what drops UDP)")
            if obstacles.isEmpty { reportUnread(lost) }
        } else if obstacles.isEmpty {
            report(.ok("firewall", "no rule drops UDP port 5353 or the chat's port"))
        }
    }

    private static let firewallTools = ["nft", "iptables", "iptables-legacy", "ufw", "firewall-cmd"]

    /// Returns what the rules report; nil if the program can't read them.
    private func firewallObstacles() -> [Firewall.Obstacle]? {
        guard HostTools.path(of: "nft") != nil else {
            unread = Finding.Unread(
                reason: "its rules can't be read without nft",
                look: "sudo apt-get install nftables    (then run this again)")
            return nil
        }
        guard user.isRoot else {
            // Root can't ask the user's daemon for its port.
            let port = configuration.port == 0 && nodePort != 0 ? " --port \(nodePort)" : ""
            unread = Finding.Unread(
                reason: "only root can read its rules", look: "sudo -E inkling doctor\(port)\(options)\(arguments)")
            return nil
        }
        let obstacles = HostTools.output(of: ["nft", "--json", "list", "ruleset"]).flatMap {
            Firewall.obstacles(
                nftables: $0, port: nodePort == 0 ? nil : nodePort, chosen: HostTools.chosenPorts() ?? 32_768...60_999)
        }
        if obstacles == nil {
            unread = Finding.Unread(
                reason: "its rules can't be read", look: "sudo nft --json list ruleset    (shows why)")
        }
        return obstacles
    }

    private func reportUnread(_ lost: [SocketProbe.Echo]) {
        guard let unread else { return }
        let isRefused = lost.contains { $0.isRefused }
        report(.firewall(unread, lost.isEmpty ? .none : isRefused ? .refused : .lost))
    }
}

/// The last sentence of the doctor, which the user can read aloud on the telephone.
package enum Summary {
    /// Returns the sentence.
    ///
    /// - Parameters:
    ///   - findings: the findings in the order of the checks.
    ///   - present: the number of people on other machines who answer in the chat.
    ///   - chat: the chat's name.
    ///   - isFirewallKnown: whether the doctor read the firewall's rules.
    package static func sentence(
        _ findings: [Finding], present: Int, chat: String, isFirewallKnown: Bool = true
    ) -> String {
        let name = SafeText.line(chat)
        if let first = findings.first(where: { $0.status == .problem }) {
            return first.spoken ?? "My computer has a problem with \(first.check): I have to fix it."
        }
        guard present > 0 else {
            let start =
                isFirewallKnown
                ? "My computer is in order, but finds nobody in the chat \"\(name)\": "
                : "My computer finds nobody in the chat \"\(name)\", and I still have to look at its firewall as root: "
            return start + "please open a chat of exactly that name on yours, and run the doctor there too."
        }
        let people = present == 1 ? "1 person" : "\(present) people"
        return "My computer is in order, and \(people) in the chat \"\(name)\" can be reached from it: whoever is "
            + "missing should run the doctor on theirs."
    }
}

extension StateTables {
    /// The counts and the size, in words.
    fileprivate var text: String {
        func count(_ number: Int, _ one: String, _ many: String) -> String { "\(number) \(number == 1 ? one : many)" }
        let (people, chats) = (contents.people, count(contents.chats.chats.count, "kept chat", "kept chats"))
        return "\(count(people.count, "person", "people")), \(people.verified.count) verified and "
            + "\(people.blocked.count) blocked, and \(chats), in \((bytes + 1_023) / 1_024) KiB"
    }
}
