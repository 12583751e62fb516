import ArgumentParser
import Foundation
import Inkling
import InklingConsole
import Logging

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why two machines don't see each other.",
        discussion: """
            Run it on both machines, with the same chat and options as the chat itself, while somebody else is in \
            the chat. It takes some seconds, and is in the chat itself meanwhile, as away. As root it reads the \
            firewall's rules as well. The exit status is 0 if all is well, and 1 if there are problems.

            inkling doctor kitchen
            inkling doctor kitchen --port 40123
            sudo -E inkling doctor --invite-file kitchen.txt
            inkling doctor --json | jq '.checks[] | select(.status == "problem")'
            """)

    @Argument(help: "The name of the chat, or its invite (default: lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var options: NodeOptions

    func validate() throws { try options.validate(chat: chat) }

    func run() async throws {
        try await StartFailure.reporting {
            let settings = try options.settingsOptions.settings()
            let chat = try options.chatToJoin(chat, default: settings.chat)
            let doctor = Doctor(
                configuration: options.configuration(settings, isTool: true), chat: chat,
                arguments: options.arguments(naming: chat, given: self.chat),
                logLevel: options.logLevel ?? .critical, isTalking: !json)
            let findings = await doctor.run()
            let problems = findings.count { $0.status == .problem }
            if json {
                try Output.standard.answer(
                    json: [
                        ("ok", .boolean(problems == 0)), ("chat", .string(chat.name)),
                        ("checks", .array(findings.map(\.value))),
                    ])
            } else {
                let end =
                    switch problems {
                    case 0: "No problems were found."
                    case 1: "There is 1 problem."
                    default: "There are \(problems) problems. Begin with the first."
                    }
                try Output.standard.answer(end)
            }
            if problems > 0 { throw ExitCode(1) }
        }
    }
}

/// Examines one thing after the other, and says what it finds.
@MainActor
final class Doctor {
    private var configuration: Configuration
    private let chat: Chat
    /// How a shell names the chat to a command, with a blank before it.
    private let arguments: String
    private let logLevel: Logger.Level
    private let isTalking: Bool
    private var findings: [Finding] = []
    /// Whether a firewall rule was named that keeps out discovery, or the chat: what follows from it is no problem of
    /// its own.
    private var isDiscoveryWalled = false
    private var isChatWalled = false
    private nonisolated static let searchTime = Duration.seconds(5)
    private nonisolated static let peersTime = Duration.seconds(4)

    init(configuration: Configuration, chat: Chat, arguments: String, logLevel: Logger.Level, isTalking: Bool) {
        self.configuration = configuration
        self.chat = chat
        self.arguments = arguments
        self.logLevel = logLevel
        self.isTalking = isTalking
    }

    func run() async -> [Finding] {
        examineState()
        var isReachable = configuration.discovery ? examineDaemons() : true
        let interfaces = examineInterfaces()
        examineMulticast(interfaces)
        let (freePort, lost) = examinePort(interfaces)
        examineFirewall(interfaces)
        tellOfLost(lost)
        if configuration.discovery {
            if isReachable { isReachable = await examineDiscovery() }
        } else {
            say(.note("discovery", "it is switched off by --no-discovery: only peers named with --peer are reached"))
        }
        await examineChat(port: freePort, isReachable: isReachable)
        return findings
    }

    private func say(_ finding: Finding) {
        findings.append(finding)
        if isTalking { for line in finding.lines { Output.standard.write(line: line) } }
    }

    // MARK: This machine

    private func examineState() {
        let check = "identity"
        do {
            guard let identity = try KeptIdentity.read(directory: configuration.stateDirectory) else {
                return examineEmptyState(check)
            }
            let directory = identity.directory
            if access(directory, W_OK) == 0 {
                say(.ok(check, "you are \(identity.user), kept in \(directory)"))
            } else {
                say(
                    .note(
                        check, "you are \(identity.user), but nothing new can be kept in \(directory)",
                        mend: "chmod u+rwx \(directory)"))
            }
        } catch {
            say(.problem(check, error.description, mend: nil))
        }
    }

    private func examineEmptyState(_ check: String) {
        do {
            let store = try KeyStore.openShared(directory: configuration.stateDirectory)
            if let temporary = store.temporary {
                say(.problem(check, temporary.description, mend: "inkling doctor --state-dir DIRECTORY"))
            } else {
                say(.ok(check, "one was made in \(store.directory ?? "")"))
            }
        } catch {
            say(.problem(check, error.description, mend: nil))
        }
    }

