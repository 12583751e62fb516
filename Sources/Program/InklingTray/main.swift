import CDesktop

/// The arguments, which `inkling tray` gives.
struct Options {
    var stateDirectory: String?
    /// Whether notifications show the texts of private chats.
    var showsTexts = false
    /// The path of `inkling`, beside this program.
    var program = "inkling"

    private static let longestPath = 4_096

    /// Returns nil if the arguments are wrong.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--show-texts": showsTexts = true
            case "--state-dir":
                guard let directory = rest.popFirst() else { return nil }
                stateDirectory = directory
            default: return nil
            }
        }
        var buffer = [UInt8](repeating: 0, count: Self.longestPath)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0, let slash = buffer[..<count].lastIndex(of: UInt8(ascii: "/")) else { return }
        let beside = String(decoding: buffer[...slash], as: UTF8.self) + "inkling"
        if access(beside, X_OK) == 0 { program = beside }
    }
}

/// Writes a line to standard error.
func report(_ line: String) {
    let bytes = Array(("inkling tray: " + line + "\n").utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}

/// The name of the user's only tray on the session bus. No domain of the project exists, so the name is in none.
let trayName = "invalid.inkling.Tray"

/// The words after the program's name, as the system lists them.
func arguments() -> [String] {
    let file = desktop_open("/proc/self/cmdline")
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while bytes.count < 64 << 10 {
        let count = read(file, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes += buffer[..<count]
    }
    return bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { String(decoding: $0, as: UTF8.self) }
}

guard let options = Options(arguments()) else {
    report("start it with: inkling tray. To see the options: inkling tray --help")
    exit(64)
}
desktop_ignore_closed_pipes()
do throws(Bus.Failure) {
    let bus = try Bus()
    guard try bus.take(trayName) else {
        report("it runs already")
        exit(0)
    }
    let name = "org.kde.StatusNotifierItem-\(getpid())-1"
    guard try bus.take(name) else { throw Bus.Failure(text: "the name \(name) is taken") }
    exit(Tray(options, bus, name: name).run())
} catch {
    report("no session bus can be used (\(DesktopText.name(error.text))); start it in a desktop session")
    exit(1)
}
