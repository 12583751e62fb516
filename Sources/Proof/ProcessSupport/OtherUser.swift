import Glibc
import Synchronization

/// Runs a closure as another user, on its own thread. The kernel has a user for each thread, but the C library's calls
/// change all threads of the process.
package func asOtherUser<Value: Sendable>(
    _ user: uid_t, _ body: @escaping @Sendable () throws -> Value
) throws -> Value {
    typealias Call = @convention(c) (Int, Int, Int, Int) -> Int
    guard let symbol = dlsym(nil, "syscall") else { throw OtherUserError(code: ENOSYS) }
    let call = unsafeBitCast(symbol, to: Call.self)
    let result = Mutex<Result<Value, any Error>?>(nil)
    let work = Work {
        // The thread keeps that user until its end.
        let status = call(setresuid, Int(user), Int(user), Int(user))
        let outcome = Result<Value, any Error> {
            guard status == 0 else { throw OtherUserError(code: errno) }
            return try body()
        }
        result.withLock { $0 = outcome }
    }
    var thread = pthread_t()
    let status = pthread_create(
        &thread, nil,
        { pointer in
            Unmanaged<Work>.fromOpaque(pointer.unsafelyUnwrapped).takeRetainedValue().body()
            return nil
        }, Unmanaged.passRetained(work).toOpaque())
    guard status == 0 else { throw OtherUserError(code: status) }
    pthread_join(thread, nil)
    guard let outcome = result.withLock({ $0 }) else { throw OtherUserError(code: ESRCH) }
    return try outcome.get()
}

/// The number of the system call, whose name Swift does not import.
#if arch(x86_64)
    private let setresuid = 117
#else
    private let setresuid = 147
#endif

private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
}

/// An error of the system, by its code.
package struct OtherUserError: Error {
    package let code: Int32
}