    /// Returns whether both answer.
    private func examineDaemons() -> Bool {
        let bus = Self.busPath()
        let busFailure = Machine.failureToConnect(bus)
        if let reason = busFailure {
            let start = Machine.start("dbus-daemon", without: Machine.busStart, package: "dbus")
                .replacingOccurrences(of: "start dbus-daemon", with: "start dbus")
            say(.problem("D-Bus", "the system bus does not answer at \(bus) (\(reason))", mend: start))
        } else {
            say(.ok("D-Bus", "the system bus answers"))
        }
        let folder = access("/run/avahi-daemon", F_OK) == 0 ? "/run/avahi-daemon" : "/var/run/avahi-daemon"
        let mend = Machine.start("avahi-daemon", without: Machine.avahiStart, package: "avahi-daemon")
        if let reason = Machine.failureToConnect("\(folder)/socket") {
            // Without a bus it can't be asked for anything, whether it runs or not.
            say(.problem("Avahi", "the discovery daemon does not run (\(reason))", mend: mend))
            return false
        }
        let version = Machine.output(of: ["avahi-daemon", "--version"])?.trimmingCharacters(in: .whitespacesAndNewlines)
        say(.ok("Avahi", "the discovery daemon runs\(version.map { " (\($0))" } ?? "")"))
        return busFailure == nil
    }

    private static func busPath() -> String {
        let named = ChatSettings.environment("DBUS_SYSTEM_BUS_ADDRESS")?.split(separator: ";").first
        guard let named, named.hasPrefix("unix:path=") else { return "/run/dbus/system_bus_socket" }
        return String(named.dropFirst("unix:path=".count).prefix { $0 != "," })
    }

    // MARK: Its networks

    private var selection: InterfaceSelection {
        if !configuration.interfaces.isEmpty { return .named(configuration.interfaces) }
        return configuration.excludedInterfaces.isEmpty ? .automatic : .except(configuration.excludedInterfaces)
    }

    /// Returns those that are used.
    private func examineInterfaces() -> [NetworkInterface] {
        let check = "interfaces"
        let all = Interfaces.all()
        do {
            _ = try Interfaces.select(selection, from: all)
        } catch {
            say(.problem(check, error.description, mend: "inkling chat --interface NAME"))
            // The rest is looked at as if none was named.
            configuration.interfaces = []
            configuration.excludedInterfaces = []
        }
        let used = Interfaces.matching(selection, from: all)
        for interface in used {
            let addresses = interface.networks.map(\.address.hostText).joined(separator: ", ")
            if interface.networks.isEmpty {
                say(.problem(check, "\(interface.name) is used, but has no address", mend: Self.addressLine(interface)))
            } else if !interface.isMulticast && !interface.isLoopback {
                say(
                    .problem(
                        check,
                        "\(interface.name) (\(addresses)) is used, but carries no multicast: nobody is found on it",
                        mend: "sudo ip link set \(interface.name) multicast on"))
            } else {
                say(.ok(check, "\(interface.name) is used: \(addresses)"))
            }
        }
        for interface in all where !used.contains(interface) && !interface.isLoopback {
            let mend: String? =
                !interface.isUp
                ? "sudo ip link set \(interface.name) up"
                : interface.networks.isEmpty ? Self.addressLine(interface) : nil
            say(
                .note(
                    check, "\(interface.name) is left out: \(Interfaces.reasonLeftOut(interface, selection))",
                    mend: mend))
        }
        if used.allSatisfy(\.isLoopback) {
            let reason = used.isEmpty ? "no network interface can be used" : "there is no network but loopback"
            say(
                .problem(
                    check, "\(reason): only nodes on this machine can be met",
                    mend: "ip -brief link    (then: sudo ip link set NAME up)"))
        }
        return used
    }

    private static func addressLine(_ interface: NetworkInterface) -> String {
        "sudo dhclient \(interface.name)"
    }

    private func examineMulticast(_ interfaces: [NetworkInterface]) {
        guard interfaces.contains(where: { !$0.isLoopback && $0.isMulticast }) else { return }
        let source = Machine.multicastSource()
        say(.ok("multicast", source.map { "it leaves from \($0)" } ?? "it has no route, and discovery needs none"))
    }

