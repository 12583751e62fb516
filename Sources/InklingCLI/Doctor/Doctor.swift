import ArgumentParser
import Glibc
import Inkling
import InklingModel
import InklingText
import Logging

/// Examines one thing after the other, and says what it finds.
final class Doctor {
    var configuration: Configuration
    private let chat: Chat
    /// Whose node is asked who is in the chat; nil for one of the doctor's own.
    private let daemon: DaemonConnection?
    /// What there is to say of the daemon; nil where nobody asked for it.
    private let daemonFinding: Finding?
    /// How many others answer in the chat.
    private var present = 0
    /// How a shell names the chat to a command, with a blank before it.
    let arguments: String
    /// The options that it was started with, in the same way.
    let options: String
    private let logLevel: Logger.Level
    private let isTalking: Bool
    private var findings: [Finding] = []
    /// Whether a firewall rule was named that keeps out discovery, or the chat: what follows from it is no problem of
    /// its own.
    var isDiscoveryWalled = false
    var isChatWalled = false
    private static let searchTime = Duration.seconds(5)

    init(
        configuration: Configuration, chat: Chat, daemon: DaemonConnection?, _ daemonFinding: Finding?,
        arguments: String, options: String, logLevel: Logger.Level, isTalking: Bool
    ) {
        self.configuration = configuration
        self.chat = chat
        self.daemon = daemon
        self.daemonFinding = daemonFinding
        self.arguments = arguments
        self.options = options
        self.logLevel = logLevel
        self.isTalking = isTalking
    }

    /// - Throws: an `ExitCode` if it could not be finished.
    func run() throws -> [Finding] {
        examineState()
        if let daemonFinding { say(daemonFinding) }
        var isReachable = configuration.discovery ? examineDaemons() : true
        let interfaces = examineInterfaces()
        examineMulticast(interfaces)
        // The port of a daemon is known to be its own.
        let (freePort, lost) = daemon == nil ? examinePort(interfaces) : (0, [])
        examineFirewall(interfaces)
        tellOfLost(lost)
        if configuration.discovery {
            if isReachable { isReachable = examineDiscovery() }
        } else {
            say(.note("discovery", "--no-discovery turns it off: only peers named with --peer can be reached"))
        }
        try examineChat(port: freePort, isReachable: isReachable)
        return findings
    }

    /// The port of the node that is in the chat, or is to be; 0 for any.
    var nodePort: UInt16 { daemon?.daemon?.port ?? configuration.port }

    /// What it found, in one sentence for somebody on the telephone.
    var summary: String { Summary.sentence(findings, present: present, chat: chat.name) }

    func say(_ finding: Finding) {
        findings.append(finding)
        if isTalking { for line in finding.lines { Output.standard.write(line: line) } }
    }

    // MARK: This machine

