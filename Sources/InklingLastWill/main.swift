// The helper of the last will: it keeps finished farewells of a node, and sends them when the node dies without one.
//
// The node writes to standard input, one message of a SOCK_SEQPACKET socket each; descriptor 3 is the node's own UDP
// socket. It holds no keys. Messages:
//   1, session u32, length of the socket address u8, socket address, datagram    keep, in place of the one before
//   2, session u32                                                               forget
//   3                                                                            the node says its farewells itself
import Glibc

private let control: CInt = 0
private let udp: CInt = 3

/// A datagram and where it goes.
private struct Will {
    let name: [UInt8]
    let datagram: [UInt8]
}

/// Waits until every message was read, and returns what there is to send.
private func collect() -> [Will] {
    var wills: [[UInt8]: Will] = [:]
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = recv(control, &buffer, buffer.count, 0)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { break }
        let message = buffer[..<count]
        switch (message[0], count) {
        case (1, 6...) where count > 6 + Int(message[5]):
            let name = 6 + Int(message[5])
            wills[Array(message[1..<5])] = Will(name: Array(message[6..<name]), datagram: Array(message[name...]))
        case (2, 5):
            wills[Array(message[1..<5])] = nil
        case (3, _):
            return []
        default:
            continue
        }
    }
    return Array(wills.values)
}

/// Seconds of a clock that never goes back.
private func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func send(_ wills: [Will], until end: Double) {
    for will in wills {
        for _ in 0..<3 {
            guard now() < end else { return }
            let sent = will.name.withUnsafeBytes { name in
                will.datagram.withUnsafeBytes { datagram in
                    sendto(
                        udp, datagram.baseAddress, datagram.count, 0,
                        name.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(name.count))
                }
            }
            guard sent < 0, errno == EAGAIN || errno == EINTR else { break }
            var writable = pollfd(fd: udp, events: Int16(POLLOUT), revents: 0)
            poll(&writable, 1, 10)
        }
    }
}

// What ends or stops the node at its terminal must not end this before its work is done.
for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2] {
    signal(number, SIG_IGN)
}
private let wills = collect()
if !wills.isEmpty {
    // It outlives its node by less than a second, whatever the network takes.
    let end = now() + 0.9
    for pause: UInt32 in [0, 30_000, 90_000] {
        usleep(pause)
        send(wills, until: end)
    }
}
