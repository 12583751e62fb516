import FoundationEssentials
import InklingCore
@_exported import InklingModel
import InklingWire

// The model and the core have types of the same names. Without a module's name, these names mean the model's types.
typealias Person = InklingModel.Person
typealias Presence = InklingModel.Presence
typealias PresenceReason = InklingModel.PresenceReason
typealias FailureReason = InklingModel.FailureReason

extension Person {
    init(_ person: InklingCore.Person) { self.init(user: person.key.userID, name: person.name) }
}

extension Presence {
    init(_ presence: InklingCore.Presence) {
        switch presence {
        case .online: self = .online
        case .away: self = .away
        case .offline: self = .offline
        }
    }
}

extension PresenceReason {
    init(_ reason: InklingCore.PresenceReason) {
        switch reason {
        case .hello: self = .hello
        case .back: self = .back
        case .away: self = .away
        case .bye: self = .bye
        case .removed: self = .removed
        case .will: self = .will
        case .silence: self = .silence
        case .blocked: self = .blocked
        case .replaced: self = .replaced
        case .full: self = .full
        }
    }
}

extension FailureReason {
    init(_ reason: InklingCore.FailureReason) {
        switch reason {
        case .bye: self = .bye
        case .silence: self = .silence
        case .will: self = .will
        case .left: self = .left
        case .blocked: self = .blocked
        case .replaced: self = .replaced
        case .quit: self = .quit
        case .stalled: self = .stalled
        case .full: self = .full
        case .lostState: self = .lostState
        }
    }
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