    private func examineState() {
        let check = "identity"
        let directory = configuration.stateDirectory
        if KeyStore.isAnothers(directory) {
            configuration.isEphemeral = true
            return say(
                .note(
                    check,
                    "\(directory ?? "the state directory") does not belong to root: nothing is kept there, and others, "
                        + "a chat of yours included, see the doctor as somebody new"))
        }
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
                        fix: "chmod u+rwx \(directory)"))
            }
        } catch {
            say(.problem(check, error.text, fix: nil))
            // The rest is looked at as somebody new.
            configuration.isEphemeral = true
        }
    }

    private func examineEmptyState(_ check: String) {
        do {
            let store = try KeyStore.openShared(directory: configuration.stateDirectory)
            if let temporary = store.temporary {
                say(.problem(check, temporary.text, fix: "inkling doctor --state-dir DIRECTORY"))
            } else {
                say(.ok(check, "one was made in \(store.directory ?? "")"))
            }
        } catch {
            say(.problem(check, error.text, fix: nil))
        }
    }

    /// Returns whether both answer.
    private func examineDaemons() -> Bool {
        let bus = Self.busPath()
        let busFailure = HostTools.failureToConnect(bus)
        if let reason = busFailure {
            let start = HostTools.start("dbus-daemon", without: HostTools.busStart, package: "dbus")
                .replacing("start dbus-daemon", with: "start dbus")
            say(
                .problem(
                    "D-Bus", "the system bus does not answer at \(bus) (\(reason))", fix: start,
                    spoken: "D-Bus is not running on my computer, so nobody can be found: I have to start it."))
        } else {
            say(.ok("D-Bus", "the system bus answers"))
        }
        let folder = access("/run/avahi-daemon", F_OK) == 0 ? "/run/avahi-daemon" : "/var/run/avahi-daemon"
        let fix = HostTools.start("avahi-daemon", without: HostTools.avahiStart, package: "avahi-daemon")
        if let reason = HostTools.failureToConnect("\(folder)/socket") {
            // Without a bus it can't be asked for anything, whether it runs or not.
            say(
                .problem(
                    "Avahi", "the discovery daemon is not running (\(reason))", fix: fix,
                    spoken: "Avahi is not running on my computer, so nobody can be found: I have to start it."))
            return false
        }
        let version = HostTools.output(of: ["avahi-daemon", "--version"])?.trimmed
        say(.ok("Avahi", "the discovery daemon is running\(version.map { " (\($0))" } ?? "")"))
        return busFailure == nil
    }

    private static func busPath() -> String {
        let named = ChatSettings.environment("DBUS_SYSTEM_BUS_ADDRESS")?.split(separator: ";").first
        guard let named, named.hasPrefix("unix:path=") else { return "/run/dbus/system_bus_socket" }
        return String(named.dropFirst("unix:path=".count).prefix { $0 != "," })
    }

    // MARK: Discovery

    /// Returns whether others may be found.
    private func examineDiscovery() -> Bool {
        let check = "discovery"
        switch DiscoveryProbe.announceAndFind(selection, port: 9, within: Self.searchTime) {
        case .found(let time):
            let milliseconds = Int(time / .milliseconds(1))
            say(.ok(check, "a service was announced, and found again after \(milliseconds) ms"))
            return true
        case .unavailable(let outage):
            say(
                .problem(
                    check, outage.text,
                    fix: HostTools.start("avahi-daemon", without: HostTools.avahiStart, package: "avahi-daemon")))
        case .nothing where isDiscoveryWalled:
            say(
                .note(
                    check, "a service that was announced was not found within 5 s; the firewall's rules explain it"))
        case .nothing:
            say(
                .problem(
                    check, "the daemon answers, but a service that was announced was not found within 5 s",
                    fix: "grep -E 'allow-interfaces|deny-interfaces|disable-publishing' /etc/avahi/avahi-daemon.conf"))
        }
        return false
    }

    // MARK: The chat

    private func examineChat(port: UInt16, isReachable: Bool) throws {
        var configuration = configuration
        configuration.port = port
        configuration.sendsTyping = false
        configuration.lastWill = false
        let settings = ChatSettings(
            node: configuration, chat: chat, arguments: arguments, mode: .plain, indicator: .standard,
            reducedMotion: true, decorated: false, logLevel: logLevel, daemon: daemon)
        do {
            let session = try ChatProgram.runCommand(settings) { host, _ in
                DoctorSession(host, looksElsewhere: configuration.discovery && isReachable)
            }
            guard let seen = try session.result?.get() else { throw ExitCode(1) }
            let others = seen.sightings.filter { !$0.isOneself }
            if !isReachable, seen.present.isEmpty, others.isEmpty, configuration.peers.isEmpty {
                return say(.note("peers", "nobody can be found without discovery; fix the problems above first"))
            }
            tellOf(seen.present, others, elsewhere: seen.elsewhere)
        } catch let error as NodeError {
            say(.problem("chat", error.text, fix: nil))
        }
    }

    private func tellOf(_ present: [Peer], _ sightings: [Sighting], elsewhere: Int) {
        let check = "peers"
        var labels = Labels(ownName: configuration.name, present)
        for peer in present {
            let time = peer.roundTrip.map { ", round trip \($0.millisecondText)" } ?? ""
            say(.ok(check, "\(labels.marked(peer)) (\(peer.user)) answers\(time)"))
        }
        let silent = sightings.filter { !$0.isLinked }
        tellOfSilent(silent)
        if !configuration.peers.isEmpty, present.isEmpty {
            let text = "none of the peers named with --peer answers: \(configuration.peers.joined(separator: ", "))"
            guard !isChatWalled else { return say(.note(check, "\(text); fix the firewall first")) }
            say(
                .problem(
                    check, text,
                    fix: "on the other machine: inkling chat --port N\(arguments), with N open in its firewall"))
        }
        self.present = present.count
        guard present.isEmpty, silent.isEmpty, configuration.peers.isEmpty else { return }
        let name = SafeText.line(chat.name)
        if elsewhere > 0 {
            say(
                .problem(
                    check,
                    "nobody else is in the \(chat.isOpen ? "open" : "secret") chat \(name), but "
                        + (elsewhere == 1 ? "1 node is" : "\(elsewhere) nodes are")
                        + " announced in other chats. Names must match exactly, and a secret chat is not the "
                        + "open chat of the same name",
                    fix: chat.isOpen
                        ? "inkling chat\(arguments)    (on all machines)"
                        : "inkling chat --invite INVITE    (the same invite on all machines)",
                    spoken: "We can find each other, but are in different chats: please open the same one as I, "
                        + (chat.isOpen ? "with the name \"\(name)\"." : "with the invite that I use.")))
        } else if isDiscoveryWalled {
            say(.note(check, "nobody else is announced; fix the firewall first"))
        } else {
            say(
                .note(
                    check,
                    "nobody else is announced. Start a chat on the other machine and run this again. If that does "
                        + "not help, multicast does not pass between you: there is a firewall there, a wireless network "
                        + "that isolates its devices, or two separate networks",
                    fix: "inkling chat --peer HOST:N\(arguments)    (there: inkling chat --port N\(arguments))"))
        }
    }

    private func tellOfSilent(_ silent: [Sighting]) {
        // What a known wall keeps out needs no further look.
        let reaches = silent.isEmpty || isChatWalled ? [:] : ReachProbe.run(silent.flatMap(\.addresses))
        let isWireless = Interfaces.matching(selection, from: Interfaces.all()).contains {
            HostTools.isWireless($0.name)
        }
        for sighting in silent {
            let peer = SilentPeer(
                user: sighting.user.description, addresses: sighting.addresses,
                reach: .best(sighting.addresses.compactMap { reaches[$0] }), isWireless: isWireless)
            say(peer.finding(isWalled: isChatWalled))
        }
    }
}
