import Inkling
import InklingText

/// Prints notices on standard error, for commands whose output has its own form.
struct NoticePrinter {
    /// The most warnings about known names with different keys, each on its own line.
    private static let mostKeyWarnings = 3

    private var keyWarnings = 0

    mutating func print(_ notice: Notice) {
        switch notice {
        // The command says goodbye itself, so this notice matters only after a crash.
        case .lastWillOff: return
        case .keyChanged:
            keyWarnings += 1
            guard keyWarnings <= Self.mostKeyWarnings else {
                if keyWarnings == Self.mostKeyWarnings + 1 {
                    write("more people use names you know, but their keys are different")
                }
                return
            }
        default: break
        }
        write(SafeText.line(notice.text))
    }

    private func write(_ text: String) { Output.error.write(line: "inkling: " + text) }
}
