/// Whether the program under test gets ready at all (J-3). Without that no case can be run, and each would wait for it.
package enum StartCheck {
    /// How many starts have to fail before a program is given up: a single one may have been bad luck.
    package static let tries = 2

    /// What the last try found if the program got ready in none; nil as soon as it does. `onStage` runs a try on a stage
    /// of its own, and ends that stage.
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
