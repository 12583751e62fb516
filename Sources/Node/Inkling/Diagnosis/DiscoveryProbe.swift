import Dispatch
import Glibc
import InklingCore
import InklingModel
import InklingWire
import Logging
import Synchronization

/// A test of discovery on this host, with services that no node takes for a chat.
package enum DiscoveryProbe {
    package enum Result: Equatable, Sendable {
        /// The probe announced a service, and found it again after this time.
        case found(after: Duration)
        /// Discovery does not work.
        case unavailable(DiscoveryOutage)
        /// The daemon answers, but the probe found nothing in time.
        case nothing
    }

    /// Announces a service and looks for it over a second connection to the daemon. The call blocks, so don't call it
    /// on an event loop's thread.
    package static func announceAndFind(
        _ interfaces: InterfaceSelection, port: UInt16, within longest: Duration
    ) -> Result {
        var random = SystemRandomNumberGenerator()
        let chat = ChatKeys(secret: ChatSecret(using: &random))
        let announced = advertisement(in: chat)
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
            case .found(chat.id, announced.instance, _, _): end(.found(after: start.duration(to: .now)))
            case .unavailable(let outage): end(.unavailable(outage))
            case .found, .lost, .available: break
            }
        }
        announcing.join(chat, port: port, first: announced) { advertisement(in: chat) }
        finding.join(chat, port: port, first: advertisement(in: chat)) { advertisement(in: chat) }
        _ = known.wait(timeout: .now() + .milliseconds(Int(longest / .milliseconds(1))))
        announcing.stop()
        finding.stop()
        return result.withLock { $0 } ?? .nothing
    }

    /// The end of the instance names of the probe's services. Nodes do not read this part of a name (D-21), so no node
    /// mistakes a probe for a node.
    private static let instanceSuffix = "-probe"

    private static func advertisement(in chat: ChatKeys) -> Advertisement {
        Advertisement(
            instance: chat.instanceName(nonce: UInt64.random(in: .min ... .max)) + instanceSuffix,
            txt: Array("\u{9}txtvers=2".utf8))
    }

    /// Returns whether an instance is a probe. The daemon may have renamed it by appending to its name.
    private static func isProbe(_ instance: String) -> Bool { instance.contains(instanceSuffix) }

    /// The maximum number of instances to resolve.
    private static let maximumResolved = 64

    /// Returns the Inkling nodes of all chats that are announced when `time` is over. Each instance name has its host's
    /// name, or nil if the daemon did not resolve it in time.
    package static func instances(within time: Duration) -> [String: String?] {
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        guard let browser = try? ServiceReference.browse(interface: 0) else { return [:] }
        var resolving: [String: ServiceReference] = [:]
        defer { for reference in [browser] + resolving.values { reference.free() } }
        // The daemon reports an instance once for each interface and address family.
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
                    guard added, !isProbe(name), hosts[name] == nil, resolving[name] == nil,
                        hosts.count + resolving.count < maximumResolved
                    else { continue }
                    resolving[name] = try? ServiceReference.resolve(name: name, interface: interface)
                case .failed: break looking
                case .registered, .resolved, .address: break
                }
            }
        }
        let names = counts.filter { $0.value > 0 && !isProbe($0.key) }.keys
        return Dictionary(uniqueKeysWithValues: names.map { ($0, hosts[$0]) })
    }
}
