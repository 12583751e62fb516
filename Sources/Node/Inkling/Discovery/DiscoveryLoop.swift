import Glibc
import InklingCore
import Logging

/// The work of discovery's thread. Only that thread creates and uses this object.
final class DiscoveryLoop {
    typealias Instant = ContinuousClock.Instant

    /// Whether all wanted registrations and browsers exist.
    private enum Upkeep {
        case complete
        /// Some registrations or browsers are missing. `isTold` is true if the handler knows that discovery does not
        /// work.
        case missing(due: Instant, pause: Duration, isTold: Bool)
    }

    private let mailbox: DiscoveryMailbox
    private let logger: Logger
    private let handler: @Sendable (DiscoveryEvent) -> Void
    private let selection: InterfaceSelection
    private var interfaces: [NetworkInterface] = []
    private var interfaceCheck: Instant
    /// The times of the next lookups of all instances.
    private var refreshes: [Instant] = []
    /// The interface indices of registrations and browsers; `[0]` means one for all interfaces.
    private var scopes: [UInt32] = []
    private var chats: [ChatID: DiscoveryChat] = [:]
    /// The chats in which the node looks for others and has no registration.
    private var browsed: Set<ChatID> = []
    private var browsers: [UInt32: ServiceReference] = [:]
    private var names = ListedNames(random: SystemRandomNumberGenerator())
    /// The clock of ``names``.
    private let clock = NodeClock()
    private var lookups: [InstanceTable.Lookup: ServiceReference] = [:]
    private var table = InstanceTable()
    private var upkeep = Upkeep.complete

    init(
        mailbox: DiscoveryMailbox, selection: InterfaceSelection, logger: Logger,
        handler: @escaping @Sendable (DiscoveryEvent) -> Void
    ) {
        self.mailbox = mailbox
        self.selection = selection
        self.logger = logger
        self.handler = handler
        interfaceCheck = .now
    }

    /// Runs until the command to stop, then frees everything.
    func run() {
        while true {
            for command in mailbox.take() {
                guard perform(command) else { return freeAll() }
            }
            recogniseNames()
            runTimers()
            beginLookups()
            for event in table.takeEvents() { handler(event) }
            waitAndProcess()
        }
    }

    // MARK: - Commands

    /// Performs a command. Returns false for the command to stop.
    private func perform(_ command: DiscoveryCommand) -> Bool {
        switch command {
        case .join(let keys, let port, let first, let renewal):
            let old = chats[keys.id]
            guard old == nil || old?.isSame(first, port: port) == false else { break }
            old?.freeRegistrations()
            chats[keys.id] = DiscoveryChat(keys, port: port, first: first, renewal: renewal)
            if old == nil, browsed.remove(keys.id) == nil { names.join(keys) }
            repairSoon()
        case .browse(let keys):
            guard browsed.insert(keys.id).inserted else { break }
            if let old = chats.removeValue(forKey: keys.id) { old.freeRegistrations() } else { names.join(keys) }
            repairSoon()
        case .leave(let chat):
            chats.removeValue(forKey: chat)?.freeRegistrations()
            browsed.remove(chat)
            names.leave(chat)
            table.forget(chat)
            if chats.isEmpty, browsed.isEmpty { freeBrowsers() }
        case .lookAtInterfaces:
            interfaceCheck = .now
        case .stop:
            return false
        }
        return true
    }

    // MARK: - Timers

    private func runTimers() {
        let now = Instant.now
        if interfaceCheck <= now {
            checkInterfaces(now: now)
        }
        for chat in chats.keys.sorted() {
            let isMissing = chats[chat]?.checkRegistrations(now: now, logger: logger) { name in
                table.isListed(InstanceTable.Instance(chat: chat, name: name))
            }
            if isMissing == true { repairSoon() }
        }
        if case .missing(let due, let pause, let isTold) = upkeep, due <= now {
            repair(pause: pause, isTold: isTold)
        }
        if let refresh = refreshes.first, refresh <= now {
            refreshes.removeFirst()
            table.refreshAll(now: now)
        }
        setOwnInstances()
        table.advance(to: now)
    }

    private var nextDeadline: Instant {
        var deadlines = [interfaceCheck]
        if let deadline = table.nextDeadline() { deadlines.append(deadline) }
        if let deadline = names.nextDeadline { deadlines.append(.now + (deadline - clock.now)) }
        for chat in chats.values {
            if let deadline = chat.nextDeadline { deadlines.append(deadline) }
        }
        if case .missing(let due, _, _) = upkeep { deadlines.append(due) }
        if let refresh = refreshes.first { deadlines.append(refresh) }
        return deadlines.min() ?? interfaceCheck
    }

