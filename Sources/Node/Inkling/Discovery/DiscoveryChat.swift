import InklingCore
import InklingWire
import Logging

/// A reference of the library to poll, and its purpose.
struct DiscoverySource {
    enum Origin {
        case registration(ChatID, scope: UInt32)
        case browser(scope: UInt32)
        case lookup(InstanceTable.Lookup)
    }

    let origin: Origin
    let reference: ServiceReference
}

/// One advertised chat: its registrations, by the index of the interface.
struct DiscoveryChat {
    typealias Instant = ContinuousClock.Instant

    enum State {
        /// The daemon must confirm the registration before `until`.
        case unconfirmed(until: Instant)
        /// The daemon confirmed the registration. The node's own browser must list it before `until`.
        case unlisted(until: Instant)
        case listed
    }

    struct Registration {
        let reference: ServiceReference
        /// The registered name, which may differ from the requested name.
        var name: String
        var state: State
    }

    let keys: ChatKeys
    private let port: UInt16
    private let first: Advertisement
    private let renewal: @Sendable () -> Advertisement
    /// The current advertisement, or the next one.
    private(set) var advertisement: Advertisement
    /// Whether the daemon has ever had the advertisement.
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

    /// The names under which this node is advertised.
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

    /// A new registration gets a new nonce (D-2). Simultaneous registrations on several interfaces are one instance.
    private mutating func renew() {
        guard isUsed else { return }
        advertisement = renewal()
        isUsed = false
    }

    /// Registers under the advertised name. While another registration has the name, tries new names.
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

    /// Handles the confirmation of a registration, whose name the daemon may have changed.
    mutating func registered(scope: UInt32, name: String, now: Instant) {
        failurePause = DiscoveryLimits.firstReconnect
        registrations[scope]?.name = name
        registrations[scope]?.state = .unlisted(until: now + listingTime)
        if name != advertisement.instance { renaming.renamed(now: now) }
    }

    /// Removes a dead registration. Returns the pause before the next try.
    mutating func registrationFailed(scope: UInt32, error: ServiceError) -> Duration {
        registrations.removeValue(forKey: scope)?.reference.free()
        if error == .nameConflict { isUsed = true }
        defer { failurePause = min(failurePause * 2, DiscoveryLimits.longestReconnect) }
        return failurePause
    }

    /// Drops registrations that were not confirmed or listed in time. Returns whether one was dropped.
    mutating func checkRegistrations(now: Instant, logger: Logger, isListed: (String) -> Bool) -> Bool {
        var isMissing = false
        let isRenamed = registrations.values.contains { $0.name != advertisement.instance }
        if isRenamed, renaming.takeTurn(now: now) {
            // The registrations on all interfaces are one instance, so all of them are renewed.
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
                // Without a network the browser lists nothing. Don't repeat the registration too often.
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

    /// Frees everything, for a later repair.
    mutating func dropReferences() {
        freeRegistrations()
        registrations = [:]
    }
}

/// The times at which the node renews a registration that the daemon renamed. One forged record can cause such a rename
/// (D-20).
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
