import InklingCore
import InklingModel
import InklingWire

/// The parts of a node that exist before its socket, and come from the system and the configuration.
struct NodePreparation: Sendable {
    /// The display name, in NFC.
    let name: String
    /// The peers that the user named by hand.
    let peers: [Address]
    /// The host's address to use; nil for all addresses.
    let bindAddress: Address?
    let interfaces: UsedInterfaces
    let keyStore: KeyStore?
    let identity: KeyPair
    /// The file of people that earlier runs kept; nil if the node keeps none.
    let knownPeers: KnownPeersOpening?
    /// The age of the state directory. That of a temporary identity begins now.
    let age: AgeFile.Opening
    /// The moves that earlier runs kept; nil for a temporary identity.
    let moves: MovesOpening?

    /// The folder of moves at the start of a node.
    struct MovesOpening: Sendable {
        let folder: MovesFolder
        /// Whether this node alone writes there.
        let isHeld: Bool
        let reading: MovesFolder.Reading
    }

    /// The file of known peers at the start of a node.
    struct KnownPeersOpening: Sendable {
        let file: KnownPeersFile
        let isWritable: Bool
        let reading: KnownPeersFile.Reading
    }

    /// Returns whether the start of a node may need a name server.
    static func takesTime(_ configuration: Configuration) -> Bool {
        configuration.peers.contains { !Resolution.isNumeric($0) }
    }

    init(_ configuration: Configuration) throws(NodeError) {
        name = try NormalForm.displayName(configuration.name)
        peers = try configuration.peers.map { text throws(NodeError) in try Resolution.peer(text) }.flatMap(\.self)
        bindAddress = try configuration.bindAddress.map { text throws(NodeError) in
            guard let address = Resolution.own(text) else { throw .bindAddress(text) }
            return address
        }
        interfaces = try UsedInterfaces(
            configuration.interfaceSelection, from: Interfaces.all(), isStrict: true)
        keyStore = try Self.openKeyStore(configuration)
        var random = SystemRandomNumberGenerator()
        identity = keyStore?.identity ?? KeyPair(using: &random)
        let clocks = configuration.clocks()
        age =
            keyStore.flatMap { store in
                store.directory.map { AgeFile(in: $0).open(isHeld: store.isHeld, now: clocks) }
            } ?? AgeFile.Opening(counter: AgeCounter(clocks), file: nil)
        moves = keyStore.flatMap { store in
            store.directory.map { directory in
                let folder = MovesFolder(in: directory)
                return MovesOpening(folder: folder, isHeld: store.isHeld, reading: folder.read())
            }
        }
        if let keyStore {
            knownPeers = keyStore.knownPeers.map { directory, isWritable in
                let file = KnownPeersFile(directory: directory)
                return KnownPeersOpening(file: file, isWritable: isWritable, reading: file.read(using: &random))
            }
        } else {
            knownPeers = configuration.knownPeersToRead.map { directory in
                let file = KnownPeersFile(directory: directory)
                let reading = file.peek(using: &random).map { KnownPeersFile.Reading.peers($0) } ?? .missing
                return KnownPeersOpening(file: file, isWritable: false, reading: reading)
            }
        }
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
