import InklingModel
import NIOCore
import NIOPosix

/// A writer of the file of kept chats, on a thread that may block. One write runs at a time. After it, only the latest
/// waiting list is written. The object belongs to its event loop.
package final class KeptChatsWriter {
    private let file: KeptChatsFile
    private let eventLoop: any EventLoop
    private let threads: NIOThreadPool
    private var isWriting = false
    private var next: KeptChats?
    /// The completions that wait for the next write.
    private var waiting: [(String?) -> Void] = []
    private var idle: [() -> Void] = []

    package init(_ file: KeptChatsFile, on eventLoop: any EventLoop, threads: NIOThreadPool = .singleton) {
        self.file = file
        self.eventLoop = eventLoop
        self.threads = threads
    }

    /// Writes these chats soon.
    ///
    /// - Parameter completion: Called on the event loop: with nil when these or later chats are on disk, else with the
    ///   reason.
    package func write(_ chats: [Chat], holds: [String: Bool] = [:], completion: @escaping (String?) -> Void) {
        write(KeptChats(chats, holds: holds), completion)
    }

    private func write(_ kept: KeptChats, _ completion: @escaping (String?) -> Void) {
        next = kept
        waiting.append(completion)
        proceed()
    }

    /// Calls back when no write is left.
    package func whenIdle(_ completion: @escaping () -> Void) {
        guard isWriting else { return completion() }
        idle.append(completion)
    }

    private func proceed() {
        guard !isWriting else { return }
        guard let chats = next else {
            let idle = idle
            self.idle = []
            for completion in idle { completion() }
            return
        }
        next = nil
        let waiting = waiting
        self.waiting = []
        isWriting = true
        threads.runIfActive(eventLoop: eventLoop) { [file] in file.write(chats) }
            .assumeIsolated().whenComplete { result in
                self.isWriting = false
                let reason: String? =
                    switch result {
                    case .success(let reason): reason
                    case .failure(let error): "\(error)"
                    }
                for completion in waiting { completion(reason) }
                self.proceed()
            }
    }
}