    /// Returns the port that a node can use, and the datagrams that were lost.
    private func examinePort(_ interfaces: [NetworkInterface]) -> (port: UInt16, lost: [SocketProbe.Echo]) {
        let check = "UDP port"
        let wanted = configuration.port
        let name = wanted == 0 ? "a free port" : "port \(wanted)"
        do {
            let own = interfaces + Interfaces.all().filter { $0.isLoopback && $0.isUp && !interfaces.contains($0) }
            let (_, echoes) = try SocketProbe.run(port: wanted, interfaces: own)
            let lost = echoes.filter { $0.failure != nil }
            if lost.isEmpty { say(.ok(check, "\(name) can be used, and datagrams to all own addresses arrive")) }
            return (wanted, lost)
        } catch {
            switch error {
            case .portTaken:
                say(
                    .note(
                        check, "port \(wanted) is in use by another program, which may be your own chat",
                        mend: "sudo ss -ulpn 'sport = :\(wanted)'    (tells which)"))
            case .portNotAllowed:
                say(.problem(check, "port \(wanted) is for root alone", mend: "inkling chat --port 40123"))
            case .other(let reason):
                say(.problem(check, "no socket can be made: \(reason)", mend: "ulimit -n 1024"))
            }
        }
        return (0, [])
    }

    /// One finding for all own addresses: they have one cause, which the firewall's rules may have named.
    private func tellOfLost(_ lost: [SocketProbe.Echo]) {
        guard let reason = lost.first?.failure else { return }
        let check = "UDP port"
        let addresses = lost.map(\.address).joined(separator: ", ")
        if isChatWalled {
            say(.note(check, "datagrams to the own addresses are lost (\(addresses)), as the firewall's rules have it"))
        } else {
            say(
                .problem(
                    check, "datagrams to the own addresses are lost (\(addresses)): \(reason)",
                    mend: "sudo nft list ruleset    (look for what drops UDP)"))
        }
    }

    private func examineFirewall(_ interfaces: [NetworkInterface]) {
        let check = "firewall"
        guard Machine.path(of: "nft") != nil else {
            return say(
                .note(
                    check, "its rules can't be read without nft; UDP port 5353 and the chat's port have to be open",
                    mend: "sudo apt-get install nftables"))
        }
        guard geteuid() == 0 else {
            return say(
                .note(
                    check, "only root can read its rules; UDP port 5353 and the chat's port have to be open",
                    mend: "sudo -E inkling doctor\(arguments)"))
        }
        guard let rules = Machine.output(of: ["nft", "list", "ruleset"]) else {
            return say(
                .note(
                    check, "its rules can't be read; UDP port 5353 and the chat's port have to be open",
                    mend: "sudo nft list ruleset    (tells why)"))
        }
        let port = configuration.port == 0 ? nil : configuration.port
        let obstacles = Firewall.obstacles(
            nftables: rules, port: port, chosen: Machine.chosenPorts() ?? 32_768...60_999,
            interfaces: Set(interfaces.map(\.name)))
        isDiscoveryWalled = obstacles.contains(where: \.dropsDiscovery)
        isChatWalled = obstacles.contains(where: \.dropsChat)
        for obstacle in obstacles {
            let hint = port == nil ? "; with --port N one port is enough" : ""
            say(.problem(check, "it may drop what others send: \(obstacle.rule)\(hint)", mend: obstacle.mend))
        }
        let hasOlderRules = Machine.hasOlderFirewallRules
        if hasOlderRules {
            say(
                .note(
                    check, "there are rules of the older kind as well, which are not looked at",
                    mend: "sudo iptables-legacy -S; sudo ip6tables-legacy -S    (look for what drops UDP)"))
        }
        if obstacles.isEmpty, !hasOlderRules { say(.ok(check, "no rule drops UDP port 5353 or the chat's")) }
    }

    // MARK: Discovery

    /// Returns whether others may be found.
    private func examineDiscovery() async -> Bool {
        let check = "discovery"
        let selection = selection
        let result = await Self.onThread {
            DiscoveryProbe.announceAndFind(selection, port: 9, within: Self.searchTime)
        }
        switch result {
        case .found(let time):
            let milliseconds = Int(time / .milliseconds(1))
            say(.ok(check, "a service was announced, and found again after \(milliseconds) ms"))
            return true
        case .unavailable(let text):
            say(
                .problem(
                    check, text,
                    mend: Machine.start("avahi-daemon", without: Machine.avahiStart, package: "avahi-daemon")))
        case .nothing where isDiscoveryWalled:
            say(
                .note(
                    check, "a service that was announced is not found within 5 s, as the firewall's rules have it"))
        case .nothing:
            say(
                .problem(
                    check, "the daemon answers, but a service that was announced is not found within 5 s",
                    mend: "grep -E 'allow-interfaces|deny-interfaces|disable-publishing' /etc/avahi/avahi-daemon.conf"))
        }
        return false
    }

