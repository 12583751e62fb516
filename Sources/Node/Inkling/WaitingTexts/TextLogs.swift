import InklingModel
import InklingWire
import NIOCore
import NIOPosix

/// The texts in a state directory. A thread of their own, which may block, does one job after the other.
package final class TextLogs: TextStore {
    private let eventLoop: any EventLoop
    package private(set) var logs: Set<TextLogID> = []

    /// Reads the logs in a state directory.
    ///
    /// - Parameter threads: Makes a pool of one thread.
    package init(
        in directory: String, on eventLoop: any EventLoop, threads: @escaping @autoclosure () -> NIOThreadPool
    ) {
        self.eventLoop = eventLoop
    }

    package func begin(_ report: @escaping (TextFault) -> Void) {}

    package func state(of log: TextLogID) -> TextState { TextState() }

    package func append(_ records: [TextRecord], to log: TextLogID, completion: @escaping (String?) -> Void) {}

    package func end(_ log: TextLogID, completion: @escaping (String?) -> Void) {}

    package func rekey(_ logs: [TextLogID], completion: @escaping (String?) -> Void) {}

    package func whenIdle(_ completion: @escaping () -> Void) {}
}
