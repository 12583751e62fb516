import InklingCore
import InklingWire
import Testing

/// A LAN with one node of the middle identity: those below have a smaller key than it has, those above a larger one.
package func lonely(identity: Int = 5, acceptsRouted: Bool = false) -> VirtualLAN {
    let lan = VirtualLAN()
    lan.add(identity: identity, name: "Node", acceptsRouted: acceptsRouted)
    return lan
}

/// Two nodes with a link, at rest; the first has the smaller key.
package func twoNodes(sendsTyping: Bool = true) -> VirtualLAN {
    let lan = VirtualLAN()
    lan.add(identity: 0, name: "Alice", sendsTyping: sendsTyping)
    lan.add(identity: 1, name: "Bob")
    lan.discoverAll()
    lan.run(until: .at(1_000))
    lan.forget()
    return lan
}

/// Keys of strangers, in no order.
package func keys(_ count: Int, seed: UInt64 = 99) -> [KeyPair] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in KeyPair(using: &generator) }
}

/// How many of ascending instants in milliseconds lie within one second at most.
package func mostInASecond(_ times: [Int]) -> Int {
    var most = 0
    var first = 0
    for (last, time) in times.enumerated() {
        while time - times[first] >= 1_000 { first += 1 }
        most = max(most, last - first + 1)
    }
    return most
}

/// The initiation that a node sent last.
package func lastInitiation(_ lan: VirtualLAN, by index: Int = 0) throws -> Initiation {
    let datagram = lan.initiations(index).last.flatMap { try? Datagram.parse($0.bytes) }
    return try #require(datagram.flatMap { if case .initiation(let initiation) = $0 { initiation } else { nil } })
}

extension VirtualLAN {
    /// The initiations that a node has sent, to an address or any.
    package func initiations(_ index: Int, to address: Address? = nil) -> [Packet] {
        sent(index, kind: 1).filter { address == nil || $0.destination == address }
    }

    /// The instants of initiations, in milliseconds.
    package func initiationTimes(_ index: Int, to address: Address? = nil) -> [Int] {
        initiations(index, to: address).map(\.at.milliseconds)
    }

    package func drops(_ index: Int, _ reason: DropReason) -> Int { hosts[index].endpoint.counters.drops[reason] ?? 0 }

    /// Names an instance as discovery would.
    package func find(
        _ name: String, key: PublicKey, at addresses: [Address], by index: Int = 0, in chat: ChatKeys = lobby
    ) {
        perform(index) { $0.found(name, chat: chat.tag, key: key, addresses: addresses, now: $1) }
    }

    /// The next start of a node: the same identity and address, another run, everything else forgotten.
    package func restart(_ index: Int, identity: Int, name: String) -> Int {
        kill(index)
        let address = hosts[index].address
        let next = add(identity: identity, name: name, run: UInt64(90_000 + hosts.count))
        move(next, to: address)
        return next
    }

    /// Whether nodes are online to each other, typing shows on both sides, and messages arrive once.
    package func expectWorking(
        _ left: Int, _ right: Int, in chat: ChatKeys = lobby, _ comment: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for (sender, receiver) in [(left, right), (right, left)] {
            let key = hosts[sender].endpoint.publicKey
            let isOnline = hosts[receiver].endpoint.present(in: chat.tag).contains { $0.person.key == key }
            #expect(isOnline, "\(comment): \(sender) is not online to \(receiver)", sourceLocation: sourceLocation)
            perform(sender) { try? $0.stopTyping(in: chat.tag, now: $1) }
        }
        run(for: .milliseconds(600))
        for (sender, receiver) in [(left, right), (right, left)] {
            let key = hosts[sender].endpoint.publicKey
            func isTyping() -> Bool {
                hosts[receiver].endpoint.typing(in: chat.tag).contains { $0.key == key }
            }
            compose(sender, "text \(now.nanoseconds)", in: chat)
            run(for: .milliseconds(600))
            #expect(isTyping(), "\(comment): \(receiver) does not see \(sender) type", sourceLocation: sourceLocation)
            let text = "message \(now.nanoseconds) of \(sender)"
            send(sender, text, in: chat)
            run(for: .milliseconds(600))
            #expect(
                !isTyping(), "\(comment): \(receiver) sees \(sender) type after the message",
                sourceLocation: sourceLocation)
            #expect(
                messages(receiver).filter { $0 == text }.count == 1,
                "\(comment): a message from \(sender) to \(receiver)", sourceLocation: sourceLocation)
        }
    }

    /// The people who went offline to a node.
    package func offline(_ index: Int) -> [PresenceReason] {
        presences(index).filter { $0.presence == .offline }.map(\.why)
    }

    /// The outcomes of messages that a node was told: number, and the reason of a failure.
    package func outcomes(_ index: Int) -> [(message: UInt64, failure: FailureReason?)] {
        hosts[index].log.compactMap { entry in
            switch entry.output {
            case .delivered(let message, _, _): (message, nil)
            case .failed(let message, _, _, let reason): (message, reason)
            default: nil
            }
        }
    }

    /// Loses everything from now on, in both directions.
    package func cut() { transit = { _ in [] } }

    /// Delivers everything again, after 0.2 ms.
    package func repair() { transit = { _ in [.microseconds(200)] } }

    /// Runs until a time in milliseconds.
    package func run(to milliseconds: Int) { run(until: .at(milliseconds)) }
}
