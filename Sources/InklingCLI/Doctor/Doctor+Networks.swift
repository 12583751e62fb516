import Glibc
import Inkling

/// What a doctor examines of the networks: the interfaces, multicast, the port and the firewall.
extension Doctor {
    var selection: InterfaceSelection {
        if !configuration.interfaces.isEmpty { return .named(configuration.interfaces) }
        return configuration.excludedInterfaces.isEmpty ? .automatic : .except(configuration.excludedInterfaces)
    }

    /// Returns those that are used.
    func examineInterfaces() -> [NetworkInterface] {
        let check = "interfaces"
        let all = Interfaces.all()
        do {
            _ = try Interfaces.select(selection, from: all)
        } catch {
            say(.problem(check, error.text, fix: "inkling chat --interface NAME"))
            // The rest is looked at as if none was named.
            configuration.interfaces = []
            configuration.excludedInterfaces = []
        }
        let used = Interfaces.matching(selection, from: all)
        for interface in used {
            let addresses = interface.networks.map(\.address.hostText).joined(separator: ", ")
            if interface.networks.isEmpty {
                say(.problem(check, "\(interface.name) is used, but has no address", fix: Self.addressLine(interface)))
            } else if !interface.isMulticast && !interface.isLoopback {
                say(
                    .problem(
                        check,
                        "\(interface.name) (\(addresses)) is used, but carries no multicast: nobody can be found on it",
                        fix: "sudo ip link set \(interface.name) multicast on"))
            } else {
                say(.ok(check, "\(interface.name) is used: \(addresses)"))
            }
        }
        for interface in all where !used.contains(interface) && !interface.isLoopback {
            let fix: String? =
                !interface.isUp
                ? "sudo ip link set \(interface.name) up"
                : interface.networks.isEmpty ? Self.addressLine(interface) : nil
            say(
                .note(
                    check, "\(interface.name) is left out: \(reasonLeftOut(interface))",
                    fix: fix))
        }
        if used.allSatisfy(\.isLoopback) {
            let reason = used.isEmpty ? "no network interface can be used" : "there is no network except loopback"
            say(
                .problem(
                    check, "\(reason): only nodes on this machine can be reached",
                    fix: "ip -brief link    (then: sudo ip link set NAME up)",
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
        say(.ok("multicast", source.map { "it leaves from \($0)" } ?? "it has no route, but discovery needs none"))
    }

    /// Returns the port that a node can use, and the datagrams that were lost.
    func examinePort(_ interfaces: [NetworkInterface]) -> (port: UInt16, lost: [SocketProbe.Echo]) {
        let check = "UDP port"
        let wanted = configuration.port
        let name = wanted == 0 ? "a free port" : "port \(wanted)"
        do {
            let own = interfaces + Interfaces.all().filter { $0.isLoopback && $0.isUp && !interfaces.contains($0) }
            let (_, echoes) = try SocketProbe.run(port: wanted, interfaces: own)
            let lost = echoes.filter { $0.failure != nil }
            if lost.isEmpty { say(.ok(check, "\(name) can be used, and datagrams to all its addresses arrive")) }
            if wanted != 0, !configuration.acceptsRouted {
                say(
                    .note(
                        check, "a chat on port \(wanted) answers hosts of your own networks alone, and those of --peer",
                        fix: "inkling chat --port \(wanted) --routed    (lets in who comes over a router)"))
            }
            return (wanted, lost)
        } catch {
            switch error {
            case .portTaken:
                say(
                    .note(
                        check, "port \(wanted) is in use by another program, which may be your own chat",
                        fix: "sudo ss -ulpn 'sport = :\(wanted)'    (shows which)"))
            case .portNotAllowed:
                say(.problem(check, "only root can use port \(wanted)", fix: "inkling chat --port 40123"))
            case .other(let reason):
                say(.problem(check, "can't create a socket: \(reason)", fix: "ulimit -n 1024"))
            }
        }
        return (0, [])
    }

    /// One finding for all own addresses: they have one cause, which the firewall's rules may have named.
    func tellOfLost(_ lost: [SocketProbe.Echo]) {
        guard let reason = lost.first?.failure else { return }
        let check = "UDP port"
        let addresses = lost.map(\.address).joined(separator: ", ")
        if isChatWalled {
            say(
                .note(
                    check,
                    "datagrams to this machine's addresses are lost (\(addresses)); the firewall's rules explain it"))
        } else {
            say(
                .problem(
                    check, "datagrams to this machine's addresses are lost (\(addresses)): \(reason)",
                    fix: "sudo nft list ruleset    (look for what drops UDP)"))
        }
    }

    func examineFirewall(_ interfaces: [NetworkInterface]) {
        let check = "firewall"
        guard HostTools.path(of: "nft") != nil else {
            return say(
                .note(
                    check, "its rules can't be read without nft; UDP port 5353 and the chat's port must be open",
                    fix: "sudo apt-get install nftables"))
        }
        guard geteuid() == 0 else {
            return say(
                .note(
                    check, "only root can read its rules; UDP port 5353 and the chat's port must be open",
                    fix: "sudo -E inkling doctor\(options)\(arguments)"))
        }
        guard let rules = HostTools.output(of: ["nft", "list", "ruleset"]) else {
            return say(
                .note(
                    check, "its rules can't be read; UDP port 5353 and the chat's port must be open",
                    fix: "sudo nft list ruleset    (shows why)"))
        }
        let port = nodePort == 0 ? nil : nodePort
        let obstacles = Firewall.obstacles(
            nftables: rules, port: port, chosen: HostTools.chosenPorts() ?? 32_768...60_999,
            interfaces: Set(interfaces.map(\.name)))
        isDiscoveryWalled = obstacles.contains(where: \.dropsDiscovery)
        isChatWalled = obstacles.contains(where: \.dropsChat)
        for obstacle in obstacles {
            let hint = port == nil ? "; with --port N one port is enough" : ""
            say(
                .problem(
                    check, "it may drop what others send: \(obstacle.rule)\(hint)", fix: obstacle.fix,
                    spoken: "The firewall of my computer drops what others send to Inkling: I have to let it pass."))
        }
        let hasOlderRules = HostTools.hasOlderFirewallRules
        if hasOlderRules {
            say(
                .note(
                    check, "legacy iptables rules exist and were not checked",
                    fix: "sudo iptables-legacy -S; sudo ip6tables-legacy -S    (look for what drops UDP)"))
        }
        if obstacles.isEmpty, !hasOlderRules { say(.ok(check, "no rule drops UDP port 5353 or the chat's port")) }
    }
}
