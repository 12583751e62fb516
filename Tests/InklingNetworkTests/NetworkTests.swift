import Foundation
import Glibc
import Testing

/// Real nodes on hosts of their own, with real daemons: what only shows on a real network. The rules themselves are
/// tested elsewhere, under a virtual clock. One at a time: they measure time.
@Suite(
    "Real network", .serialized, .enabled(if: hasNamespaces, "left out: only root can make network namespaces"),
    .timeLimit(.minutes(2)))
enum NetworkTests {}

/// With `INKLING_NETWORK_TESTS=required` the tests run, and fail where they can't.
private let hasNamespaces: Bool = {
    if ProcessInfo.processInfo.environment["INKLING_NETWORK_TESTS"] == "required" { return true }
    guard geteuid() == 0, let child = try? Child(["unshare", "--net", "--mount", "--pid", "--fork", "true"]) else {
        return false
    }
    let deadline = now() + 5
    while child.ending == nil && now() < deadline { poll(nil, 0, 5) }
    return child.ending == .exited(0)
}()
