import Foundation
import Testing

/// Writes a measured figure to the log of the run.
func figure(_ text: String) { print("figure: \(text)") }

/// Returns a time in milliseconds, such as "0.80".
func milliseconds(_ seconds: Double) -> String { String(format: "%.2f", seconds * 1_000) }

/// Returns a time in seconds, such as "2.953 s".
func seconds(_ seconds: Double) -> String { String(format: "%.3f s", seconds) }

/// Returns a summary such as "median 0.80, 99 of 100 within 2.10, most 3.00 ms (200 samples)".
func summary(_ delays: [Double]) -> String {
    let (middle, high) = (milliseconds(percentile(50, of: delays)), milliseconds(percentile(99, of: delays)))
    return "median \(middle), 99 of 100 within \(high), most \(milliseconds(delays.max() ?? 0)) ms"
        + " (\(delays.count) samples)"
}

/// Measures delays until they keep their bounds, at most three times. Three failures fail the test.
///
/// Other programs on the machine only make delays longer. So one measurement within the bounds proves that the program
/// keeps them. A program that does not keep them fails each time.
///
/// - Parameters:
///   - half: The bound for half of the delays, in seconds.
///   - most: The bound for 99 of 100 delays, in seconds.
func expectDelays(
    _ what: String, half: Double = .infinity, most: Double, location: SourceLocation = #_sourceLocation,
    _ measure: () async throws -> [Double]
) async throws {
    for attempt in 1...3 {
        let delays = try await measure()
        figure("\(what): \(summary(delays))")
        let isKept = !delays.isEmpty && percentile(50, of: delays) < half && percentile(99, of: delays) < most
        if isKept { return }
        if attempt == 3 { Issue.record("\(what): \(summary(delays)), three times", sourceLocation: location) }
    }
}

func percentile(_ percent: Int, of values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, sorted.count * percent / 100)]
}
