import InklingModel
import NIOCore
import NIOPosix

/// Has the file of kept chats written where nobody waits for the thread: one time after the other, and of what waits
/// meanwhile the latest alone. Used on its event loop.
package final class KeptChatsWriter {
    private let file: KeptChatsFile
    private let eventLoop: any EventLoop
    private let threads: NIOThreadPool
    private let failed: (String) -> Void
    private var isWriting = false
    private var next: [Chat]?
    private var idle: [() -> Void] = []

    /// - Parameter failed: Called on the event loop with the reason why chats could not be written.
    package init(
        _ file: KeptChatsFile, on eventLoop: any EventLoop, threads: NIOThreadPool = .singleton,
        failed: @escaping (String) -> Void
    ) {
        self.file = file
        self.eventLoop = eventLoop
        self.threads = threads
        self.failed = failed
    }

    /// These chats are to be in the file soon.
    package func write(_ chats: [Chat]) {
        next = chats
        proceed()
    }

    /// Calls back when nothing is to be written any more.
    package func whenIdle(_ completion: @escaping () -> Void) {
        guard isWriting else { return completion() }
        idle.append(completion)
    }

    private func proceed() {
        guard !isWriting else { return }
        guard let chats = next else {
            for completion in idle { completion() }
            idle = []
            return
        }
        next = nil
        isWriting = true
        threads.runIfActive(eventLoop: eventLoop) { [file] in file.write(chats) }
            .assumeIsolated().whenComplete { result in
                self.isWriting = false
                switch result {
                case .success(nil): break
                case .success(let reason?): self.failed(reason)
                case .failure(let error): self.failed("\(error)")
                }
                self.proceed()
            }
    }
}
