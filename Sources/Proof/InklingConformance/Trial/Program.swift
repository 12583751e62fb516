import InklingWire

/// The program under test, with its input and output in a trial.
package final class Program {
    /// A line that the program wrote.
    package struct Line {
        package let at: Duration
        package let bytes: [UInt8]
        /// The parsed line; nil if the line is not JSON.
        package let value: JSONValue?

        package var kind: String? { value?["on"]?.string }
    }

    /// The longest time until a program must be ready.
    package static let startLimit = Duration.seconds(20)
    /// The longest time until a program must have ended.
    package static let endLimit = Duration.seconds(5)

    package let id: ProgramID
    package let arguments: ProgramArguments
    package private(set) var lines: [Line] = []
    package private(set) var diagnostics: [String] = []
    package private(set) var exit: (at: Duration, status: ExitStatus)?
    unowned let trial: Trial
    private var ready: JSONValue?
    /// The number of lines written to the program.
    package private(set) var written = 0

    init(id: ProgramID, arguments: ProgramArguments, trial: Trial) {
        self.id = id
        self.arguments = arguments
        self.trial = trial
    }

    // MARK: Starting and ending

    /// Waits for `ready`, and checks the members that all cases need.
    package func awaitReady() throws {
        try trial.wait(
            Program.startLimit, for: "the line `ready` on standard output", actual: { self.silence },
            until: { self.lines.isEmpty && self.exit == nil ? nil : true })
        guard let line = lines.first else {
            throw Finding(expected: "the line `ready` on standard output", actual: silence)
        }
        guard line.kind == "ready", let value = line.value else {
            throw Finding(
                expected: "`ready` as the first line",
                actual: "the first line is \(String(decoding: line.bytes.prefix(200), as: UTF8.self))")
        }
        guard let port = value["port"]?.integer, (1...65_535).contains(port) else {
            throw Finding(expected: "a port from 1 to 65535 in `ready`", actual: describe(value))
        }
        guard let text = value["key"]?.string, (try? PublicKey(base64url: text)) != nil else {
            throw Finding(expected: "the public key in base64url in `ready`", actual: describe(value))
        }
        ready = value
    }

    private var silence: String {
        if let exit { return "the program ended: \(exit.status)" + (diagnostics.last.map { "; it said: \($0)" } ?? "") }
        return "nothing came" + (diagnostics.last.map { "; it said on standard error: \($0)" } ?? "")
    }

    /// Ends the case as unsupported if the program lacks one of these features.
    package func need(_ features: [Feature]) throws {
        let left = Set((readyLine["unsupported"]?.array ?? []).compactMap(\.string))
        for feature in features where left.contains(feature.rawValue) { throw Unsupported(feature: feature) }
    }

    package func need(_ features: Feature...) throws { try need(features) }

    /// The members of `ready`.
    package var readyLine: JSONValue { ready ?? .null }
    /// The address at which the program receives datagrams.
    package var address: UDPAddress { address(at: "127.0.0.1") }
    package func address(at host: String) -> UDPAddress {
        UDPAddress(host: host, port: readyLine["port"]?.integer ?? 0)
    }
    package var key: PublicKey {
        guard let key = readyLine["key"]?.string.flatMap({ try? PublicKey(base64url: $0) }) else {
            preconditionFailure("awaitReady() has checked the key")
        }
        return key
    }
    package var user: String { key.userID.description }

    /// Waits until the program has ended.
    package func awaitExit(_ limit: Duration = endLimit) throws -> ExitStatus {
        try trial.wait(limit, for: "the program ends", actual: { "it still runs" }, until: { self.exit?.status })
    }

    package func signal(_ signal: ProgramSignal) { trial.stage.signal(signal, to: id) }

    package func closeInput() { trial.stage.closeInput(of: id) }

    // MARK: Commands

    /// Writes a line of JSON.
    package func tell(_ command: JSONValue) { feed(trial.stage.encode(command)) }

    /// Writes a line unchanged.
    package func feed(_ line: [UInt8]) {
        written += 1
        trial.stage.feed(line, to: id)
    }

    package func compose(_ text: String, chat: String? = nil) {
        tell(Program.command("compose", ["text": .string(text)], chat: chat))
    }

    package func send(_ text: String, tag: String? = nil, chat: String? = nil) {
        var members: [String: JSONValue] = ["text": .string(text)]
        if let tag { members["tag"] = .string(tag) }
        tell(Program.command("send", members, chat: chat))
    }

    private static func command(_ name: String, _ members: [String: JSONValue], chat: String?) -> JSONValue {
        var members = members
        members["do"] = .string(name)
        if let chat { members["chat"] = .string(chat) }
        return .object(members)
    }

    // MARK: Output

    func receive(_ bytes: [UInt8], _ value: JSONValue?, at: Duration) {
        lines.append(Line(at: at, bytes: bytes, value: value))
    }

    func receiveDiagnostic(_ text: String, at: Duration) { diagnostics.append(text) }

    func receiveExit(_ status: ExitStatus, at: Duration) { exit = (at, status) }

    /// The objects of a kind, with their times.
    package func events(_ kind: String, since start: Duration = .zero) -> [(at: Duration, value: JSONValue)] {
        lines.compactMap { line in
            guard line.at >= start, line.kind == kind, let value = line.value else { return nil }
            return (line.at, value)
        }
    }

    /// Waits for an object of a type that arrived after `start` and for which `fits` is true.
    @discardableResult
    package func await(
        _ kind: String, within limit: Duration = .seconds(5), since start: Duration = .zero,
        _ expected: @autoclosure () -> String? = nil, where fits: (JSONValue) -> Bool = { _ in true }
    ) throws -> (at: Duration, value: JSONValue) {
        let expected = expected() ?? "an object `\(kind)`"
        return try trial.wait(limit, for: expected, actual: { self.lastWords(kind) }) {
            if let exit { throw Finding(expected: expected, actual: "the program ended: \(exit.status)") }
            return events(kind, since: start).first { fits($0.value) }
        }
    }

    private func lastWords(_ kind: String) -> String {
        if let last = events(kind).last { return "the last one was \(describe(last.value))" }
        return "no such object came" + (diagnostics.last.map { "; on standard error: \($0)" } ?? "")
    }

    /// Returns whether the program shows a person as typing now.
    package func shows(typing user: String, in chat: String? = nil) -> Bool {
        let last = events("typing").last { $0.value["chat"]?.string == (chat ?? arguments.chat) }
        return last?.value["users"]?.array?.contains { $0["user"]?.string == user } ?? false
    }

    /// Returns each change between showing a person as typing and not.
    package func typingChanges(
        of user: String, since start: Duration = .zero, in chat: String? = nil
    ) -> [(at: Duration, shown: Bool)] {
        var changes: [(at: Duration, shown: Bool)] = []
        var shown = false
        for event in events("typing") where event.value["chat"]?.string == (chat ?? arguments.chat) {
            let isShown = event.value["users"]?.array?.contains { $0["user"]?.string == user } ?? false
            if isShown != shown, event.at >= start { changes.append((event.at, isShown)) }
            shown = isShown
        }
        return changes
    }

    /// Returns the last reported presence of a person; nil before the first report.
    package func presence(of user: String, in chat: String? = nil) -> String? {
        peerEvents(user, in: chat).last?.value["presence"]?.string
    }

    package func peerEvents(
        _ user: String, in chat: String? = nil, since start: Duration = .zero
    ) -> [(at: Duration, value: JSONValue)] {
        events("peer", since: start).filter {
            $0.value["user"]?.string == user && $0.value["chat"]?.string == (chat ?? arguments.chat)
        }
    }

    /// Waits until a person has a presence, and returns the event that reported it.
    @discardableResult
    package func awaitPresence(
        _ presence: String, of user: String, within limit: Duration = .seconds(5), in chat: String? = nil
    ) throws -> (at: Duration, value: JSONValue) {
        try trial.wait(
            limit, for: "`peer` says that \(user) is \(presence)",
            actual: { "the last presence is \(self.presence(of: user, in: chat) ?? "none")" },
            until: {
                let last = peerEvents(user, in: chat).last
                return last?.value["presence"]?.string == presence ? last : nil
            })
    }

    /// Returns the texts of the messages that the program showed from a person.
    package func messages(from user: String, since start: Duration = .zero, in chat: String? = nil) -> [String] {
        events("message", since: start).filter {
            $0.value["from"]?["user"]?.string == user && $0.value["chat"]?.string == (chat ?? arguments.chat)
        }.compactMap { $0.value["text"]?.string }
    }

    /// Returns a line in a short form for reports.
    package func describe(_ value: JSONValue) -> String {
        let text = String(decoding: trial.stage.encode(value), as: UTF8.self)
        return text.count <= 300 ? text : text.prefix(300) + "…"
    }
}

