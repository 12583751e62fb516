import InklingText

/// How far something gets that is sent to a host on the same network.
package enum Reach: Equatable, Sendable {
    /// The host says that no program has that port.
    case refused
    /// The host answers on the link, and nothing comes of the datagram.
    case heard
    /// Not even the link answers: nobody has that address, or the network keeps the two apart.
    case unheard
    /// There is no telling, as beyond a router.
    case unknown

    /// The one that says most, of several addresses of one host.
    package static func best(_ reaches: [Reach]) -> Reach {
        for reach in [Reach.refused, .heard, .unheard] where reaches.contains(reach) { return reach }
        return .unknown
    }

    /// What the system's table of neighbours says of a host; nil if nothing yet. An address that was only overheard, as of
    /// somebody who asked everybody for ours, says nothing.
    ///
    /// - Parameters:
    ///   - address: as `ip neigh` writes it, without an interface.
    ///   - table: the output of `ip neigh`.
    package static func neighbour(_ address: String, in table: String) -> Reach? {
        let states = table.split(whereSeparator: \.isNewline).compactMap { line -> Substring? in
            let words = line.split(separator: " ")
            return words.first == address[...] ? words.last : nil
        }
        if states.contains(where: { ["REACHABLE", "PERMANENT"].contains($0) }) { return .heard }
        return states.contains { ["FAILED", "INCOMPLETE", "PROBE"].contains($0) } ? .unheard : nil
    }
}

/// Somebody who is announced in the chat, and does not answer.
package struct SilentPeer: Equatable, Sendable {
    package var user: String
    /// As HOST:PORT.
    package var addresses: [String]
    package var reach: Reach
    /// Whether it would be reached by a wireless network.
    package var isWireless: Bool

    package init(user: String, addresses: [String], reach: Reach, isWireless: Bool) {
        self.user = user
        self.addresses = addresses
        self.reach = reach
        self.isWireless = isWireless
    }

    private var port: String { addresses.first?.split(separator: ":").last.map(String.init) ?? "N" }

    /// What a doctor says of it.
    ///
    /// - Parameter isWalled: whether the own firewall is known to keep the chat out: the rest follows from that.
    package func finding(isWalled: Bool) -> Finding {
        let check = "peers"
        let announced = "\(user) is announced at \(addresses.joined(separator: ", ")), but does not answer"
        guard !isWalled else { return .note(check, "\(announced); fix the firewall first") }
        let openPort =
            "run \"inkling doctor\" there; if a firewall is in the way: "
            + "sudo nft insert rule inet filter input udp dport \(port) accept"
        switch reach {
        case .refused:
            return .problem(
                check,
                "\(announced): its computer does, and says that no program has the port. It left without saying goodbye, "
                    + "and its announcement goes by itself in some minutes",
                fix: "inkling chat    (there, to come back)",
                spoken: "Your computer says that Inkling does not run on it any more: please open the chat again.")
        case .heard:
            return .problem(
                check,
                "\(announced). Its computer can be reached, so a firewall there or here drops UDP, or they have blocked "
                    + "you",
                fix: openPort,
                spoken: "My computer reaches yours, but Inkling there does not answer: please let your firewall pass "
                    + "UDP port \(port), and run the doctor there too.")
        case .unheard:
            return .problem(
                check,
                "\(announced), and nor does its computer at all. \(isWireless ? "The wireless" : "Most likely the") "
                    + "network isolates its devices: what is for everybody passes, and what is for one of them does not. "
                    + "Or it has just gone",
                fix: "turn off \"client isolation\", \"AP isolation\" or \"guest network\" in the access point or "
                    + "switch, or use another network on both sides",
                spoken: "Our computers are on the same network, which lets them find but not talk to each other: "
                    + "please turn off the isolation of devices in the \(isWireless ? "Wi-Fi" : "router"), or let us both use "
                    + "another network.")
        case .unknown:
            return .problem(
                check,
                "\(announced). A firewall there or here drops UDP, the wireless network isolates its devices, they have "
                    + "blocked you, or they left without saying goodbye",
                fix: openPort,
                spoken: "My computer finds yours, but gets no answer: please let your firewall pass UDP port \(port), "
                    + "and make sure that the Wi-Fi does not isolate its devices.")
        }
    }
}
