import CDNSSD
import Glibc
import InklingConformance

/// The client of the DNS-SD daemon for the cases on discovery: advertises the peers of a case, and browses.
final class ServiceBench {
    private struct Registration {
        let service: ServiceInstance
        var operation: ServiceOperation?
        var isConfirmed = false
        /// The time of the next registration, unless the daemon confirms this one first.
        var due: Duration
    }

    private struct Browser {
        let operation: ServiceOperation
        /// The number of listings of each instance: one for each interface and address family.
        var listed: [String: Int] = [:]
    }

    private struct Resolve {
        let instance: String
        let interface: UInt32
        var operation: ServiceOperation
        var due: Duration
        var triesLeft: Int
    }

    /// How long the daemon is given to confirm a registration.
    private static let confirmationTime = Duration.seconds(5)
    /// The time until a name that was just freed is tried again.
    private static let conflictTime = Duration.milliseconds(200)
    private static let resolveTime = Duration.seconds(2)

    private var registrations: [Registration] = []
    private var browsers: [Browser] = []
    private var resolves: [Resolve] = []

    init() { ServiceLibrary.prepare() }

    /// Frees everything, so that the daemon says goodbye for what was advertised.
    func end() {
        for registration in registrations { registration.operation?.free() }
        for browser in browsers { browser.operation.free() }
        for resolve in resolves { resolve.operation.free() }
        (registrations, browsers, resolves) = ([], [], [])
    }

    // MARK: Requests

    /// Advertises an instance, and replaces one of the same name.
    func advertise(_ service: ServiceInstance, at now: Duration) throws(StageError) {
        withdraw(instance: service.instance)
        var registration = Registration(service: service, due: now)
        try make(&registration, at: now)
        registrations.append(registration)
    }

    func withdraw(instance: String) {
        guard let index = registrations.firstIndex(where: { $0.service.instance == instance }) else { return }
        registrations.remove(at: index).operation?.free()
    }

    /// Finds instances from now on, but those that it advertises itself.
    func browse() throws(StageError) {
        do {
            browsers.append(Browser(operation: try .browse()))
        } catch {
            throw error.asStageError
        }
    }

    /// Registers; a name that the daemon still holds is left for later.
    private func make(_ registration: inout Registration, at now: Duration) throws(StageError) {
        do {
            registration.operation = try .register(registration.service)
            registration.due = now + ServiceBench.confirmationTime
        } catch {
            guard error.code == Int32(kDNSServiceErr_NameConflict) else { throw error.asStageError }
            registration.due = now + ServiceBench.conflictTime
        }
    }

    // MARK: Events

    var descriptors: [pollfd] { operations.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) } }

    private var operations: [ServiceOperation] {
        (registrations.compactMap(\.operation) + browsers.map(\.operation) + resolves.map(\.operation))
            .filter { !$0.isFreed }
    }

    /// Processes the library's answers, and returns the instances that were resolved.
    func collect(at now: Duration) -> [StageEvent] {
        for operation in operations { operation.processIfReadable() }
        collectRegistrations(at: now)
        collectBrowsers(at: now)
        return collectResolves(at: now)
    }

    private func collectRegistrations(at now: Duration) {
        for index in registrations.indices {
            for answer in registrations[index].operation?.takeAnswers() ?? [] {
                switch answer {
                case .registered: registrations[index].isConfirmed = true
                case .failed: (registrations[index].isConfirmed, registrations[index].due) = (false, now)
                case .listed, .resolved: break
                }
            }
            guard !registrations[index].isConfirmed, registrations[index].due <= now else { continue }
            registrations[index].operation?.free()
            registrations[index].operation = nil
            registrations[index].due = now + ServiceBench.conflictTime
            try? make(&registrations[index], at: now)
        }
    }

    private func collectBrowsers(at now: Duration) {
        for index in browsers.indices {
            for answer in browsers[index].operation.takeAnswers() {
                guard case .listed(let name, let interface, let isAdded) = answer else {
                    browsers[index].operation.free()
                    continue
                }
                let count = browsers[index].listed[name, default: 0]
                browsers[index].listed[name] = max(0, count + (isAdded ? 1 : -1))
                guard isAdded, count == 0, !registrations.contains(where: { $0.service.instance == name }) else {
                    continue
                }
                begin(name, interface: interface, at: now, triesLeft: 5)
            }
        }
    }

    private func begin(_ instance: String, interface: UInt32, at now: Duration, triesLeft: Int) {
        guard let operation = try? ServiceOperation.resolve(instance, interface: interface) else { return }
        resolves.append(
            Resolve(
                instance: instance, interface: interface, operation: operation,
                due: now + ServiceBench.resolveTime, triesLeft: triesLeft))
    }

    private func collectResolves(at now: Duration) -> [StageEvent] {
        var events: [StageEvent] = []
        var waiting: [Resolve] = []
        var again: [Resolve] = []
        for resolve in resolves {
            var isOver = false
            for answer in resolve.operation.takeAnswers() {
                guard case .resolved(let port, let txt) = answer, !isOver else { continue }
                isOver = true
                let service = ServiceInstance(
                    instance: resolve.instance, port: Int(port), txt: txt)
                events.append(.found(service, at: now))
            }
            if isOver || resolve.due <= now {
                resolve.operation.free()
                if !isOver, resolve.triesLeft > 0 { again.append(resolve) }
            } else {
                waiting.append(resolve)
            }
        }
        resolves = waiting
        for resolve in again {
            begin(
                resolve.instance, interface: resolve.interface, at: now,
                triesLeft: resolve.triesLeft - 1)
        }
        return events
    }
}
