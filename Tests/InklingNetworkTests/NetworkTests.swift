import Foundation
import Glibc
import Testing

/// Real nodes on separate hosts, with real daemons. These tests show the effects of a real network. Other tests check
/// the rules under a virtual clock. Suites run side by side, but those in ``Alone`` by themselves.
@Suite(
    "Real network", .enabled(if: hasNamespaces, "left out: only root can make network namespaces"),
    .timeLimit(.minutes(3 + enduranceMinutes)))
enum NetworkTests {
    /// The suites that measure milliseconds, or keep both processors busy. `Scripts/test` runs them after all others.
    @Suite("Alone on the machine", .serialized, .alone) enum Alone {}
}

/// The minutes of the endurance test, rounded up.
let enduranceMinutes = Int(
    (ProcessInfo.processInfo.environment["INKLING_ENDURANCE_MINUTES"].flatMap { Double($0) } ?? 0).rounded(.up))

/// Whether the tests must run. With `INKLING_NETWORK_TESTS=required` they fail on a machine where they can't run.
private let areRequired = ProcessInfo.processInfo.environment["INKLING_NETWORK_TESTS"] == "required"

extension Trait where Self == ConditionTrait {
    /// The test takes tens of seconds, so only `Scripts/test --all` runs it.
    static var long: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["INKLING_ALL"] != nil, "left out: `Scripts/test --all` runs it")
    }
}

private let hasNamespaces: Bool = {
    if areRequired { return true }
    guard geteuid() == 0, let child = try? Child(["unshare", "--net", "--mount", "--pid", "--fork", "true"]) else {
        return false
    }
    let deadline = now() + 5
    while child.ending == nil && now() < deadline { poll(nil, 0, 5) }
    return child.ending == .exited(0)
}()
