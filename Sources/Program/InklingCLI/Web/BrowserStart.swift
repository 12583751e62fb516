import Glibc
import InklingWeb

/// The page in the user's browser, or its address in the terminal.
struct BrowserStart {
    /// The address of the page, with a ticket.
    let link: String
    private let hasDisplay: Bool
    private let opens: Bool

    /// - Parameter opens: Whether to open the browser if there is a display.
    init(_ link: String, opens: Bool) {
        self.link = link
        hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { ChatSettings.environment($0) != nil }
        self.opens = opens
    }

    /// Opens the browser, or prints the address.
    ///
    /// - Returns: The process that opens the browser. If it fails, the caller prints the address.
    func show() -> pid_t? {
        guard opens, hasDisplay else {
            printLink()
            return nil
        }
        do throws(ChildProcess.Failure) {
            let child = try ChildProcess.start(
                "xdg-open", ["xdg-open", link], environment: ChildProcess.environment(), in: .session)
            Output.standard.write(line: "Your browser opens \(Self.origin(of: link)). For another page: inkling web")
            return child
        } catch {
            Output.error.write(line: "inkling: xdg-open can't be started (\(error.text))")
            printLink()
            return nil
        }
    }

    func printLink() {
        // The journal keeps its lines, and others may read it.
        guard !Self.isInJournal else {
            Output.standard.write(line: "The page is at \(Self.origin(of: link)). To open it: inkling web")
            return
        }
        Output.standard.write(line: link)
        Output.standard.write(line: "Open this address within a minute. It works once; for another one: inkling web")
        guard !hasDisplay else { return }
        let place = Self.origin(of: link).dropFirst("http://".count)
        Output.standard.write(line: "From another machine, connect first: ssh -L \(place):\(place) USER@HOST")
    }

    /// Whether standard output goes to the journal of the service manager.
    private static var isInJournal: Bool {
        var status = stat()
        guard let stream = ChatSettings.environment("JOURNAL_STREAM"), fstat(STDOUT_FILENO, &status) == 0 else {
            return false
        }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    private static func origin(of link: String) -> Substring { link.prefix { $0 != "#" }.dropLast() }
}
