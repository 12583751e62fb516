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
            if let autostart { return try Output.standard.answer(switched(autostart)) }
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

extension TrayCommand {
    /// Switches the start at login, and returns what that means.
    private func switched(_ autostart: Switch) throws -> String {
        do throws(TrayAutostart.Failure) {
            return try TrayAutostart(stateDirectory: daemon.stateDir).set(autostart == .on)
        } catch {
            throw CommandFailure(text: error.text)
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

    /// Whether the icon starts at login; nil if the program of the icon is not installed.
    static var isOn: Bool? {
        guard access(InstalledProgram.folder + "inkling-tray", X_OK) == 0 else { return nil }
        return path(environment: ChatSettings.environment).map { access($0, F_OK) == 0 }
    }

    /// The reason why the entry stays as it was, as a sentence.
    struct Failure: Error {
        let text: String
    }

    /// Writes the entry, or removes it. Returns what that means.
    func set(_ isOn: Bool) throws(Failure) -> String {
        guard let path = Self.path(environment: ChatSettings.environment) else {
            throw Failure(text: "There is no place for the entry: set HOME")
        }
        let shown = SafeText.line(path)
        guard isOn else {
            guard unlink(path) == 0 || errno == ENOENT else {
                throw Failure(text: "\(shown) can't be removed (\(String(cString: strerror(errno))))")
            }
            return "The icon no longer starts at login. To start it now: inkling tray"
        }
        guard let text = Self.entry(program: InstalledProgram.folder + "inkling", stateDirectory: absoluteDirectory)
        else {
            throw Failure(text: "No entry can name this program or directory: its path has a line break")
        }
        SmallFile.makeFolders(above: path)
        unlink(path + ".new")
        let file = open(path + ".new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        let isWritten = file >= 0 && Output(descriptor: file).write(Array(text.utf8)) && fsync(file) == 0
        let code = errno
        if file >= 0 { close(file) }
        guard isWritten, rename(path + ".new", path) == 0 else {
            throw Failure(text: "\(shown) can't be written (\(String(cString: strerror(isWritten ? errno : code))))")
        }
        return "The icon starts at each login. To start it now: inkling tray"
    }

    /// The directory that an option names. A login begins in another folder than this program.
    private var absoluteDirectory: String? {
        guard let stateDirectory, !stateDirectory.hasPrefix("/"), let folder = getcwd(nil, 0) else {
            return stateDirectory
        }
        defer { free(folder) }
        return String(cString: folder) + "/" + stateDirectory
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
