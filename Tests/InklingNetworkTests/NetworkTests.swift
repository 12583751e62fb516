import Foundation
import Glibc
import Testing

/// Real nodes on hosts of their own, with real daemons: what only shows on a real network. The rules themselves are
/// tested elsewhere, under a virtual clock. Each suite says by a ``Turn`` whether it runs side by side with others or alone.
@Suite(
    "Real network", .enabled(if: hasNamespaces, "left out: only root can make network namespaces"),
    .timeLimit(.minutes(3 + enduranceMinutes)))
enum NetworkTests {}

/// How many minutes the test of endurance was asked to take, rounded up.
private let enduranceMinutes = Int(
    (ProcessInfo.processInfo.environment["INKLING_ENDURANCE_MINUTES"].flatMap { Double($0) } ?? 0).rounded(.up))

/// With `INKLING_NETWORK_TESTS=required` the tests run, and fail where they can't.
private let areRequired = ProcessInfo.processInfo.environment["INKLING_NETWORK_TESTS"] == "required"

/// What the tests on a switch of this process need besides; some containers are without it.
let hasTAP = areRequired || access("/dev/net/tun", R_OK | W_OK) == 0

private let hasNamespaces: Bool = {
    if areRequired { return true }
    guard geteuid() == 0, let child = try? Child(["unshare", "--net", "--mount", "--pid", "--fork", "true"]) else {
        return false
    }
    let deadline = now() + 5
    while child.ending == nil && now() < deadline { poll(nil, 0, 5) }
    return child.ending == .exited(0)
}()