    /// Reads the system's interfaces. Makes all references again if the names now choose other interfaces.
    private func checkInterfaces(now: Instant) {
        interfaceCheck = now + DiscoveryLimits.interfaceTime
        let before = interfaces
        interfaces = Interfaces.all()
        let chosen = Interfaces.matching(selection, from: interfaces)
        if !before.isEmpty, chosen.networks != Interfaces.matching(selection, from: before).networks {
            refreshes = DiscoveryLimits.refreshTimes.map { now + $0 }
        }
        table.setAcceptedInterfaces(Set(chosen.map(\.index)), now: now)
        let wanted: [UInt32]
        switch selection {
        // Nothing may go out on an interface that the user left out (D-15).
        case .named, .except: wanted = chosen.map(\.index)
        case .automatic: wanted = [0]
        }
        guard wanted != scopes else { return }
        logger.debug("discovery interfaces", metadata: ["names": "\(chosen.map(\.name))"])
        scopes = wanted
        freeAll()
        table.suspend(now: now)
        repairSoon()
    }

    // MARK: - Registrations and browsers

    /// Schedules the missing registrations and browsers, unless a repair is scheduled already.
    private func repairSoon() {
        guard case .complete = upkeep else { return }
        upkeep = .missing(due: .now, pause: DiscoveryLimits.firstReconnect, isTold: false)
    }

    /// Makes the missing references. Without a daemon, the repair stops at the first failure. If the daemon refuses
    /// some references, the loop retries them later.
    private func repair(pause: Duration, isTold: Bool) {
        var failure: ServiceError?
        search: for chat in chats.keys.sorted() + browsed.sorted() {
            for scope in scopes {
                do {
                    if browsers[scope] == nil { browsers[scope] = try .browse(interface: scope) }
                    try chats[chat]?.repair(scope: scope)
                    table.resume(now: .now)
                } catch {
                    failure = error
                    if error == .unknown { break search }
                }
            }
        }
        guard let failure else {
            upkeep = .complete
            if isTold { handler(.available) }
            return
        }
        // The daemon may accept later: lookups of other nodes use its resources only for a moment.
        let isRefused = failure != .unknown || !browsers.isEmpty || chats.values.contains { $0.hasReferences }
        let tells = !isTold && (!isRefused || pause >= DiscoveryLimits.refusalTime)
        if tells {
            logger.debug("discovery failed", metadata: ["code": "\(failure.code)", "refused": "\(isRefused)"])
            handler(.unavailable(isRefused ? .refused : .absent))
        }
        upkeep = .missing(
            due: .now + pause, pause: min(pause * 2, DiscoveryLimits.longestReconnect), isTold: isTold || tells)
    }

    /// Handles the loss of the daemon: all references are dead.
    private func begin(outage: DiscoveryOutage, error: ServiceError) {
        logger.debug("discovery daemon gone", metadata: ["code": "\(error.code)"])
        freeAll()
        table.suspend(now: .now)
        if case .missing(_, _, true) = upkeep {} else { handler(.unavailable(outage)) }
        let pause = DiscoveryLimits.firstReconnect
        upkeep = .missing(due: .now + pause, pause: pause * 2, isTold: true)
    }

    private func setOwnInstances() {
        var own: Set<InstanceTable.Instance> = []
        for (id, chat) in chats {
            for name in chat.ownNames {
                own.insert(InstanceTable.Instance(chat: id, name: name))
            }
        }
        table.setOwnInstances(own, now: .now)
    }

    private func freeAll() {
        for chat in chats.values { chat.freeRegistrations() }
        for chat in chats.keys.sorted() { chats[chat]?.dropReferences() }
        freeBrowsers()
        for reference in lookups.values { reference.free() }
        lookups = [:]
    }

    private func freeBrowsers() {
        for browser in browsers.values { browser.free() }
        browsers = [:]
        names.removeAll()
    }

    // MARK: - Lookups

    private func beginLookups() {
        endLookups()
        while let lookup = table.nextLookup(now: .now) {
            do {
                lookups[lookup] = try begin(lookup)
            } catch {
                table.failed(lookup, now: .now)
            }
        }
    }

    private func begin(_ lookup: InstanceTable.Lookup) throws(ServiceError) -> ServiceReference {
        let sighting = lookup.sighting
        switch lookup.question {
        case .service:
            return try .resolve(name: sighting.instance.name, interface: sighting.interface)
        case .addresses(let family, let host):
            return try .query(host: host, family: family, interface: sighting.interface)
        }
    }

    /// Frees the references of finished lookups.
    private func endLookups() {
        for (lookup, reference) in lookups where table.inFlight[lookup] == nil {
            reference.free()
            lookups[lookup] = nil
        }
    }

    // MARK: - Reading

