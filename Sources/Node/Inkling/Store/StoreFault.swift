/// Damage, or a failure that lasts until the next start. The user loses messages, and everything else works.
package enum StoreFault: Hashable, Sendable {
    /// Rows of the file don't open. A whole file that is damaged is now at `aside`.
    case damaged(path: String, aside: String?)
    /// The database is on a file system over a network or in a program, of that kind. Nothing is lost.
    case remote(path: String, kind: String)
    /// The keys have logs, but the database is gone.
    case missing(path: String)
    /// The database has rows, but the keys are gone.
    case keysMissing(path: String)
    /// The keys can't be read, and stay as they are.
    case keysUnusable(path: String, reason: String)
    /// The keys are an older copy, which lacks some.
    case keysBehind(path: String)
    /// The database is an older copy.
    case older(path: String)
    /// The database can't be opened, and stays as it is.
    case unusable(path: String, reason: String)
    /// The keys of an earlier build can't be read, and stay as they are.
    case earlierUnusable(path: String, reason: String)
    /// A file of an earlier build was not read whole, and is kept at that path.
    case earlier(path: String)

    /// Returns what happened and what to do, for the user to read.
    ///
    /// - Parameter messages: The messages that the user misses, such as "kept messages".
    package func text(about messages: String) -> String {
        let copy = "If you have a copy, put it back, and start Inkling again."
        return switch self {
        case .damaged(let path, nil): "\(path) is damaged, and some \(messages) are lost."
        case .damaged(let path, let aside?):
            "\(path) was damaged. Inkling saved the part that it could read. Other \(messages) are lost. The damaged file is "
                + "now \(aside): remove it if you don't need it."
        case .remote(let path, let kind):
            "\(path) is on a file system of the kind \(kind): slower than a disk of this machine, and a power failure can "
                + "cost \(messages)."
        case .missing(let path): "\(path) is missing, and all \(messages) with it. \(copy)"
        case .keysMissing(let path):
            "\(path) is missing, so \(messages) can't be read. \(copy) To remove what nobody can read: inkling forget --yes"
        case .keysUnusable(let path, let reason):
            "\(path) can't be used: \(reason). So \(messages) can't be read, and no new ones are kept. Repair or remove "
                + "the file, and start Inkling again."
        case .keysBehind(let path):
            "\(path) is an older copy, so some \(messages) can't be read. If you have the newest one, put it back, and "
                + "start Inkling again. To remove what nobody can read: inkling forget --yes"
        case .older(let path):
            "\(path) is an older copy: \(messages) that came later are missing, and some can show again."
        case .unusable(let path, let reason):
            "\(path) can't be used: \(reason). So \(messages) can't be read, and no new ones are kept. Repair or move the "
                + "file, and start Inkling again."
        case .earlierUnusable(let path, let reason):
            "\(path) can't be used: \(reason). So \(messages) of an earlier version can't be read. Repair or remove the "
                + "file, and start Inkling again."
        case .earlier(let path):
            "\(path) is of an earlier version and damaged, so some \(messages) are lost. Remove it if you don't need it."
        }
    }
}
