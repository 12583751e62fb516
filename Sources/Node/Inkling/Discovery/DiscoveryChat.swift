import InklingCore
import InklingWire
import Logging

/// A reference that is polled, and what it is for.
struct DiscoverySource {
    enum Origin {
        case registration(ChatID, scope: UInt32)
        case browser(scope: UInt32)
        case lookup(InstanceTable.Lookup)
    }

    let origin: Origin
    let reference: ServiceReference
}

/// One chat that is advertised: its registrations, by the index of their interface.
struct DiscoveryChat {
    typealias Instant = ContinuousClock.Instant

    enum State {
        /// To be confirmed until then.
        case unconfirmed(until: Instant)
        /// Confirmed; the own browser is to list it until then.
        case unlisted(until: Instant)
        case listed
    }

    struct Registration {
        let reference: ServiceReference
        /// The name that it stands under, which may not be the one asked for.
        var name: String
        var state: State
    }

    let keys: ChatKeys
    private let port: UInt16
    private let first: Advertisement
    private let renewal: @Sendable () -> Advertisement
    /// What is registered, or is to be next.
    private(set) var advertisement: Advertisement
    /// The daemon has had it, if only for a moment.
    private var isUsed = false
    private var renaming = RenamePace()
    private var registrations: [UInt32: Registration] = [:]
    private var listingTime = DiscoveryLimits.registrationTime
    private var failurePause = DiscoveryLimits.firstReconnect

    init(_ keys: ChatKeys, port: UInt16, first: Advertisement, renewal: @escaping @Sendable () -> Advertisement) {
        self.keys = keys
        self.port = port
        self.first = first
        self.renewal = renewal
        advertisement = first
    }

    func isSame(_ first: Advertisement, port: UInt16) -> Bool { self.first == first && self.port == port }

    var hasReferences: Bool { !registrations.isEmpty }

    /// The names that this node is advertised under.
    var ownNames: [String] { registrations.values.map(\.name) }

    var nextDeadline: Instant? {
        registrations.values.compactMap { registration in
            guard registration.name == advertisement.instance else { return renaming.due }
            return switch registration.state {
            case .unconfirmed(let deadline), .unlisted(let deadline): deadline
            case .listed: nil
            }
        }.min()
    }

    var sources: [DiscoverySource] {
        registrations.map {
            DiscoverySource(origin: .registration(keys.id, scope: $0.key), reference: $0.value.reference)
        }
    }

    /// Makes the registration on an interface if it is missing.
    mutating func repair(scope: UInt32) throws(ServiceError) {
        guard registrations[scope] == nil else { return }
        if registrations.isEmpty { renew() }
        let reference = try register(scope: scope)
        registrations[scope] = Registration(
            reference: reference, name: advertisement.instance,
            state: .unconfirmed(until: .now + DiscoveryLimits.registrationTime))
        isUsed = true
    }

    /// A registration that begins again gets a nonce of its own (D-2). Those of several interfaces at one time are one
    /// instance.
    private mutating func renew() {
        guard isUsed else { return }
        advertisement = renewal()
        isUsed = false
    }

    /// Registers under the name, or, as long as it is taken, under a new one.
    private mutating func register(scope: UInt32) throws(ServiceError) -> ServiceReference {
        for _ in 0..<DiscoveryLimits.renames {
            do {
                return try .register(
                    name: advertisement.instance, interface: scope, port: port, txt: advertisement.txt)
            } catch .nameConflict {
                advertisement = renewal()
            }
        }
        throw .nameConflict
    }

    /// The registration is confirmed, under a name that the daemon may have changed.
    mutating func registered(scope: UInt32, name: String, now: Instant) {
        failurePause = DiscoveryLimits.firstReconnect
        registrations[scope]?.name = name
        registrations[scope]?.state = .unlisted(until: now + listingTime)
        if name != advertisement.instance { renaming.renamed(now: now) }
    }

    /// The registration is dead; it is missing from here on. Returns how long to wait before it is made again.
    mutating func registrationFailed(scope: UInt32, error: ServiceError) -> Duration {
        registrations.removeValue(forKey: scope)?.reference.free()
        if error == .nameConflict { isUsed = true }
        defer { failurePause = min(failurePause * 2, DiscoveryLimits.longestReconnect) }
        return failurePause
    }

    /// Gives up registrations that were not confirmed, or are not listed, in time. Returns whether one was.
    mutating func checkRegistrations(now: Instant, logger: Logger, isListed: (String) -> Bool) -> Bool {
        var isMissing = false
        let isRenamed = registrations.values.contains { $0.name != advertisement.instance }
        if isRenamed, renaming.takeTurn(now: now) {
            // What several interfaces have is one instance.
            freeRegistrations()
            registrations = [:]
            return true
        }
        for (scope, registration) in registrations {
            switch registration.state {
            case .unlisted where isListed(registration.name):
                registrations[scope]?.state = .listed
                listingTime = DiscoveryLimits.registrationTime
                continue
            case .unlisted(let deadline) where deadline <= now:
                // Without a network nothing is listed: not to be repeated too often.
                listingTime = min(listingTime * 2, DiscoveryLimits.longestListingTime)
            case .unconfirmed(let deadline) where deadline <= now:
                break
            case .unconfirmed, .unlisted, .listed:
                continue
            }
            logger.debug("registered again", metadata: ["scope": "\(scope)"])
            registrations.removeValue(forKey: scope)?.reference.free()
            isMissing = true
        }
        return isMissing
    }

    /// Frees the registrations, so that the daemon says goodbye for them.
    func freeRegistrations() {
        for registration in registrations.values { registration.reference.free() }
    }

    /// Frees everything, to be made again.
    mutating func dropReferences() {
        freeRegistrations()
        registrations = [:]
    }
}

/// When a registration that the daemon renamed is made again, which one forged record makes it do (D-20).
package struct RenamePace {
    package typealias Instant = ContinuousClock.Instant

    /// The next time; nil before the first rename.
    package private(set) var due: Instant?

    package init() {}

    package mutating func renamed(now: Instant) { due = due ?? now }

    /// Returns whether the time has come. The next one is 10 s later.
    package mutating func takeTurn(now: Instant) -> Bool {
        guard let time = due, time <= now else { return false }
        due = now + Limits.renamedInterval
        return true
    }
}