    /// Waits for the library, a command or the next deadline, and handles the library's answers.
    ///
    /// After a pause of the process, answers and past deadlines meet. All answers that have come go first, so that no
    /// lookup times out beside its answer.
    private func waitAndProcess() {
        guard process(within: max(nextDeadline - .now, .zero)) else { return }
        for _ in 1..<DiscoveryLimits.readRounds {
            guard process(within: .zero) else { return }
        }
    }

    /// Waits up to that long and handles one answer of each reference. Returns whether more may have come.
    private func process(within wait: Duration) -> Bool {
        let sources: [DiscoverySource] =
            chats.keys.sorted().flatMap { chats[$0]?.sources ?? [] }
            + browsers.map { DiscoverySource(origin: .browser(scope: $0.key), reference: $0.value) }
            + lookups.map { DiscoverySource(origin: .lookup($0.key), reference: $0.value) }
        var descriptors = [pollfd(fd: mailbox.readable, events: Int16(POLLIN), revents: 0)]
        descriptors += sources.map { pollfd(fd: $0.reference.descriptor, events: Int16(POLLIN), revents: 0) }
        let (seconds, attoseconds) = wait.components
        let milliseconds = min(seconds, 60) * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        guard poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds)) > 0 else { return false }
        var hasRead = false
        for (source, descriptor) in zip(sources, descriptors.dropFirst()) {
            if descriptor.revents & Int16(POLLIN) != 0 {
                source.reference.process()
                hasRead = true
            } else if descriptor.revents != 0 {
                // The library's end of the connection is broken, and stays so.
                begin(outage: .gone, error: .unknown)
                return false
            }
            for answer in source.reference.takeAnswers() {
                // After all references were freed, the other sources are dead as well.
                guard handle(answer, of: source.origin) else { return false }
            }
        }
        return hasRead
    }

    /// Handles an answer of the library. Returns false when the daemon is lost and every reference was freed.
    private func handle(_ answer: DiscoveryAnswer, of origin: DiscoverySource.Origin) -> Bool {
        switch (origin, answer) {
        case (.browser, .failed(.unknown)):
            // For a registration or a lookup this code has several meanings. If the daemon is gone, the browser reports
            // it.
            begin(outage: .gone, error: .unknown)
            return false
        case (.registration(let chat, let scope), .registered(let name)):
            chats[chat]?.registered(scope: scope, name: name, now: .now)
            setOwnInstances()
        case (.registration(let chat, let scope), .failed(let error)):
            logger.debug("registration failed", metadata: ["code": "\(error.code)"])
            repairLater(chats[chat]?.registrationFailed(scope: scope, error: error))
        case (.browser, .listed(let name, let interface, let added)):
            listed(name, on: interface, added: added)
        case (.browser(let scope), .failed):
            browsers.removeValue(forKey: scope)?.free()
            repairLater(nil)
        case (.lookup(let lookup), .resolved(let host, let port, let txt)):
            table.resolved(lookup, host: host, port: port, txt: txt, now: .now)
        case (.lookup(let lookup), .address(let address, let added)):
            let isLoopback = interfaces.contains { $0.index == lookup.sighting.interface && $0.isLoopback }
            guard isLoopback || !address.isLoopback else { break }
            table.answered(lookup, with: address, added: added, now: .now)
        case (.lookup(let lookup), .failed):
            table.failed(lookup, now: .now)
        case (_, .registered), (_, .listed), (_, .resolved), (_, .address):
            break
        }
        return true
    }

    private func listed(_ name: String, on interface: UInt32, added: Bool) {
        if !interfaces.contains(where: { $0.index == interface }) {
            interfaceCheck = .now
        }
        if added {
            names.added(name, on: interface).map { table.added(sighting(name, of: $0, on: interface), now: .now) }
        } else {
            names.removed(name, on: interface).map { table.removed(sighting(name, of: $0, on: interface), now: .now) }
        }
    }

    /// Adds to the table the listed names that belong to one of the chats.
    private func recogniseNames() {
        while let (name, chat, interfaces) = names.next(clock.now) {
            for interface in interfaces { table.added(sighting(name, of: chat, on: interface), now: .now) }
        }
    }

    private func sighting(_ name: String, of chat: ChatID, on interface: UInt32) -> InstanceTable.Sighting {
        InstanceTable.Sighting(instance: InstanceTable.Instance(chat: chat, name: name), interface: interface)
    }

    /// Schedules a repair like ``repairSoon()``, after a pause.
    private func repairLater(_ pause: Duration?) {
        guard case .complete = upkeep else { return }
        let first = DiscoveryLimits.firstReconnect
        upkeep = .missing(due: .now + (pause ?? first), pause: first, isTold: false)
    }
}
