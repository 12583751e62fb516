import Dispatch
import Glibc
import Synchronization

/// Runs a body for the numbers from 0 in order, as many at once as there are processors. No body begins after one has
/// returned false.
///
/// A test must expect the results outside of the body: inside, an issue belongs to no test.
package func concurrently(_ count: UInt64, _ body: @Sendable (UInt64) -> Bool) {
    let next = Atomic<UInt64>(0)
    let isOver = Atomic(false)
    DispatchQueue.concurrentPerform(iterations: sysconf(Int32(_SC_NPROCESSORS_ONLN))) { _ in
        while !isOver.load(ordering: .relaxed) {
            let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard number < count else { return }
            if !body(number) { isOver.store(true, ordering: .relaxed) }
        }
    }
}
