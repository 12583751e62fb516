import Glibc
import InklingConsole

// The state of the handler for fatal signals, made before the handler and never freed. The handler calls only
// async-signal-safe functions.
nonisolated(unsafe) private let savedModes = UnsafeMutablePointer<termios>.allocate(capacity: 1)
nonisolated(unsafe) private let earlierActions = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
nonisolated(unsafe) private let resetBytes = copiedReset()
nonisolated(unsafe) private var isRaw: Int32 = 0

private func copiedReset() -> UnsafeMutableBufferPointer<UInt8> {
    let bytes = Array((Screen.reset + "\r\n").utf8)
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = buffer.initialize(from: bytes)
    return buffer
}

private func restoreAndDie(_ number: Int32) {
    if isRaw != 0 {
        tcsetattr(STDIN_FILENO, TCSANOW, savedModes)
        _ = write(STDOUT_FILENO, resetBytes.baseAddress, resetBytes.count)
    }
    sigaction(number, earlierActions + Int(number), nil)
    raise(number)
}

/// The terminal on standard input and output. The prompt takes the terminal over, and restores its modes.
enum Terminal {
    private static let fatal = [SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGQUIT]

    /// Whether the environment's locale has UTF-8.
    static var knowsUTF8: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"]
        let locale = names.lazy.compactMap { ChatSettings.environment($0) }.first ?? ""
        return locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
    }

    /// Records the terminal's modes, and makes a crash restore them.
    static func prepare() {
        guard tcgetattr(STDIN_FILENO, savedModes) == 0, !resetBytes.isEmpty else { return }
        for number in fatal {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = restoreAndDie
            action.sa_flags = SA_NODEFER
            sigaction(number, &action, earlierActions + Int(number))
        }
    }

    /// Makes keys arrive one by one, without echo and without signals. The function does not wait for written output,
    /// because a blocked terminal would block the program.
    static func enterRawMode() {
        var raw = savedModes.pointee
        raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON)
        raw.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | IEXTEN | ISIG)
        withUnsafeMutableBytes(of: &raw.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        isRaw = 1
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    }

    /// Restores the terminal's recorded modes.
    static func restoreModes() {
        guard isRaw != 0 else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, savedModes)
        isRaw = 0
    }

    /// Restores as much as possible without waiting for a blocked terminal.
    static func abandon() {
        guard isRaw != 0 else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, savedModes)
        let flags = fcntl(STDOUT_FILENO, F_GETFL)
        if flags >= 0 { _ = fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) }
        _ = write(STDOUT_FILENO, resetBytes.baseAddress, resetBytes.count)
        if flags >= 0 { _ = fcntl(STDOUT_FILENO, F_SETFL, flags) }
        isRaw = 0
    }

    /// Whether another job has the terminal.
    static var isOthers: Bool {
        let owner = tcgetpgrp(STDIN_FILENO)
        return owner >= 0 && owner != getpgrp()
    }

    /// Returns the size of the terminal, or 80 by 24 where the size is unknown.
    static func size(_ descriptor: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
