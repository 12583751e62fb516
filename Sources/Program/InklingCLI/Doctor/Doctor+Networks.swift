import Glibc
import Inkling

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
