import InklingModel
import InklingWire

/// The identity that a state directory keeps, for people to see, to copy and to restore.
public struct KeptIdentity: Sendable {
    /// The user ID.
    public let user: UserID
    /// The static public key.
    public let key: PublicKey
    /// The fingerprint of the key.
    public let fingerprint: Fingerprint
    /// The directory that keeps the identity.
    public let directory: String
    /// The text that ``replace(in:with:force:)`` takes. The text contains the private key: anyone with it can act as
    /// this person.
    public let text: String

    private init(_ pair: KeyPair, directory: String) {
        user = pair.publicKey.userID
        key = pair.publicKey
        fingerprint = Fingerprint(of: pair.publicKey)
        self.directory = directory
        text = String(decoding: Identity.text(of: pair), as: UTF8.self)
    }

    /// Reads the identity of a state directory, even while a node uses it; nil if there is none yet.
    ///
    /// - Parameter directory: The directory; nil for ``Configuration/defaultStateDirectory``.
    /// - Throws: ``NodeError/stateDirectory(_:)``.
    public static func read(directory: String?) throws(NodeError) -> KeptIdentity? {
        guard let path = directory ?? KeyStore.defaultDirectory else {
            throw .stateDirectory(.noHome)
        }
        let pair: KeyPair?
        do {
            pair = try StateDirectory.existingKey(path)
        } catch {
            throw .stateDirectory(error)
        }
        return pair.map { KeptIdentity($0, directory: path) }
    }

    /// Returns the user of the identity in a state directory, without changing anything there. Root reads another
    /// user's identity too. Returns nil if the directory has no identity, or a file is not readable.
    package static func user(in directory: String) -> UserID? {
        StateDirectory.peekedKey(directory)?.publicKey.userID
    }

    /// Puts an identity into a state directory, and makes a missing directory.
    ///
    /// - Parameters:
    ///   - directory: The directory; nil for ``Configuration/defaultStateDirectory``.
    ///   - text: The ``text`` of an identity.
    ///   - force: Whether to replace an existing identity.
    /// - Throws: ``NodeError/identityText``, ``NodeError/identityExists(_:)``, ``NodeError/stateDirectoryInUse(_:)``,
    ///   ``NodeError/stateDirectory(_:)``. Nothing was changed then.
    public static func replace(
        in directory: String?, with text: String, force: Bool = false
    ) throws(NodeError) -> KeptIdentity {
        guard text.utf8.count <= Identity.maximumBytes, case .key(let pair) = Identity.read(Array(text.utf8)) else {
            throw .identityText
        }
        guard let path = directory ?? KeyStore.defaultDirectory else {
            throw .stateDirectory(.noHome)
        }
        try StateDirectory.withLock(path, isNamed: directory != nil) { state throws(NodeError) in
            guard force || !state.hasIdentity else { throw .identityExists(path) }
            if case .unwritable(let reason) = state.keep(pair) {
                throw .stateDirectory(.unwritable(path: path, reason: reason))
            }
        }
        return KeptIdentity(pair, directory: path)
    }
}
