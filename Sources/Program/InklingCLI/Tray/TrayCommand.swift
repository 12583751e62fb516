import ArgumentParser
import Glibc
import InklingText

/// A choice of an option.
enum Switch: String, CaseIterable, ExpressibleByArgument {
    case on, off
}

struct TrayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tray",
        abstract: "Show an icon in the panel, and notifications.",
        discussion: """
            The icon shows whether you are there, and how many messages are unread. A click opens the page. The menu has \
            your chats, "Away" and "Back". A message that no prompt or page shows becomes a notification, with a reply \
            where the desktop offers one. The text of a private chat shows only if you want that.

            The command runs the small program inkling-tray, a front end of your daemon. It starts no daemon until you \
            open the page. It runs once for each user, until "Quit" in its menu or the end of the session.

            inkling tray
            inkling tray --autostart on               starts it at each login
            """)

    @Flag(help: "Show the texts of private chats in notifications.")
    var showTexts = false

    @Option(
        help: ArgumentHelp("Start the icon at each login, or no longer; start nothing now.", valueName: "on or off"))
    var autostart: Switch?

    @OptionGroup var settingsOptions: SettingsOptions
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            if let autostart { return try TrayAutostart(stateDirectory: daemon.stateDir).set(autostart) }
            let shows = try showTexts || settingsOptions.settings().notifiesWithTexts ?? false
            let arguments =
                ["inkling-tray"] + (shows ? ["--show-texts"] : [])
                + (daemon.stateDir.map { ["--state-dir", $0] } ?? [])
            let program = InstalledProgram.folder + "inkling-tray"
            let words = arguments.map { strdup($0) } + [nil]
            let variables = ChildProcess.environment().map { strdup($0) } + [nil]
            // This program becomes the other one.
            execve(program, words, variables)
            let reason = String(cString: strerror(errno))
            throw CommandFailure(
                text: "\(SafeText.line(program)) can't be started (\(reason)); install it beside inkling")
        }
    }
}

/// The programs beside this one.
enum InstalledProgram {
    /// The folder of this program, with a slash at its end.
    static var folder: String {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        let path = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        return String(path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex))
    }
}

/// The entry by which a desktop starts the icon at each login.
package struct TrayAutostart {
    private let stateDirectory: String?

    package init(stateDirectory: String?) { self.stateDirectory = stateDirectory }

    /// The path of the entry; nil for a user without a home.
    package static func path(environment: (String) -> String?) -> String? {
        let name = "/autostart/inkling-tray.desktop"
        if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") { return folder + name }
        return environment("HOME").map { $0 + "/.config" + name }
    }

    /// Writes the entry, or removes it.
    func set(_ choice: Switch) throws {
        guard let path = Self.path(environment: ChatSettings.environment) else {
            throw CommandFailure(text: "there is no place for the entry: set HOME")
        }
        let shown = SafeText.line(path)
        switch choice {
        case .off:
            guard unlink(path) == 0 || errno == ENOENT else {
                throw CommandFailure(text: "\(shown) can't be removed (\(String(cString: strerror(errno))))")
            }
            try Output.standard.answer("The icon no longer starts at login. To start it now: inkling tray")
        case .on:
            guard let text = Self.entry(program: InstalledProgram.folder + "inkling", stateDirectory: stateDirectory)
            else {
                throw CommandFailure(
                    text: "no entry can name this program or directory: it has a line break in its path")
            }
            SmallFile.makeFolders(above: path)
            unlink(path + ".new")
            let file = open(path + ".new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            let isWritten = file >= 0 && Output(descriptor: file).write(Array(text.utf8)) && fsync(file) == 0
            let code = errno
            if file >= 0 { close(file) }
            guard isWritten, rename(path + ".new", path) == 0 else {
                throw CommandFailure(
                    text: "\(shown) can't be written (\(String(cString: strerror(isWritten ? errno : code))))")
            }
            try Output.standard.answer("The icon starts at each login. To start it now: inkling tray")
        }
    }

    /// Returns the text of the entry; nil if it can't name the program or the directory.
    package static func entry(program: String, stateDirectory: String?) -> String? {
        let words = [program, "tray"] + (stateDirectory.map { ["--state-dir", $0] } ?? [])
        let quoted = words.compactMap(quoted)
        guard quoted.count == words.count else { return nil }
        return """
            [Desktop Entry]
            Type=Application
            Version=1.5
            Name=Inkling in the panel
            Comment=Show unread messages in the panel
            Exec=\(quoted.joined(separator: " "))
            Icon=inkling
            Terminal=false

            """
    }

    /// Returns a word as `Exec` has it; nil for one with a line break or another control character.
    ///
    /// Within quotes, a backslash stands before four characters. The file doubles each backslash, and `Exec` each percent
    /// sign.
    private static func quoted(_ word: String) -> String? {
        var result = "\""
        for scalar in word.unicodeScalars {
            switch scalar {
            case "\u{0}"..."\u{1F}", "\u{7F}": return nil
            case "\"", "`", "$": result += "\\\\" + String(scalar)
            case "\\": result += "\\\\\\\\"
            case "%": result += "%%"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
