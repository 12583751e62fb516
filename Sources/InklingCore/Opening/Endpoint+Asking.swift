import InklingWire

/// Asking an address that was given by hand whose it is.
extension Endpoint {
    mutating func ask(_ id: InstanceID, _ now: Instant) {
        guard let instance = instances[id], let address = instance.addresses.first else { return }
        let token = UInt32(truncatingIfNeeded: random.next())
        instances[id]?.askToken = token
        emit(Datagram.ask(Ask(tag: instance.chat, token: token)).encode(), to: address, as: .ask)
    }

    mutating func receive(_ tell: Tell, from address: Address, _ now: Instant) {
        let asked = instances.unorderedValues.first { $0.askToken == tell.token && $0.addresses == [address] }
        guard let instance = asked, let keys = chats[instance.chat]?.keys else {
            drop(.unexpected)
            return
        }
        guard let key = keys.unmasked(tell.key, nonce: tell.nonce) else {
            drop(.malformed)
            return
        }
        instances[instance.id]?.askToken = nil
        guard key != ownKey else {
            cancelPending(instance.id)
            setKey(of: instance.id, to: nil)
            instances[instance.id]?.opening = .waiting(until: now + Limits.slowOpeningInterval)
            if toldOneself.insert(address).inserted { outputs.append(.peerIsOneself(address)) }
            return
        }
        guard key != instance.key else { return }
        cancelPending(instance.id)
        setKey(of: instance.id, to: key)
        startOpening(instance.id, now)
    }
}
