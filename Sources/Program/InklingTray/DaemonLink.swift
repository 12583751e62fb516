import CDesktop

/// The connection to the daemon of a state directory, or to the prompt that holds it.
///
/// While neither runs, the link waits for a change of the directory, without a timer.
final class DaemonLink {
    enum Event {
        /// A daemon answers. The argument is its first line.
        case attached(JSONMembers)
        case line(String, JSONMembers)
        case detached
    }

    private enum Phase {
        /// The link waits for a change of the directory.
        case absent
        /// A daemon may begin or come back: the link tries until then.
        case trying(next: Int64, until: Int64)
        case greeting(Int32)
        case attached(Int32)
    }

    /// The highest version of the interface that this program knows.
    private static let interface = 1
    /// The interval of tries and their longest time, in milliseconds.
    private static let (pause, patience): (Int64, Int64) = (200, 6_000)
    /// The interval of tries where the system can't report changes, and after a refusal.
    private static let longPause: Int64 = 15_000
    /// The longest line. A list of people has at most some hundred bytes for each of 1,024.
    private static let longestLine = 4 << 20
    /// The most output that waits for the daemon, in bytes.
    private static let mostOutput = 1 << 20

    private let places: StatePlaces
    private let receive: (Event) -> Void
    private let report: (String) -> Void
    private var phase = Phase.absent
    private let changes = desktop_begin_watching()
    private var watch: Int32 = -1
    private var splitter = LineSplitter(longest: longestLine)
    private var output: [UInt8] = []
    /// The receivers of answers, by the number of the request.
    private var waiting: [Int: (JSONMembers) -> Void] = [:]
    private var nextNumber = 1
    private var reported: String?

    /// - Parameter report: Called with a line for standard error.
    init(_ places: StatePlaces, report: @escaping (String) -> Void, receive: @escaping (Event) -> Void) {
        self.places = places
        self.report = report
        self.receive = receive
    }

    func start() { search() }

    /// Searches for a daemon that the user starts now.
    func expect() {
        if case .absent = phase { phase = .trying(next: Clock.now, until: Clock.now + Self.patience) }
    }

    var isAttached: Bool { if case .attached = phase { true } else { false } }

    /// The descriptor to wait for, and whether output waits for it.
    var descriptor: (Int32, hasOutput: Bool)? {
        switch phase {
        case .absent, .trying: changes >= 0 ? (changes, false) : nil
        case .greeting(let socket), .attached(let socket): (socket, !output.isEmpty)
        }
    }

    /// When to call ``tick()``; nil for never.
    var deadline: Int64? { if case .trying(let next, _) = phase { next } else { nil } }

    func tick() {
        guard case .trying(let next, let end) = phase, next <= Clock.now else { return }
        search(until: end)
    }

    // MARK: Search

    /// Connects to the daemon. Without one, the link tries until a time, and then waits for a change.
    private func search(until end: Int64 = 0) {
        // A socket that comes after the tries is a change.
        let isWatching = rearm()
        for path in places.isInUse ? places.sockets : [] {
            let socket = desktop_connect(path)
            guard socket >= 0 else { continue }
            phase = .greeting(socket)
            return
        }
        let now = Clock.now
        if now < end {
            phase = .trying(next: now + Self.pause, until: end)
        } else if isWatching {
            phase = .absent
        } else {
            phase = .trying(next: now + Self.longPause, until: now + Self.longPause)
        }
    }

    /// Watches the directory, or the nearest folder above it. Returns false if the system can't.
    private func rearm() -> Bool {
        guard changes >= 0, let place = places.watched else { return false }
        let new = desktop_watch(changes, place)
        if watch >= 0, watch != new { inotify_rm_watch(changes, watch) }
        watch = new
        return new >= 0
    }

