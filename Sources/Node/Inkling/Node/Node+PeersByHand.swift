import InklingCore
import InklingModel
import InklingWire
import NIOCore

/// A peer that the user named, as a host and a port.
struct PeerByHand: Sendable {
    /// `HOST:PORT` or `[IPV6]:PORT`.
    let text: String
    /// The addresses of the host, at most eight (D-24). Another host may have them too.
    fileprivate(set) var addresses: [Address]

    init(text: String, addresses: [Address]) {
        self.text = text
        self.addresses = Array(addresses.prefix(Limits.addressesOfHost))
    }
}

/// The peers by hand of a running node.
struct PeersByHand {
    var all: [PeerByHand] = []
    var timer: Scheduled<Void>?
    /// The thread for look-ups. A name server may take long to answer.
    let worker = Worker()
}

/// Peers by hand, and the look-ups of their hosts (D-24).
extension Node {
    func addPeers(_ peers: [PeerByHand]) {
        peersByHand.all = peers
        for address in peers.flatMap(\.addresses) { endpoint.addPeer(address, now: clock.now) }
        for peer in peers where peer.addresses.isEmpty {
            let text = "No name server answers for the peer \"\(peer.text)\". Inkling asks again each minute."
            tell(.notice(.other(code: "peer-not-found", text: text)))
        }
        lookUpLater()
    }

    private func lookUpLater() {
        guard peersByHand.all.contains(where: { !Resolution.isNumeric($0.text) }), !isStopped else { return }
        peersByHand.timer = eventLoop.scheduleTask(in: TimeAmount(configuration.lookUpInterval)) { [weak self] in
            self?.onLoop { $0.lookUpHosts() }
        }
    }

    /// Looks up the hosts without a link.
    private func lookUpHosts() {
        let hosts = peersByHand.all.map(\.text).filter { text in !Resolution.isNumeric(text) && isAlone(text) }
        guard !hosts.isEmpty else { return lookUpLater() }
        let lookUp = configuration.lookUp
        peersByHand.worker.run(on: eventLoop) {
            hosts.map { PeerByHand(text: $0, addresses: (try? lookUp($0)) ?? []) }
        }.whenSuccess { [weak self] found in
            self?.onLoop { node in
                for peer in found { node.replace(peer) }
                node.drain()
                node.lookUpLater()
            }
        }
    }

    private func isAlone(_ text: String) -> Bool {
        !peersByHand.all.contains { $0.text == text && $0.addresses.contains(where: endpoint.hasLink(byHand:)) }
    }

    /// Takes the present addresses of a host. Without an answer of the name server, the former ones stay.
    private func replace(_ found: PeerByHand) {
        guard !found.addresses.isEmpty, !isStopped, isAlone(found.text) else { return }
        let former = Set(peersByHand.all.flatMap(\.addresses))
        for index in peersByHand.all.indices where peersByHand.all[index].text == found.text {
            peersByHand.all[index].addresses = found.addresses
        }
        let present = Set(peersByHand.all.flatMap(\.addresses))
        for address in former.subtracting(present).sorted() { endpoint.removePeer(address, now: clock.now) }
        for address in found.addresses where !former.contains(address) {
            endpoint.addPeer(address, now: clock.now)
        }
    }
}
