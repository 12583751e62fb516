import InklingText

/// The texts about different versions of a daemon and a front end.
package enum VersionDifference {
    /// Returns a warning about different versions; nil for equal versions. The front end continues in both cases.
    ///
    /// - Parameters:
    ///   - daemon: the version in the daemon's first line.
    ///   - program: the version of this program.
    package static func text(daemon: String, program: String) -> String? {
        guard daemon != program else { return nil }
        let both = "The daemon has version \(shown(daemon)), and this program \(shown(program))"
        guard let (own, others) = pair(program, daemon) else { return both }
        return own.lexicographicallyPrecedes(others)
            ? both + ": start this program again to use the new one" : both + ": restart the daemon to use the new one"
    }

    /// Returns the reason why a front end stops, and which of the two programs to upgrade.
    package static func newerInterface(of daemon: String, than program: String) -> String {
        "The daemon has version \(shown(daemon)), and this program, with \(shown(program)), is too old to use it. "
            + "Upgrade this program; or restart the daemon, if that runs from another installation."
    }

    private static func shown(_ version: String) -> String {
        let text = SafeText.line(String(version.prefix(32)))
        return text.isEmpty ? "unknown" : text
    }

    /// Returns the numbers of two versions, such as "0.12.1"; nil for a version of another form.
    private static func pair(_ first: String, _ second: String) -> ([Int], [Int])? {
        let numbers = [first, second].map { $0.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) } }
        guard numbers.allSatisfy({ !$0.contains(nil) }) else { return nil }
        return (numbers[0].compactMap { $0 }, numbers[1].compactMap { $0 })
    }
}
