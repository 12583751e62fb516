import CProcess
import Glibc

/// Runs `body` on a separate thread, which handles none of the program's signals.
///
/// - Parameter name: The name that the system shows; at most 15 bytes.
/// - Returns: Nil if the system gives no thread.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t? {
    final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    // A new thread inherits the signal mask of its creator.
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    let code = pthread_create(
        &thread, nil,
        { context in
            guard let context else { return nil }
            let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
            // A call sets the name, because a program that is not dumpable may not write to /proc/thread-self/comm.
            _ = cprocess_name_thread(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
        start.release()
        return nil
    }
    return thread
}