/// Requests with an `id`, and the program's answers.
extension Program {
    /// The lines that have an `id`, in their order.
    package var answers: [(id: JSONValue, value: JSONValue)] {
        lines.compactMap { line in
            guard let value = line.value, let id = value["id"] else { return nil }
            return (id, value)
        }
    }

    /// Waits for the first line with an `id`, and returns it.
    package func awaitAnswer(_ id: JSONValue, to request: JSONValue) throws -> JSONValue {
        try trial.wait(
            .seconds(5), for: "a line with the `id` of \(describe(request))", actual: { "no such line came" },
            until: {
                if let exit { throw Finding(expected: "an answer", actual: "the program ended: \(exit.status)") }
                return answers.first { $0.id == id }?.value
            })
    }

    /// Sends a request with a new `id`, and waits for its answer.
    package func ask(_ members: [String: JSONValue]) throws -> JSONValue {
        var members = members
        members["id"] = .string("ask \(written)")
        let request = JSONValue.object(members)
        tell(request)
        return try awaitAnswer(.string("ask \(written - 1)"), to: request)
    }

    /// Sends a request with an `id`, and fails unless the answer is a line of that type.
    @discardableResult
    package func ask(_ members: [String: JSONValue], expecting kind: String) throws -> JSONValue {
        let answer = try ask(members)
        guard answer["on"]?.string == kind else {
            throw Finding(expected: "`\(kind)` for \(describe(.object(members)))", actual: describe(answer))
        }
        return answer
    }

