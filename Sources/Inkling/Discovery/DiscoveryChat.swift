import InklingCore
import Logging

/// A reference that is polled, and what it is for.
struct DiscoverySource {
    enum Origin {
        case registration(subtype: String, scope: UInt32)
        case browser(subtype: String, scope: UInt32)
        case lookup(InstanceTable.Lookup)
    }

    let origin: Origin
    let reference: ServiceReference
}

/// One chat that is advertised and browsed for: its registrations and browsers, by the index of their interface.
struct DiscoveryChat {
    typealias Instant = ContinuousClock.Instant

    enum State {
        /// To be confirmed until then.
        case unconfirmed(until: Instant)
        /// Confirmed; the own browser is to list it until then, for a subtype that could not be added goes
        /// unreported.
        case unlisted(until: Instant)
        case listed
    }

    struct Registration {
        let reference: ServiceReference
        /// The name that it stands under, which may not be the one asked for.
        var name: String
        var state: State
    }

    let subtype: String
    private let port: UInt16
    private let first: Advertisement
    private let renewal: (@Sendable () -> Advertisement)?
    /// What is registered, or is to be next, and the name that is tried for it at present.
    private(set) var advertisement: Advertisement
    private var name: String
    /// The daemon has had it, if only for a moment.
    private var isUsed = false
    private var registrations: [UInt32: Registration] = [:]
    var browsers: [UInt32: ServiceReference]
    private var listingTime = DiscoveryLimits.registrationTime
    private var failurePause = DiscoveryLimits.firstReconnect

    init(
        subtype: String, port: UInt16, first: Advertisement, renewal: (@Sendable () -> Advertisement)? = nil,
        browsers: [UInt32: ServiceReference] = [:]
    ) {
        self.subtype = subtype
        self.port = port
        self.first = first
        self.renewal = renewal
        self.browsers = browsers
        advertisement = first
        name = first.instance
    }

    func isSame(_ first: Advertisement, port: UInt16) -> Bool { self.first == first && self.port == port }

    var hasReferences: Bool { !registrations.isEmpty || !browsers.isEmpty }

    /// The names that this node is advertised under.
    var ownNames: [String] { registrations.values.map(\.name) }

    var nextDeadline: Instant? {
        registrations.values.compactMap { registration in
            switch registration.state {
            case .unconfirmed(let deadline), .unlisted(let deadline): deadline
            case .listed: nil
            }
        }.min()
    }

    var sources: [DiscoverySource] {
        registrations.map {
            DiscoverySource(origin: .registration(subtype: subtype, scope: $0.key), reference: $0.value.reference)
        }
            + browsers.map {
                DiscoverySource(origin: .browser(subtype: subtype, scope: $0.key), reference: $0.value)
            }
    }

    /// Makes the registration and the browser of an interface if they are missing.
    mutating func repair(scope: UInt32) throws(ServiceError) {
        if browsers[scope] == nil {
            browsers[scope] = try .browse(subtype: subtype, interface: scope)
        }
        if registrations[scope] == nil {
            if registrations.isEmpty { renew() }
            registrations[scope] = Registration(
                reference: try register(scope: scope), name: name,
                state: .unconfirmed(until: .now + DiscoveryLimits.registrationTime))
            isUsed = true
        }
    }

    /// A registration that begins again gets a nonce of its own, and so on, where there is one (D-3). Those of several
    /// interfaces at one time are one instance.
    private mutating func renew() {
        guard isUsed, let renewal else { return }
        advertisement = renewal()
        name = advertisement.instance
        isUsed = false
    }

    /// Registers under the name, or, as long as it is taken, under a new one.
    private mutating func register(scope: UInt32) throws(ServiceError) -> ServiceReference {
        for _ in 0..<DiscoveryLimits.renames {
            do {
                return try .register(subtype: subtype, name: name, interface: scope, port: port, txt: advertisement.txt)
            } catch .nameConflict {
                rename()
            }
        }
        throw .nameConflict
    }

    /// The registration is confirmed, under a name that the daemon may have changed.
    mutating func registered(scope: UInt32, name: String, now: Instant) {
        failurePause = DiscoveryLimits.firstReconnect
        registrations[scope]?.name = name
        registrations[scope]?.state = .unlisted(until: now + listingTime)
    }

    /// The registration is dead; it is missing from here on. Returns how long to wait before it is made again.
    mutating func registrationFailed(scope: UInt32, error: ServiceError) -> Duration {
        registrations.removeValue(forKey: scope)?.reference.free()
        if error == .nameConflict { rename() }
        defer { failurePause = min(failurePause * 2, DiscoveryLimits.longestReconnect) }
        return failurePause
    }

    /// Gives up registrations that were not confirmed, or are not listed, in time. Returns whether one was.
    mutating func checkRegistrations(now: Instant, logger: Logger, isListed: (String) -> Bool) -> Bool {
        var isMissing = false
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
            logger.debug("registered again", metadata: ["subtype": "\(subtype)", "scope": "\(scope)"])
            registrations.removeValue(forKey: scope)?.reference.free()
            isMissing = true
        }
        return isMissing
    }

    /// Frees the registrations, so that the daemon says goodbye for them.
    func freeRegistrations() {
        for registration in registrations.values { registration.reference.free() }
    }

    func freeAll() {
        freeRegistrations()
        for browser in browsers.values { browser.free() }
    }

    /// Frees everything, to be made again.
    mutating func dropReferences() {
        freeAll()
        registrations = [:]
        browsers = [:]
    }

    private mutating func rename() {
        let suffix = String(UInt32.random(in: 0x1000_0000...UInt32.max), radix: 16)
        var base = Substring(advertisement.instance)
        while base.utf8.count > 54 { base.removeLast() }
        name = "\(base)-\(suffix)"
    }
}
