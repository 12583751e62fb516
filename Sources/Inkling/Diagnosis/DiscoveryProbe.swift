import Dispatch
import Glibc
import InklingModel
import InklingWire
import Logging
import Synchronization

/// Whether discovery works on this host, tried with services of its own that nobody takes for a chat.
package enum DiscoveryProbe {
    package enum Result: Equatable, Sendable {
        /// A service was announced, and found again after so long.
        case found(after: Duration)
        /// Discovery does not work.
        case unavailable(DiscoveryOutage)
        /// The daemon answers, and nothing was found in time.
        case nothing
    }

    /// Announces a service and looks for it by a second way to the daemon. It waits: not for an event loop's thread.
    package static func announceAndFind(
        _ interfaces: InterfaceSelection, port: UInt16, within longest: Duration
    ) -> Result {
        let subtype = randomHex(16)
        let announced = instancePrefix + randomHex(16)
        let result = Mutex<Result?>(nil)
        let known = DispatchSemaphore(value: 0)
        let start = ContinuousClock.now
        @Sendable func end(_ found: Result) {
            result.withLock { $0 = $0 ?? found }
            known.signal()
        }
        let quiet = Logger(label: "probe") { _ in SwiftLogNoOpLogHandler() }
        let announcing = Discovery(interfaces: interfaces, logger: quiet) { event in
            if case .unavailable(let outage) = event { end(.unavailable(outage)) }
        }
        let finding = Discovery(interfaces: interfaces, logger: quiet) { event in
            switch event {
            case .found(subtype, announced, _, _): end(.found(after: start.duration(to: .now)))
            case .unavailable(let outage): end(.unavailable(outage))
            case .found, .lost, .available: break
            }
        }
        let txt = Array("\u{9}txtvers=1".utf8)
        announcing.join(subtype: subtype, instance: announced, port: port, txt: txt)
        finding.join(subtype: subtype, instance: instancePrefix + randomHex(16), port: port, txt: txt)
        _ = known.wait(timeout: .now() + .milliseconds(Int(longest / .milliseconds(1))))
        announcing.stop()
        finding.stop()
        return result.withLock { $0 } ?? .nothing
    }

    /// What the names of these services begin with, so that nobody counts them as nodes.
    private static let instancePrefix = "probe-"

    /// How many instances are asked at most where they are.
    private static let maximumResolved = 64

    /// The Inkling nodes that are announced on the network at the end of that time, of whatever chat: the names of their
    /// instances, with the name of the host; nil where it did not come in time.
    package static func instances(within time: Duration) -> [String: String?] {
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        guard let browser = try? ServiceReference.browse(subtype: nil, interface: 0) else { return [:] }
        var resolving: [String: ServiceReference] = [:]
        defer { for reference in [browser] + resolving.values { reference.free() } }
        // They come and go once for each interface and address family.
        var counts: [String: Int] = [:]
        var hosts: [String: String] = [:]
        let end = ContinuousClock.now + time
        looking: while ContinuousClock.now < end {
            let names = Array(resolving.keys)
            var readable = ([browser] + names.compactMap { resolving[$0] }).map {
                pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&readable, nfds_t(readable.count), 50) >= 0 else { break }
            for (name, status) in zip(names, readable.dropFirst()) where status.revents != 0 {
                resolving[name]?.process()
                for answer in resolving[name]?.takeAnswers() ?? [] {
                    if case .resolved(let host, _, _) = answer { hosts[name] = host }
                    resolving.removeValue(forKey: name)?.free()
                }
            }
            guard readable[0].revents != 0 else { continue }
            browser.process()
            for answer in browser.takeAnswers() {
                switch answer {
                case .listed(let name, let interface, let added):
                    counts[name, default: 0] += added ? 1 : -1
                    guard added, !name.hasPrefix(instancePrefix), hosts[name] == nil, resolving[name] == nil,
                        hosts.count + resolving.count < maximumResolved
                    else { continue }
                    resolving[name] = try? ServiceReference.resolve(name: name, interface: interface)
                case .failed: break looking
                case .registered, .resolved, .address: break
                }
            }
        }
        let names = counts.filter { $0.value > 0 && !$0.key.hasPrefix(instancePrefix) }.keys
        return Dictionary(uniqueKeysWithValues: names.map { ($0, hosts[$0]) })
    }
}

/// So many random lower-case hex digits.
func randomHex(_ count: Int) -> String {
    (0..<count).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
}
