import InklingWire

/// The addresses at which discovery lists so many keys that most must be forged. Only the node at such an address can
/// tell which key is right (D-17).
struct Crowds: Sendable {
    private struct Place: Hashable {
        let chat: ChatID
        let address: Address
    }

    private var listed: [InstanceID: (key: PublicKey, places: [Place])] = [:]
    /// The number of instances that list each key at an address.
    private var keys: [Place: [PublicKey: Int]] = [:]
    private var newAsks = SlidingWindow(perSecond: Limits.addressesAskedBegun)

    /// Updates the keys of an instance that was found, changed or removed.
    mutating func update(_ id: InstanceID, _ instances: InstanceTable) {
        let source = instances.find(id).flatMap { $0.isDiscovered ? $0 : nil }
        let places = source.map { source in source.addresses.map { Place(chat: source.chat, address: $0) } } ?? []
        let key = source?.key
        let before = listed[id]
        guard before?.key != key || before?.places ?? [] != places else { return }
        if let before {
            for place in before.places { count(before.key, at: place, -1) }
        }
        listed[id] = key.map { ($0, places) }
        guard let key else { return }
        for place in places { count(key, at: place, 1) }
    }

    func isCrowded(_ address: Address, in chat: ChatID) -> Bool {
        guard !keys.isEmpty else { return false }
        return keys[Place(chat: chat, address: address)]?.count ?? 0 > Limits.keysPerAddress
    }

    /// Returns whether a live link leads to one of the keys listed at an address.
    func hasLink(_ address: Address, in chat: ChatID, _ links: LinkTable) -> Bool {
        guard let keys = keys[Place(chat: chat, address: address)]?.keys else { return false }
        return keys.contains { links.liveAddresses(of: PersonID(chat: chat, key: $0)).contains(address) }
    }

    /// Returns whether the node may begin to ask one more address.
    mutating func admitsAsk(_ now: Instant) -> Bool { newAsks.take(now) }

    private mutating func count(_ key: PublicKey, at place: Place, _ change: Int) {
        let count = keys[place, default: [:]][key, default: 0] + change
        keys[place, default: [:]][key] = count > 0 ? count : nil
        if keys[place]?.isEmpty == true { keys[place] = nil }
    }
}
