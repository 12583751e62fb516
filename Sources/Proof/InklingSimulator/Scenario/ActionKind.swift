extension Scenario.Action {
    /// The kind of an action, without its target and duration.
    package enum Kind: Sendable {
        case edit, empty, send, open, join, leave, goAway, comeBack, rename, block, unblock
        case quit, crash, crashWithLastWill, start, suspend, resume, pause, sleep
        case snapshot, revert
        case unplug, partition, clog, holdBack, move, swapAddresses, flap, doubt
        case remove, handOver, renew, rush, leak, forge, disown, confess
    }

    package var kind: Kind {
        switch self {
        case .edit: .edit
        case .empty: .empty
        case .open: .open
        case .send: .send
        case .join: .join
        case .leave: .leave
        case .goAway: .goAway
        case .comeBack: .comeBack
        case .rename: .rename
        case .block: .block
        case .unblock: .unblock
        case .quit: .quit
        case .crash(let will): will ? .crashWithLastWill : .crash
        case .start: .start
        case .suspend: .suspend
        case .resume: .resume
        case .pause: .pause
        case .sleep: .sleep
        case .unplug: .unplug
        case .partition: .partition
        case .clog: .clog
        case .move: .move
        case .holdBack: .holdBack
        case .snapshot: .snapshot
        case .revert: .revert
        case .swapAddresses: .swapAddresses
        case .flap: .flap
        case .doubt: .doubt
        case .remove: .remove
        case .handOver: .handOver
        case .renew: .renew
        case .rush: .rush
        case .leak: .leak
        case .forge: .forge
        case .disown: .disown
        case .confess: .confess
        }
    }
}
