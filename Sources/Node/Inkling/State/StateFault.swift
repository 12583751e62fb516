/// Damage of `state.db`, or a failure that lasts until the next start.
package enum StateFault: Hashable, Sendable {
    /// The file was damaged, and is now at `aside`. Without that path, single records were damaged. Without `copy`, only
    /// what could be read is left.
    case damaged(path: String, aside: String?, copy: String?)
    /// The file was an older copy, and has now what came later too.
    case older(path: String, copy: String)
    /// The file was missing, and was made from its copy.
    case restored(path: String, copy: String)
    /// The file and its copy are gone.
    case missing(path: String)
    /// The file can't be used. Whether nothing in it could be read.
    case unusable(path: String, reason: String, isEmpty: Bool)
    /// A file of an earlier version was damaged, and is now at that path.
    case earlier(path: String)
    /// The identity was missing, and a new one takes its place.
    case newIdentity(path: String)
    /// Files of an earlier version came back after the import.
    case putBack([String], directory: String)
    /// The copy could not be renewed, and is gone.
    case notCopied(copy: String, reason: String)
    /// A change could not be written.
    case notKept(reason: String)

    /// The code of the notice.
    package var code: String {
        switch self {
        case .damaged, .older, .restored, .missing, .earlier: "state-damaged"
        case .unusable: "state-unusable"
        case .newIdentity: "identity-new"
        case .putBack: "state-earlier"
        case .notCopied: "state-not-copied"
        case .notKept: "state-not-kept"
        }
    }

    /// A text for the user, with the fault and the remedy.
    package var text: String {
        let look = "Look whether those whom you verified or blocked, and your chats, are all there"
        let lost = "Verify and block people again, and join your private chats by their invites."
        return switch self {
        case .damaged(let path, let aside?, let copy?):
            "\(path) was damaged. Inkling made it again from the readable part and from \(copy). \(look). The "
                + "damaged file is now \(aside): remove it if you don't need it."
        case .damaged(let path, let aside?, nil):
            "\(path) was damaged, and no copy of it can be read. Inkling saved the part that it could read. \(look). "
                + "The damaged file is now \(aside): remove it if you don't need it."
        case .damaged(let path, nil, _): "A part of \(path) can't be read. \(look)."
        case .older(let path, let copy):
            "\(path) is an older copy. Inkling added the later part from \(copy). \(look). "
                + "Chats that you left since may be back."
        case .restored(let path, let copy): "\(path) was missing. Inkling made it again from \(copy). \(look)."
        case .missing(let path):
            "\(path) is missing, and with it the people whom you know and your chats. If you have a copy, end Inkling, put it "
                + "back, and start again. Otherwise: \(lost)"
        case .unusable(let path, let reason, true):
            "\(path) can't be used: \(reason). In this run Inkling knows no chat of yours, nobody shows as verified or "
                + "blocked, and nothing is kept. Repair or move the file, and start Inkling again."
        case .unusable(let path, let reason, false):
            "\(path) can't be written: \(reason). The next start forgets your decisions of this run. Remove the cause, and start "
                + "Inkling again."
        case .earlier(let path):
            "\(path) is of an earlier version and damaged, so its content is missing. \(lost)"
        case .newIdentity(let path):
            "\(path) was missing, so you have a new identity: others see somebody new, and chats that you own belong to your "
                + "former key. If you have a copy of the file, end Inkling, put it back, and start again."
        case .putBack(let files, let directory):
            "\(directory) has files of an earlier version again: \(files.joined(separator: ", ")). Inkling reads state.db "
                + "instead. Remove these files; or, to go back to them, end Inkling, move state.db and state.copy.db "
                + "elsewhere, and start again."
        case .notCopied(let copy, let reason):
            "\(copy) can't be written: \(reason). All is kept, but damage of state.db would lose it. Make room on the disk, or "
                + "make the folder writable."
        case .notKept(let reason):
            "\(reason). Until a write succeeds, the next start forgets your decisions, the moves of your chats, and the people "
                + "whom you meet. Make room on the disk, or make the folder writable."
        }
    }
}
