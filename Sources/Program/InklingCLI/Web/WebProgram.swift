import ArgumentParser
import Glibc
import InklingControl
import InklingText
import InklingWeb
import NIOCore
import NIOPosix

/// Serves the page on the event loop of the calling thread.
final class WebProgram {
    private let opens: Bool
    private let loop: any EventLoop
    private let tickets: TicketSocket
    private let server: WebServer
    private let finished: () -> Void
    private var signals: SignalPipe?
    private var isEnding = false

    /// The longest time for the answer of a running server, in milliseconds.
    private static let patience: Int64 = 12_000
    /// The longest time in which the browser's start may fail, in milliseconds.
    private static let browserPatience: Int64 = 3_000
    /// The interval of checks, in microseconds and in the unit of the loop.
    private static let (step, opening): (UInt32, TimeAmount) = (20_000, .milliseconds(200))
    /// The longest address of a page, in bytes.
    private static let longestLink = 1 << 10

    /// Serves the page until a signal comes. If a server of this user runs, opens its page.
    ///
    /// - Parameter port: 0 for any free one.
    static func run(port: UInt16, opens: Bool, stateDirectory: String?) throws {
        guard let socket = SocketPath.path(stateDirectory: stateDirectory) else {
            throw CommandFailure(text: "there is no place for the socket; name one with --state-dir DIR")
        }
        let path = String(socket[...(socket.lastIndex(of: "/") ?? socket.startIndex)]) + TicketSocket.name
        let end = Clock.steady + patience
        while true {
            if let tickets = try ticketSocket(at: path) {
                defer { tickets.close() }
                return try serve(tickets, port: port, opens: opens, stateDirectory: stateDirectory)
            }
            // The running server may not listen yet, or end just now.
            if let link = link(from: path) { return open(link, opens: opens) }
            guard Clock.steady < end else {
                throw CommandFailure(text: "inkling web runs already, and does not answer; end it, and try again")
            }
            usleep(step)
        }
    }

    private static func ticketSocket(at path: String) throws -> TicketSocket? {
        do throws(ListeningSocket.Failure) {
            return try TicketSocket(at: path)
        } catch {
            throw CommandFailure(text: "can't listen at \(SafeText.line(path)): \(error.text)")
        }
    }

    /// Asks a running server for the address of its page.
    private static func link(from path: String) -> String? {
        guard let descriptor = try? UnixSocket.connect(to: path) else { return nil }
        defer { close(descriptor) }
        guard UnixSocket.user(of: descriptor) == geteuid(),
            let line = UnixSocket.firstLine(of: descriptor, within: Int32(patience), maximumBytes: longestLink)
        else { return nil }
        let link = String(decoding: line, as: UTF8.self)
        return link.hasPrefix("http://127.") ? link : nil
    }

    /// Opens the page of a running server.
    private static func open(_ link: String, opens: Bool) {
        let start = BrowserStart(link, opens: opens)
        guard let child = start.show() else { return }
        let end = Clock.steady + browserPatience
        while Clock.steady < end {
            if let status = ChildProcess.exitStatus(of: child) {
                if status != 0 { start.printLink() }
                return
            }
            usleep(step)
        }
    }

    private static func serve(_ tickets: TicketSocket, port: UInt16, opens: Bool, stateDirectory: String?) throws {
        let daemon = DaemonStart(stateDirectory: stateDirectory)
        try daemon.ensure()
        var random = SystemRandomNumberGenerator()
        let listener: WebListener
        do throws(WebListener.Failure) {
            listener = try WebListener(port: port, using: &random)
        } catch {
            throw CommandFailure(text: error.text)
        }
        var failure: (any Error)?
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            let program = WebProgram(tickets, listener.address, daemon.access, opens: opens, on: loop) {
                loop.shutdownGracefully { _ in }
            }
            program.start(listener.descriptor) { failure = $0 }
        }
        if let failure { throw CommandFailure(text: "the page can't be served: \(failure)") }
    }

    private init(
        _ tickets: TicketSocket, _ address: WebAddress, _ access: DaemonAccess, opens: Bool, on loop: any EventLoop,
        finished: @escaping () -> Void
    ) {
        self.tickets = tickets
        self.opens = opens
        self.loop = loop
        self.finished = finished
        server = WebServer(at: address, access, on: loop) { Output.error.offer(line: "inkling: " + $0) }
    }

    private func start(_ descriptor: Int32, failed: @escaping (any Error) -> Void) {
        signals = SignalPipe(on: loop) { [self] in receive(signal: $0) }
        do {
            try server.listen(on: descriptor)
        } catch {
            failed(error)
            return stop()
        }
        tickets.listen(on: loop) { [server] in server.link() }
        let start = BrowserStart(server.link(), opens: opens)
        if let child = start.show() { follow(child, start) }
    }

    /// Prints the address if the browser does not open.
    private func follow(_ child: pid_t, _ start: BrowserStart) {
        loop.assumeIsolated().scheduleTask(in: Self.opening) { [self] in
            guard let status = ChildProcess.exitStatus(of: child) else { return follow(child, start) }
            if status != 0 { start.printLink() }
        }
    }

    private func receive(signal: Int32) {
        switch signal {
        case SIGTERM, SIGINT, SIGHUP: stop()
        case SIGTSTP: SignalPipe.stop()
        default: break
        }
    }

    private func stop() {
        guard !isEnding else { return }
        isEnding = true
        tickets.stopListening()
        server.close(finished)
    }
}
