import CProcess
import NIOCore

/// The memory that only the start of a program needs.
enum ProgramMemory {
    /// The time after which a program has started, and has met the people who are there.
    private static let settling = TimeAmount.seconds(5)

    /// Gives back what the start took, after some seconds. The pages of code that still run come back by themselves.
    static func settle(on loop: any EventLoop) {
        loop.scheduleTask(in: settling) {
            malloc_trim(0)
            cprocess_release_code()
        }
    }
}
