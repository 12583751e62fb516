import FoundationEssentials
import InklingCore
@_exported import InklingModel
import InklingWire

// The core's person has a key. Without a module's name, the name means the model's type.
typealias Person = InklingModel.Person

extension Person {
    init(_ person: InklingCore.Person) { self.init(user: person.key.userID, name: person.name) }
}

extension Secret {
    /// Returns a new secret, from the system's unpredictable random source.
    public static func random() -> Secret {
        var generator = SystemRandomNumberGenerator()
        return Secret(using: &generator)
    }
}

extension NodeError: LocalizedError {
    /// The same text as ``NodeError/description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
