import Foundation

/// A terminal on a host, with a shell in it. The program tmux provides the terminal.
final class RealTerminal: Sendable {
    private let host: Host
    private let socket: String
    private let home: String
    private let isRoots: Bool

    /// Opens a terminal with a shell. The shell continues after its commands have ended.
    ///
    /// - Parameter asRoot: Whether root uses the terminal, instead of the host's ordinary user.
    init(
        on host: Host, columns: Int = 80, rows: Int = 24, home: String = "home", asRoot: Bool = false
    ) async throws {
        self.host = host
        (self.home, isRoots) = (home, asRoot)
        socket = "/run/terminal-\(home)"
        let script = """
            mkdir -p /run/\(home)
            printf 'set -g history-limit 10000\\nset -g status off\\nset -sg escape-time 0\\n' >/run/terminal.conf
            cd /run/\(home)
            env -u XDG_CONFIG_HOME -u XDG_STATE_HOME -u XDG_RUNTIME_DIR -u NO_COLOR -u TMUX HOME=/run/\(home) PS1='$ ' LC_ALL=C.UTF-8 tmux -u -S \(socket) -f /run/terminal.conf \
            new-session -d -x \(columns) -y \(rows) sh
            """
        _ = try await (asRoot ? host.run(script) : host.runAsUser(script))
    }

    /// Starts a chat under a name.
    func chat(_ chat: String, as name: String) async throws {
        try await enter("\(try NodeProcess.program()) chat \(chat) --name \(name)")
    }

    /// Types a line, and presses Enter.
    func enter(_ line: String) async throws {
        try await type(line)
        try await press("Enter")
    }

    /// Types a text in one piece.
    func type(_ text: String) async throws { try await tmux("send-keys", "-l", "--", text) }

    /// Presses keys by their names in tmux.
    func press(_ keys: String...) async throws { try await tmux(["send-keys"] + keys) }

    /// Pastes a text in the way of a terminal.
    func paste(_ text: String) async throws {
        try await tmux("set-buffer", "--", text)
        try await tmux("paste-buffer", "-p", "-d")
    }

    func resize(columns: Int, rows: Int = 24) async throws {
        try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    }

    /// Returns the visible rows, without empty rows at the bottom.
    func screen() async throws -> [String] { try await captured(["-p"]) }

    /// Returns all rows, including those scrolled out of view. Rows that the terminal broke are joined.
    func everything() async throws -> [String] { try await captured(["-p", "-J", "-S", "-"]) }

    /// Waits for a matching screen, and returns the screen.
    @discardableResult
    func wait(
        _ what: String, within seconds: Double = 5, where fits: ([String]) -> Bool
    ) async throws -> [String] {
        let deadline = now() + seconds
        while true {
            let screen = try await screen()
            if fits(screen) { return screen }
            if now() > deadline {
                throw HarnessError("no \(what) in \(seconds) s:\n" + screen.joined(separator: "\n"))
            }
            try await pause(0.01)
        }
    }

    private func captured(_ options: [String]) async throws -> [String] {
        var rows = try await tmux(["capture-pane"] + options).split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).withoutBlankEnd }
        while rows.last == "" { rows.removeLast() }
        return rows
    }

    @discardableResult
    private func tmux(_ arguments: String...) async throws -> String { try await tmux(arguments) }

    @discardableResult
    private func tmux(_ arguments: [String]) async throws -> String {
        let command = ["tmux", "-u", "-S", socket] + arguments
        return try await InklingNetworkTests.run(isRoots ? host.rootCommand(command) : host.command(command))
    }
}

extension [String] {
    /// Returns whether a line shows a text, after any time and with any break at the terminal's edge.
    func has(_ text: String) -> Bool {
        let words = { (text: String) in text.replacing(#/\s+/#, with: "") }
        // The time at the beginning of a line is not part of the text. Its digits do not continue the line before.
        let lines = map { row in
            let rest = row.trimmingPrefix(#/[0-9]{2}:[0-9]{2} /#)
            return (rest.count < row.count ? "\n" : "") + words(String(rest))
        }
        return lines.joined().contains(words(text))
    }
}

extension String {
    /// The row without trailing blanks, which tmux can't tell from unwritten cells.
    var withoutBlankEnd: String { replacing(#/ +$/#, with: "") }
}
