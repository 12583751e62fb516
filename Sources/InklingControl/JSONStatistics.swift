import Foundation
import Inkling

extension Statistics {
    /// The counters as a line, beside "on" and "at" in one object, by their names.
    package var line: String {
        let line = JSONLine(on: "stats").text
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(self), let body = String(data: data, encoding: .utf8),
            body.hasPrefix("{"), body.count > 2
        else { return line }
        return line.dropLast() + "," + body.dropFirst()
    }
}