    /// Sends a request with an `id`, and fails unless the answer is an error with that code.
    package func ask(_ members: [String: JSONValue], refusedWith code: String) throws {
        let answer = try ask(members, expecting: "error")
        guard answer["code"]?.string == code, answer["line"]?.integer == written, answer["text"]?.string != nil else {
            throw Finding(
                expected: "the code `\(code)` with the line \(written) for \(describe(.object(members)))",
                actual: describe(answer))
        }
    }
}

extension Trial {
    /// Starts a program whose requests are answered, or ends the case as unsupported.
    package func startAnswering(_ arguments: ProgramArguments, needs features: [Feature]) throws -> Program {
        let program = try start(arguments)
        guard program.readyLine["interface"] != nil else { throw Unsupported(feature: .interface) }
        try program.need(features)
        return program
    }

    /// Starts a program like ``startAnswering(_:needs:)``, in a chat that no other case uses.
    package func startAnswering(needs features: Feature...) throws -> Program {
        try startAnswering(ProgramArguments(chat: chatName), needs: features)
    }
}

/// The check whether the program under test becomes ready (J-3). Without it, each case would wait for the program in
/// vain.
package enum StartCheck {
    /// The number of failed starts after which the suite stops. A single failure may be chance.
    package static let tries = 2

    /// Returns the finding of the last try, or nil if the program became ready. `onStage` runs a try on a new stage,
    /// and ends that stage.
    package static func finding(seed: UInt64, onStage: ((any Stage) -> Finding?) -> Finding?) -> Finding? {
        var finding: Finding?
        for number in 0..<tries {
            finding = onStage { start(on: $0, seed: seed &+ UInt64(number)) }
            if finding == nil { return nil }
        }
        return finding
    }

    private static func start(on stage: any Stage, seed: UInt64) -> Finding? {
        do {
            _ = try Trial(stage: stage, seed: seed).start()
            return nil
        } catch let finding as Finding {
            return finding
        } catch {
            return Finding(expected: "the program starts", actual: "\(error)")
        }
    }
}
