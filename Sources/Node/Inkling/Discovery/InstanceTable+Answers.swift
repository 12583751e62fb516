import InklingCore

/// The answers of lookups.
extension InstanceTable {
    /// Answers a lookup of ``Question/service``. A port of 0, an oversized TXT record, or a host outside the network
    /// link (D-18) makes it a failure.
    package mutating func resolved(_ lookup: Lookup, host: String, port: UInt16, txt: [UInt8], now: Instant) {
        guard inFlight[lookup] != nil, lookup.question == .service else { return }
        guard port != 0, txt.count <= DiscoveryLimits.txtBytes, InstanceTable.isLocal(host) else {
            return failed(lookup, now: now)
        }
        inFlight[lookup] = nil
        guard var entry = self[lookup.sighting], case .resolving(_, let attempt) = entry.progress else { return }
        entry.progress = .searching(Search(host: host, port: port, txt: txt, attempt: attempt))
        self[lookup.sighting] = entry
    }

    /// Answers a lookup of ``Question/addresses(_:host:)`` with one address. The port in the address has no meaning.
    package mutating func answered(_ lookup: Lookup, with address: Address, added: Bool, now: Instant) {
        guard let deadline = inFlight[lookup], var entry = self[lookup.sighting],
            case .searching(var search) = entry.progress
        else { return }
        let isOnLink = !address.isLinkLocalOfOtherScope(than: lookup.sighting.interface)
        let full = Address(high: address.high, low: address.low, port: search.port, scope: address.scope)
        if added, isOnLink, full.isUnicast, search.addresses.count < 2 * DiscoveryLimits.addresses {
            search.addresses.insert(full)
            inFlight[lookup] = min(deadline, now + DiscoveryLimits.quietTime)
            if let sibling = search.asked.first(where: { $0 != lookup }), let deadline = inFlight[sibling] {
                inFlight[sibling] = min(deadline, now + DiscoveryLimits.siblingTime)
            }
        } else if !added {
            search.addresses.remove(full)
        }
        entry.progress = .searching(search)
        self[lookup.sighting] = entry
        changed.insert(lookup.sighting.instance)
    }

    /// Handles a lookup that could not begin, answered an error, or timed out.
    package mutating func failed(_ lookup: Lookup, now: Instant) {
        guard inFlight.removeValue(forKey: lookup) != nil, var entry = self[lookup.sighting] else { return }
        switch entry.progress {
        case .resolving(_, let attempt):
            entry.turn = takeTurn()
            entry.progress = .due(now + DiscoveryLimits.retryPause(afterAttempt: attempt), attempt: attempt)
        case .searching(var search):
            search.end(lookup)
            if !search.isOver {
                entry.progress = .searching(search)
            } else if search.addresses.isEmpty {
                entry.turn = takeTurn()
                let pause = DiscoveryLimits.retryPause(afterAttempt: search.attempt)
                entry.progress = .due(now + pause, attempt: search.attempt)
            } else {
                entry.known = Offer(txt: search.txt, addresses: search.addresses)
                entry.progress = .settled(now)
            }
            changed.insert(lookup.sighting.instance)
        case .due, .settled:
            break
        }
        self[lookup.sighting] = entry
    }

    /// Returns whether a host is on the network link, by its name in multicast DNS.
    private static func isLocal(_ host: String) -> Bool {
        let name = host.lowercased()
        guard let domain = [".local", ".local."].first(where: name.hasSuffix) else { return false }
        // A dot within a label stands behind a backslash, as does a backslash.
        return name.dropLast(domain.count).reversed().prefix { $0 == "\\" }.count.isMultiple(of: 2)
    }
}

extension Address {
    /// Whether this is a link-local address of another interface than the one with this index.
    fileprivate func isLinkLocalOfOtherScope(than interface: UInt32) -> Bool {
        isIPv6LinkLocal && (scope != interface || scope == 0)
    }
}
