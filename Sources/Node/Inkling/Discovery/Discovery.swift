import Dispatch
import Glibc
import InklingCore
import InklingModel
import InklingWire
import Logging
import Synchronization

/// A report of discovery. Discovery proposes peers, and never decides whether a peer is alive.
package enum DiscoveryEvent: Hashable, Sendable {
    /// An instance with all its known addresses, reported again on each change. `txt` is the TXT record in its wire
    /// form. `addresses` are 1 to 8 in the order of preference, link-local ones with their scope.
    case found(ChatID, instance: String, txt: [UInt8], addresses: [Address])
    /// The daemon no longer lists an instance that discovery found.
    case lost(ChatID, instance: String)
    /// Discovery does not work for now. Reported once for each outage.
    case unavailable(DiscoveryOutage)
    /// Discovery works again, after `unavailable`.
    case available
}

/// Advertises this node's chats on the local network over DNS-SD and finds those of others.
///
/// A separate thread does all the work and calls the handler. While there is no daemon, the thread retries.
///
/// With interfaces chosen by name, each interface gets its own registration and browser, and discovery sends nothing on
/// other interfaces. Otherwise one registration and one browser serve all interfaces. Discovery then ignores the
/// browser's results on excluded interfaces.
package final class Discovery: Sendable {
    /// Nil after ``stop()``.
    private let mailbox: Mutex<DiscoveryMailbox?>
    /// Nil after the thread was joined or detached.
    private let thread: Mutex<pthread_t?>
    /// Signalled when the thread has freed everything.
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the thread, which calls `handler` with one event after the other. The handler must not wait for code that
    /// itself waits for ``stop()``.
    package init(
        interfaces: InterfaceSelection, logger: Logger, handler: @escaping @Sendable (DiscoveryEvent) -> Void
    ) {
        // Must precede the library's first call: otherwise the library prints a warning to standard error.
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        LibraryMemory.prepare()
        let mailbox = DiscoveryMailbox()
        let started = mailbox.flatMap { [ended] mailbox in
            startThread("inkling-dns-sd") {
                DiscoveryLoop(mailbox: mailbox, selection: interfaces, logger: logger, handler: handler).run()
                ended.signal()
            }
        }
        self.mailbox = Mutex(started == nil ? nil : mailbox)
        thread = Mutex(started)
        if started == nil {
            handler(.unavailable(.noThread))
        }
    }

    deinit {
        post(.stop)
        if let thread = thread.withLock({ $0 }) {
            pthread_detach(thread)
        }
    }

    /// Advertises a chat and looks for others in it. A second call for the same chat replaces the first.
    ///
    /// - Parameters:
    ///   - chat: The keys of the chat, by which discovery recognises its instances (D-4).
    ///   - first: The first advertisement.
    ///   - renewal: Returns the advertisement for a new registration. A chat needs one when its name is taken or
    ///     changed, or when the daemon restarts.
    package func join(
        _ chat: ChatKeys, port: UInt16, first: Advertisement, renewal: @escaping @Sendable () -> Advertisement
    ) {
        post(.join(chat, port: port, first: first, renewal: renewal))
    }

    /// Withdraws the chat, and still looks for others in it (L-88, M-92).
    package func browse(_ chat: ChatKeys) {
        post(.browse(chat))
    }

    /// Withdraws the chat and forgets its instances, without an event for them.
    package func leave(_ chat: ChatID) {
        post(.leave(chat))
    }

    /// Reads the interfaces and addresses of this host again, because they may have changed.
    package func lookAtInterfaces() {
        post(.lookAtInterfaces)
    }

    /// Withdraws everything and returns when the thread has ended and freed the library's memory, which takes
    /// milliseconds. No event follows.
    ///
    /// Returns false if the daemon hangs for longer than ``DiscoveryLimits/stopTime``, or if the handler makes the
    /// call. The thread then ends later by itself.
    @discardableResult
    package func stop() -> Bool {
        post(.stop)
        mailbox.withLock { $0 = nil }
        guard let thread = thread.withLock({ $0.take() }) else { return true }
        let isOwn = pthread_equal(thread, pthread_self()) != 0
        guard !isOwn, ended.wait(timeout: .now() + DiscoveryLimits.stopTime) == .success else {
            pthread_detach(thread)
            return false
        }
        pthread_join(thread, nil)
        return true
    }

    private func post(_ command: DiscoveryCommand) {
        mailbox.withLock { $0 }?.post(command)
    }
}
