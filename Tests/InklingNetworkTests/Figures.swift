import Foundation

/// Puts a measured figure into the log of the run.
func figure(_ text: String) { print("figure: \(text)") }

/// "0.80"
func milliseconds(_ seconds: Double) -> String { String(format: "%.2f", seconds * 1_000) }

/// "2.953 s"
func seconds(_ seconds: Double) -> String { String(format: "%.3f s", seconds) }

/// "median 0.80, 99 of 100 within 2.10, most 3.00 ms (200 samples)"
func summary(_ delays: [Double]) -> String {
    let (middle, high) = (milliseconds(percentile(50, of: delays)), milliseconds(percentile(99, of: delays)))
    return "median \(middle), 99 of 100 within \(high), most \(milliseconds(delays.max() ?? 0)) ms"
        + " (\(delays.count) samples)"
}

func percentile(_ percent: Int, of values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, sorted.count * percent / 100)]
}
