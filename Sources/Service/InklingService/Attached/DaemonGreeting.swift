import InklingModel

/// The first line of a daemon: its description, or the reason for refusing the front end.
package enum DaemonGreeting: Equatable, Sendable {
    case ready(Ready)
    case refusal(NodeError)

    /// A daemon's description of itself.
    package struct Ready: Equatable, Sendable {
        /// The device and inode of the daemon's state directory.
        package var state: String
        /// The version of the daemon's program.
        package var version: String
        /// The version of the daemon's interface.
        package var interface: Int
        /// The UDP port of the daemon's node.
        package var port: UInt16
        /// Whether a prompt listens, and no daemon.
        package var isHolder: Bool

        package init(state: String, version: String, interface: Int, port: UInt16, isHolder: Bool = false) {
            self.state = state
            self.version = version
            self.interface = interface
            self.port = port
            self.isHolder = isHolder
        }

        /// Returns the reason why a front end can't use the daemon, or nil.
        ///
        /// - Parameter state: The device and inode of the state directory that the daemon must have; nil for any.
        package func obstacle(state wanted: String?) -> AttachedNode.Failure? {
            if let wanted, wanted != state { return .otherState(state) }
            // A front end refuses a higher number than it knows.
            return interface > interfaceVersion ? .newerInterface(interface, version: version) : nil
        }
    }

    /// Parses the first line of a daemon; nil for a line that no daemon writes first.
    package init?(line: [UInt8]) {
        guard let members = try? JSONMembers(line) else { return nil }
        self.init(members)
    }

    init?(_ line: JSONMembers) {
        switch line["on"]?.string {
        case "ready":
            // A later interface may have other members: the front end reads what it needs to say so.
            guard let state = line.text("state"), let interface = line.number("interface"),
                let port = line["port"].flatMap(UInt16.init)
            else { return nil }
            self = .ready(
                Ready(
                    state: state, version: line.text("version") ?? "", interface: interface, port: port,
                    isHolder: line["holder"] == .boolean(true)))
        case "error":
            self = .refusal(.other(code: line["code"]?.string ?? "", text: line["text"]?.string ?? ""))
        default: return nil
        }
    }
}
