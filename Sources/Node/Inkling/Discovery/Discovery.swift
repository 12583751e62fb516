import Dispatch
import Glibc
import InklingCore
import InklingModel
import InklingWire
import Logging
import Synchronization

/// What discovery reports. It proposes peers, and is never the judge of who is alive.
package enum DiscoveryEvent: Hashable, Sendable {
    /// An instance and all addresses that it is known under now; again on each change. `txt` is the TXT record in
    /// its wire form, `addresses` are 1 to 8 in the order of preference, link-local ones with their scope.
    case found(ChatID, instance: String, txt: [UInt8], addresses: [Address])
    /// An instance that was found is not listed any more.
    case lost(ChatID, instance: String)
    /// Discovery does not work for now. Once for each outage.
    case unavailable(DiscoveryOutage)
    /// Discovery works again, after `unavailable`.
    case available
}

/// Advertises this node's chats on the local network over DNS-SD and finds those of others.
///
/// One thread of its own does all the work and calls the handler. Without a daemon, and when it goes away, it tries
/// again for as long as it runs.
///
/// With interfaces chosen by name, each of them gets a registration and a browser of its own, so that nothing is
/// sent on any other. Else there is one registration and one browser for all interfaces, and what the browser finds
/// on those that are left out is ignored.
package final class Discovery: Sendable {
    /// Nil once it was stopped.
    private let mailbox: Mutex<DiscoveryMailbox?>
    /// Nil once the thread was joined or left to itself.
    private let thread: Mutex<pthread_t?>
    /// Signalled when the thread has freed everything.
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the thread. `handler` is called on it, one event after the other, and may not wait for anything that
    /// waits for ``stop()``.
    package init(
        interfaces: InterfaceSelection, logger: Logger, handler: @escaping @Sendable (DiscoveryEvent) -> Void
    ) {
        // Before the library's first call, or it prints a warning to standard error.
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

    /// Advertises a chat and looks for others in it; replaces what was joined of that chat.
    ///
    /// - Parameters:
    ///   - chat: Its keys, by which its instances are recognised (D-4).
    ///   - first: What to advertise first.
    ///   - renewal: What to advertise when the chat has to be registered again: its name is taken or was changed, or the
    ///     daemon restarted.
    package func join(
        _ chat: ChatKeys, port: UInt16, first: Advertisement, renewal: @escaping @Sendable () -> Advertisement
    ) {
        post(.join(chat, port: port, first: first, renewal: renewal))
    }

    /// Withdraws the chat and forgets its instances, without an event for them.
    package func leave(_ chat: ChatID) {
        post(.leave(chat))
    }

    /// The interfaces or addresses of this host may have changed.
    package func lookAtInterfaces() {
        post(.lookAtInterfaces)
    }

    /// Withdraws everything and returns when the thread has ended and the library holds nothing any more, which
    /// takes milliseconds. No event comes afterwards.
    ///
    /// It returns false, and the thread ends later by itself, if the daemon hangs for longer than
    /// ``DiscoveryLimits/stopTime``, or if it is called from the handler.
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
