import InklingCore

extension InstanceTable {
    /// The knowledge about an instance on one interface, and the state of its lookups.
    struct Entry {
        enum Progress {
            /// The next resolve is due at that time, after this number of failed attempts.
            case due(Instant, attempt: Int)
            /// An attempt is under way. Attempts are counted from 1.
            case resolving(Lookup, attempt: Int)
            case searching(Search)
            /// The last lookup was completed at that time.
            case settled(Instant)
        }

        /// The number of address families for which the browser lists the instance, 1 or 2. During an outage the number
        /// is 0.
        var families: Int
        /// The turn in the lookup queue, which serves lower turns first.
        var turn: UInt64
        /// The result of the last complete lookup.
        var known: Offer?
        var progress: Progress

        /// The offer to report now. During a new search, the old addresses count as well.
        var offer: Offer? {
            guard case .searching(let search) = progress, !search.addresses.isEmpty else { return known }
            guard let known, known.txt == search.txt, known.port == search.port else {
                return Offer(txt: search.txt, addresses: search.addresses)
            }
            return Offer(txt: search.txt, addresses: search.addresses.union(known.addresses))
        }

        /// Returns the lookup that the entry wants at `now`.
        func wish(now: Instant) -> Question? {
            guard families > 0 else { return nil }
            switch progress {
            case .due(let time, _): return time <= now ? .service : nil
            case .searching(let search): return search.nextFamily.map { .addresses($0, host: search.host) }
            case .resolving, .settled: return nil
            }
        }

        /// Returns the entry's ticket in the queue of lookups; nil if the entry waits for no resolve.
        func ticket(of sighting: Sighting) -> LookupQueue.Ticket? {
            guard families > 0, case .due(let time, let attempt) = progress else { return nil }
            return LookupQueue.Ticket(sighting: sighting, due: time, attempt: attempt, turn: turn)
        }

        /// Records that the wanted lookup has begun.
        ///
        /// - Returns: Whether the lookup asks for the second address family of a host whose first family is known.
        mutating func begin(_ lookup: Lookup) -> Bool {
            switch progress {
            case .due(_, let attempt):
                progress = .resolving(lookup, attempt: attempt + 1)
                return false
            case .searching(var search):
                search.begin(lookup)
                progress = .searching(search)
                return !search.addresses.isEmpty
            case .resolving, .settled:
                return false
            }
        }
    }

    /// The search for the addresses of a host, family by family.
    struct Search {
        enum Query {
            case waiting
            case asked(Lookup)
            case ended
        }

        let host: String
        let port: UInt16
        let txt: [UInt8]
        let attempt: Int
        var addresses: Set<Address> = []
        private var ipv4 = Query.waiting
        private var ipv6 = Query.waiting

        init(host: String, port: UInt16, txt: [UInt8], attempt: Int) {
            self.host = host
            self.port = port
            self.txt = txt
            self.attempt = attempt
        }

        /// The next family to ask for.
        var nextFamily: Family? {
            if case .waiting = ipv4 { return .ipv4 }
            if case .waiting = ipv6 { return .ipv6 }
            return nil
        }

        var asked: [Lookup] {
            [ipv4, ipv6].compactMap { if case .asked(let lookup) = $0 { lookup } else { nil } }
        }

        var isOver: Bool {
            if case .ended = ipv4, case .ended = ipv6 { true } else { false }
        }

        mutating func begin(_ lookup: Lookup) {
            guard case .addresses(let family, _) = lookup.question else { return }
            switch family {
            case .ipv4: ipv4 = .asked(lookup)
            case .ipv6: ipv6 = .asked(lookup)
            }
        }

        mutating func end(_ lookup: Lookup) {
            guard case .addresses(let family, _) = lookup.question else { return }
            switch family {
            case .ipv4: ipv4 = .ended
            case .ipv6: ipv6 = .ended
            }
        }
    }

    /// A TXT record and its addresses; never without an address.
    struct Offer: Equatable {
        let txt: [UInt8]
        private(set) var addresses: Set<Address>
        /// The reported addresses, in the order of preference.
        private(set) var ranked: [Address]

        init(txt: [UInt8], addresses: Set<Address>) {
            self.txt = txt
            self.addresses = addresses
            ranked = Array(addresses.sorted(by: Self.isBetter).prefix(DiscoveryLimits.addresses))
        }

        var port: UInt16? { ranked.first?.port }

        var hasBothFamilies: Bool {
            addresses.contains { $0.ipv4 != nil } && addresses.contains { $0.ipv4 == nil }
        }

        /// Returns one offer for the offers of several interfaces, in their order. Where TXT records differ, the one
        /// reported before wins if an offer still has it, else the first. Addresses with other records are left out.
        /// Each interface gives one address in turn, up to ``DiscoveryLimits/addresses``.
        static func merged(_ offers: [Offer], before: Offer?) -> Offer? {
            guard let first = offers.first else { return nil }
            let txt = offers.first { $0.txt == before?.txt }?.txt ?? first.txt
            var rows = offers.filter { $0.txt == txt }.map { $0.ranked[...] }
            var ranked: [Address] = []
            while ranked.count < DiscoveryLimits.addresses, rows.contains(where: { !$0.isEmpty }) {
                for row in rows.indices where ranked.count < DiscoveryLimits.addresses {
                    guard let address = rows[row].popFirst(), !ranked.contains(address) else { continue }
                    ranked.append(address)
                }
            }
            var offer = Offer(txt: txt, addresses: Set(ranked))
            offer.ranked = ranked
            return offer
        }

        /// Orders IPv4 first, then link-local IPv6, which no router renumbers, then the rest.
        private static func isBetter(_ left: Address, _ right: Address) -> Bool {
            func rank(_ address: Address) -> Int {
                address.ipv4 != nil ? 0 : address.isIPv6LinkLocal ? 1 : 2
            }
            return (rank(left), left) < (rank(right), right)
        }
    }
}