    /// Blocking calls keep neither the node nor the main actor waiting.
    private static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }

    // MARK: The chat

    private func examineChat(port: UInt16, isReachable: Bool) async {
        let check = "chat"
        var configuration = configuration
        configuration.port = port
        configuration.sendsTyping = false
        configuration.lastWill = false
        var logger = Logger(label: "inkling") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = logLevel
        do {
            let node = try await Node.start(configuration, logger: logger)
            await node.setAway(true)
            try await node.join(chat)
            let looks = configuration.discovery && isReachable
            async let instances = Self.onThread { looks ? DiscoveryProbe.instances(within: Self.peersTime) : [] }
            try? await Task.sleep(for: Self.peersTime * 0.75)
            await node.measureRoundTrips(in: chat.name)
            try? await Task.sleep(for: Self.peersTime * 0.25)
            let announced = await instances
            let sightings = await node.sightings(in: chat.name)
            let present = await node.peers(in: chat.name).filter { $0.presence != .offline }
            let own = await node.instance(in: chat.name)
            await node.stop()
            let known = Set(sightings.map(\.instance) + [own].compactMap { $0 })
            let others = sightings.filter { !$0.isOneself }
            if !isReachable, present.isEmpty, others.isEmpty, configuration.peers.isEmpty {
                return say(.note("peers", "without discovery nobody is found; mend the problems above first"))
            }
            tellOf(present, others, elsewhere: announced.subtracting(known).count)
        } catch {
            say(.problem(check, error.description, mend: nil))
        }
    }

    private func tellOf(_ present: [Peer], _ sightings: [Sighting], elsewhere: Int) {
        let check = "peers"
        for peer in present {
            let time = peer.roundTrip.map { String(format: ", round trip %.1f ms", $0 / .milliseconds(1)) } ?? ""
            say(.ok(check, "\(peer.shownName) (\(peer.user)) answers\(time)"))
        }
        let silent = sightings.filter { !$0.isLinked }
        for sighting in silent {
            if isChatWalled {
                say(
                    .note(
                        check,
                        "\(sighting.user) is announced at \(sighting.addresses.joined(separator: ", ")), but does not "
                            + "answer; mend the firewall first"))
                continue
            }
            let port = sighting.addresses.first?.split(separator: ":").last.map(String.init) ?? "N"
            say(
                .problem(
                    check,
                    "\(sighting.user) is announced at \(sighting.addresses.joined(separator: ", ")), but does not "
                        + "answer. A firewall there or here drops UDP, the wireless network keeps its devices apart, "
                        + "they have blocked you, or they went without a word",
                    mend: "run \"inkling doctor\" there; if a firewall is in the way: "
                        + "sudo nft insert rule inet filter input udp dport \(port) accept"))
        }
        if !configuration.peers.isEmpty, present.isEmpty {
            let text = "none of the peers named with --peer answers: \(configuration.peers.joined(separator: ", "))"
            guard !isChatWalled else { return say(.note(check, "\(text); mend the firewall first")) }
            say(
                .problem(
                    check, text,
                    mend: "on the other machine: inkling chat --port N\(arguments), with N open in its firewall"))
        }
        guard present.isEmpty, silent.isEmpty, configuration.peers.isEmpty else { return }
        let name = SafeText.line(chat.name)
        if elsewhere > 0 {
            say(
                .problem(
                    check,
                    "nobody else is in the \(chat.isOpen ? "open" : "secret") chat \(name), but "
                        + (elsewhere == 1 ? "1 node is" : "\(elsewhere) nodes are")
                        + " announced in other chats. Names have to be equal to the letter, and a secret chat is "
                        + "another one than the open chat of its name",
                    mend: chat.isOpen
                        ? "inkling chat\(arguments)    (on all machines)"
                        : "inkling chat --invite INVITE    (the same invite on all machines)"))
        } else if isDiscoveryWalled {
            say(.note(check, "nobody else is announced; mend the firewall first"))
        } else {
            say(
                .note(
                    check,
                    "nobody else is announced. Start a chat on the other machine and run this again. If it stays "
                        + "so, multicast does not pass between you: a firewall there, a wireless network that keeps its "
                        + "devices apart, or two networks",
                    mend: "inkling chat --peer HOST:N\(arguments)    (there: inkling chat --port N\(arguments))"))
        }
    }
}