    /// Reads the changes. Returns whether one is about a daemon's socket, or a folder above it.
    private func isSocketChanged() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var isChanged = false
        while true {
            let count = read(changes, &buffer, buffer.count)
            guard count > 0 else { return isChanged }
            var place = 0
            let head = MemoryLayout<inotify_event>.size
            while place + head <= count {
                var event = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: inotify_event.self) }
                let end = min(place + head + Int(event.len), count)
                let name = String(decoding: buffer[(place + head)..<end].prefix { $0 != 0 }, as: UTF8.self)
                // While the directory is missing, each new folder may lead to it.
                isChanged =
                    isChanged || name == "socket" || places.watched != places.directory || event.len == 0
                    || desktop_is_folder(&event) != 0
                place = end
            }
        }
    }

    // MARK: Lines

    /// Reads and writes what is possible.
    func process() {
        switch phase {
        case .absent: if isSocketChanged() { search(until: Clock.now + Self.patience) }
        case .trying: if isSocketChanged() { tick() }
        case .greeting(let socket), .attached(let socket):
            flush()
            receive(from: socket)
        }
    }

    private func receive(from socket: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while let current, current == socket {
            let count = desktop_receive(socket, &buffer, buffer.count)
            if count < 0, desktop_error() == EINTR { continue }
            if count < 0, desktop_error() == EAGAIN { return }
            guard count > 0 else { return detach(retries: true) }
            for piece in splitter.feed(Array(buffer[..<count])) {
                guard case .line(let bytes, _) = piece, let members = try? JSONMembers(bytes) else { continue }
                receive(members)
                guard current == socket else { return }
            }
        }
    }

    /// The connection's descriptor, if there is one.
    private var current: Int32? {
        switch phase {
        case .absent, .trying: nil
        case .greeting(let socket), .attached(let socket): socket
        }
    }

    private func receive(_ line: JSONMembers) {
        guard let kind = line["on"]?.text else { return }
        if case .greeting(let socket) = phase {
            if let obstacle = obstacle(kind, line) {
                if reported != obstacle { report(obstacle) }
                reported = obstacle
                return detach(retries: false)
            }
            reported = nil
            phase = .attached(socket)
            receive(.attached(line))
        } else if let number = line["id"]?.integer, let answer = waiting.removeValue(forKey: number) {
            answer(line)
        } else {
            receive(.line(kind, line))
        }
    }

    /// The reason why this program can't use the daemon with this first line; nil if it can.
    private func obstacle(_ kind: String, _ line: JSONMembers) -> String? {
        guard kind == "ready" else {
            return "the daemon refuses this program: " + DesktopText.name(line["text"]?.text ?? "no reason is known")
        }
        guard let interface = line["interface"]?.integer, interface <= Self.interface else {
            return "the daemon is of a newer version; start inkling tray again"
        }
        return line["state"]?.text == places.state ? nil : "the daemon has another state directory; end it first"
    }

    private func detach(retries: Bool) {
        let wasAttached = isAttached
        if let current { close(current) }
        splitter = LineSplitter(longest: Self.longestLine)
        (output, waiting) = ([], [:])
        let now = Clock.now
        // After a prompt's end, another prompt takes its place within some seconds.
        phase =
            retries
            ? .trying(next: now + Self.pause, until: now + Self.patience)
            : .trying(next: now + Self.longPause, until: now + Self.longPause)
        if wasAttached { receive(.detached) }
    }

    // MARK: Requests

    /// Sends a request. Its members are texts, apart from those with a number or a flag.
    func ask(_ request: [(String, RequestValue)], answer: ((JSONMembers) -> Void)? = nil) {
        guard isAttached else { return }
        var request = request
        if let answer {
            request.append(("id", .number(nextNumber)))
            waiting[nextNumber] = answer
            nextNumber += 1
        }
        output += RequestValue.line(request)
        guard output.count <= Self.mostOutput else { return detach(retries: true) }
        flush()
    }

    private func flush() {
        guard let current else { return }
        while !output.isEmpty {
            let count = desktop_send(current, output, output.count)
            if count < 0, desktop_error() == EINTR { continue }
            // The end of the connection shows when the link reads.
            guard count > 0 else { return }
            output.removeFirst(count)
        }
    }
}

/// A value of a request.
enum RequestValue {
    case text(String)
    case texts([String])
    case number(Int)

    /// Returns a request as a line.
    static func line(_ members: [(String, RequestValue)]) -> [UInt8] {
        let parts = members.map { quoted($0) + ":" + $1.json }
        return Array(("{" + parts.joined(separator: ",") + "}\n").utf8)
    }

    private var json: String {
        switch self {
        case .text(let text): Self.quoted(text)
        case .texts(let texts): "[" + texts.map(Self.quoted).joined(separator: ",") + "]"
        case .number(let number): String(number)
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

/// The values of members that this program reads; nil for those of another type.
extension JSONElement {
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var isTrue: Bool { self == .boolean(true) }
    var integer: Int? { if case .number(let digits) = self { Int(digits) } else { nil } }
    var objects: [JSONMembers] {
        guard case .array(let elements) = self else { return [] }
        return elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
    }
    var object: JSONMembers? { if case .object(let members) = self { members } else { nil } }
}
