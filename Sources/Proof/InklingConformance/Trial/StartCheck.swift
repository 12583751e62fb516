/// The check whether the program under test becomes ready (J-3). Without it, each case would wait for the program in
/// vain.
package enum StartCheck {
    /// The number of failed starts after which the suite stops. A single failure may be chance.
    package static let tries = 2

    /// Returns the finding of the last try, or nil if the program became ready. `onStage` runs a try on a new stage,
    /// and ends that stage.
    package static func finding(seed: UInt64, onStage: ((any Stage) -> Finding?) -> Finding?) -> Finding? {
        var finding: Finding?
        for number in 0..<tries {
            finding = onStage { start(on: $0, seed: seed &+ UInt64(number)) }
            if finding == nil { return nil }
        }
        return finding
    }

    private static func start(on stage: any Stage, seed: UInt64) -> Finding? {
        do {
            _ = try Trial(stage: stage, seed: seed).start()
            return nil
        } catch let finding as Finding {
            return finding
        } catch {
            return Finding(expected: "the program starts", actual: "\(error)")
        }
    }
}
