import InklingCore
import InklingModel
import InklingWire

/// The parts of a node that exist before its socket, and come from the system and the configuration.
struct NodePreparation: Sendable {
    /// The display name, in NFC.
    let name: String
    /// The peers that the user named by hand.
    let peers: [PeerByHand]
    /// The host's address to use; nil for all addresses.
    let bindAddress: Address?
    let interfaces: UsedInterfaces
    let keyStore: KeyStore?
    let identity: KeyPair
    /// The state that earlier runs kept; nil without a state directory.
    let state: NodeState.Opening?

    /// Returns whether the start of a node may need a name server.
    static func takesTime(_ configuration: Configuration) -> Bool {
        configuration.peers.contains { !Resolution.isNumeric($0) }
    }

    init(_ configuration: Configuration) throws(NodeError) {
        name = try NormalForm.displayName(configuration.name)
        peers = try configuration.peers.map { text throws(NodeError) in
            PeerByHand(text: text, addresses: try configuration.lookUp(text))
        }
        bindAddress = try configuration.bindAddress.map { text throws(NodeError) in
            guard let address = Resolution.own(text) else { throw .bindAddress(text) }
            return address
        }
        interfaces = try UsedInterfaces(
            configuration.interfaceSelection, from: Interfaces.all(), isStrict: true)
        keyStore = try Self.openKeyStore(configuration)
        var random = SystemRandomNumberGenerator()
        identity = keyStore?.identity ?? KeyPair(using: &random)
        let directory = keyStore.map { $0.stateDirectory } ?? configuration.stateToRead
        let isHeld = keyStore?.isHeld ?? false
        state = directory.map { NodeState.Opening(in: $0, isHeld: isHeld) }
    }

    private static func openKeyStore(_ configuration: Configuration) throws(NodeError) -> KeyStore? {
        guard !configuration.isEphemeral else { return nil }
        do {
            return try KeyStore.open(directory: configuration.stateDirectory)
        } catch {
            throw .stateDirectory(error)
        }
    }
}
