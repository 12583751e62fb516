import Inkling

// The library reports facts. This file adds the advice about the program's options and commands.

extension NodeError {
    /// The failure with its advice, in one line.
    package var text: String {
        if case .stateDirectory(let fault) = self { return fault.text }
        let advice = optionAdvice ?? advice
        return advice.isEmpty ? fact : fact + " " + advice
    }

    /// The advice; nil if no option or command helps.
    private var optionAdvice: String? {
        switch self {
        case .name: "Choose another with --name."
        case .secret: "Make one with \"inkling invite NAME\"; a passphrase can't be a secret."
        case .invite: "Copy the whole invite: it looks like inkling:NAME#SECRET. \"inkling invite NAME\" makes one."
        case .portTaken: "Choose another with --port, or leave it out to get a free one."
        case .portNotAllowed: "Choose one above 1023 with --port."
        case .bindAddress: "Choose one of its addresses with --bind, or leave it out."
        case .socket: "Run \"inkling doctor\" to find the cause."
        case .identityText: "Make one with \"inkling identity export FILE\"."
        case .identityExists:
            "Keep a copy of it with \"inkling identity export FILE\", then replace it with --force."
        case .stateDirectoryInUse: "End it first; a daemon ends by \"inkling stop\"."
        default: nil
        }
    }
}

extension StateDirectoryFault {
    /// The failure with its advice, in one line.
    package var text: String {
        let advice =
            switch self {
            case .corrupt: advice
            case .newer: "Use that version, or choose another directory with --state-dir."
            case .unreadable: "Make it readable, or choose another directory with --state-dir."
            case .foreign: "Choose another directory with --state-dir."
            case .shared:
                "Choose another directory with --state-dir, or revoke their access: chmod go-w."
            case .unwritable: "Make it writable, or choose another with --state-dir."
            case .noHome: "Set HOME, or choose a directory with --state-dir."
            }
        return fact + " " + advice
    }
}

extension Notice {
    /// The failure with its advice, in one line. Names in the text are unsafe, as their owners sent them.
    package var text: String {
        switch self {
        case .discoveryDown(let outage): outage.text
        case .identityTemporary(let reason): reason.text
        case .reachableOnLink: fact + " To let others in, name them with --peer, or accept all with --routed."
        default: description
        }
    }
}

extension DiscoveryOutage {
    /// The failure with its advice, in one line.
    package var text: String {
        let advice =
            switch self {
            case .absent: "Start dbus-daemon and avahi-daemon, or add peers with --peer HOST:PORT."
            case .gone: "Start avahi-daemon again (it needs dbus-daemon), or add peers with --peer HOST:PORT."
            case .refused: advice
            case .noThread: "Raise its limits, or add peers with --peer HOST:PORT."
            }
        return fact + " " + advice
    }
}

extension TemporaryIdentity {
    /// The failure with its advice, in one line.
    package var text: String {
        let advice =
            switch self {
            case .inUse:
                "To join another chat, use /join in the other program; to share one identity among programs, run \"inkling "
                    + "daemon\"; for a separate identity, use --state-dir."
            case .unwritable: "Make it writable, or choose another with --state-dir."
            case .noHome: "Set HOME, or choose a directory with --state-dir."
            }
        return fact + " " + advice
    }
}
