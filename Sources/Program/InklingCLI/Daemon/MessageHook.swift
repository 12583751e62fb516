import Glibc
import InklingModel
import InklingText
import NIOCore

/// The command of the settings for messages that no front end shows, such as a program that shows a notification.
///
/// The command runs without a shell. The texts of others are in the environment, without bidirectional controls, and
/// without control characters other than line feeds. Characters that a shell or a notification may interpret stay in
/// the texts. No argument has such a text, because all users of a machine can read arguments.
package final class MessageHook {
    /// The shortest time between two starts for the same chat, in milliseconds.
    package static let interval: Int64 = 2_000
    /// The most commands that run at the same time and are younger than ``longestCounted``.
    package static let mostRunning = 8
    /// The time after which a running command, such as a dialog, no longer counts for ``mostRunning``, in milliseconds.
    package static let longestCounted: Int64 = 30_000
    /// The most running commands of any age. With more, the oldest one is killed.
    package static let mostAtAll = 32
    /// The time between SIGTERM and SIGKILL for a killed command, in milliseconds.
    package static let endingTime: Int64 = 2_000
    /// The longest name or text in the environment, in bytes of UTF-8. The system allows at most 128 KiB.
    package static let longestValue = 4_096
    private struct Child {
        /// The ID of the process, which is also the ID of its process group.
        let process: pid_t
        let started: Int64
        /// The time when the process got SIGTERM.
        var ending: Int64?
    }

    private struct Message {
        let label: String
        let text: String
        let user: String
        let rank: SenderRank
    }

    /// The program and its arguments; empty for none.
    package var command: [String]
    /// The time of the last start, by chat.
    private var starts: [String: Int64] = [:]
    /// The running commands, the oldest first.
    private var running: [Child] = []
    /// The time of the last check of ``running``.
    private var lookedAt: Int64 = 0
    /// The message of each chat whose command must wait: the latest among those of the highest rank.
    private var waiting: [String: Message] = [:]
    /// Reports each new fault of the command.
    private let report: (String) -> Void
    private var reported: String?

    /// Makes the hook.
    ///
    /// - Parameter report: called with the fault if the command can't start, or if its exit status shows a failure.
    package init(_ command: [String], report: @escaping (String) -> Void = { _ in }) {
        self.command = command
        self.report = report
    }

    /// Starts the command for a message that no front end shows. After a start, the chat must wait a moment. All chats
    /// wait while ``mostRunning`` commands run. At ``nextDeadline`` the command starts for one message of the chat: the
    /// latest from the senders whom the user knows best.
    ///
    /// - Parameters:
    ///   - label: the label of the sender.
    ///   - user: the user ID of the sender.
    ///   - rank: how well the user knows the sender.
    ///   - now: milliseconds of a steady clock.
    /// - Returns: Whether the command was started.
    @discardableResult
    package func run(
        chat: String, label: String, text: String, user: String, rank: SenderRank, at now: Int64
    ) -> Bool {
        run(Message(label: label, text: text, user: user, rank: rank), in: chat, at: now)
    }

    private func run(_ latest: Message, in chat: String, at now: Int64) -> Bool {
        reap(at: now)
        starts = starts.filter { $0.value + Self.interval > now }
        let former = waiting.removeValue(forKey: chat)
        guard let program = command.first else { return false }
        let message = former.map { $0.rank > latest.rank ? $0 : latest } ?? latest
        guard starts[chat] == nil, countedRunning < Self.mostRunning else {
            waiting[chat] = message
            return false
        }
        let values = [
            "INKLING_CHAT": Self.value(SafeText.line(chat)), "INKLING_NAME": Self.value(SafeText.line(message.label)),
            "INKLING_TEXT": Self.value(SafeText.message(message.text)), "INKLING_USER": message.user,
            "INKLING_VERIFIED": message.rank == .verified ? "1" : "",
        ]
        starts[chat] = now
        do throws(ChildProcess.Failure) {
            let child = try ChildProcess.start(program, command, environment: ChildProcess.environment(with: values))
            running.append(Child(process: child, started: now))
            terminateOldest(at: now)
            return true
        } catch {
            reportOnce("\(SafeText.line(program)) can't be started: \(error.text)")
            return false
        }
    }

    /// The time of the next ``tick(at:isUnseen:)``, while a message waits or a command runs.
    package var nextDeadline: Int64? {
        let due = waiting.keys.map { max(starts[$0] ?? 0, countedRunning < Self.mostRunning ? 0 : lookedAt) }
        return (due + (running.isEmpty ? [] : [lookedAt])).min().map { $0 + Self.interval }
    }

    /// Starts the command for each waiting message that is due.
    ///
    /// - Parameter isUnseen: returns whether still no front end shows a chat.
    package func tick(at now: Int64, isUnseen: (String) -> Bool) {
        reap(at: now)
        for (chat, message) in waiting.sorted(by: { $0.key < $1.key }) {
            if !isUnseen(chat) {
                waiting[chat] = nil
            } else if (starts[chat] ?? 0) + Self.interval <= now {
                _ = run(message, in: chat, at: now)
            }
        }
    }

    /// Removes the commands that have ended.
    private func reap(at now: Int64) {
        lookedAt = now
        running = running.filter { child in
            var status: Int32 = 0
            guard waitpid(child.process, &status, WNOHANG) != 0 else {
                if let ending = child.ending, now - ending >= Self.endingTime { kill(-child.process, SIGKILL) }
                return true
            }
            guard child.ending == nil else { return false }
            let code = (status >> 8) & 0xFF
            if status & 0x7F != 0 {
                reportOnce("it was ended by signal \(status & 0x7F)")
            } else if code != 0 {
                reportOnce("it ended with status \(code)")
            } else {
                reported = nil
            }
            return false
        }
    }

    /// The number of commands that count for ``mostRunning``.
    private var countedRunning: Int { running.count { lookedAt - $0.started < Self.longestCounted } }

    /// Kills the oldest command if there are too many, with its process group.
    private func terminateOldest(at now: Int64) {
        guard running.count > Self.mostAtAll, let index = running.firstIndex(where: { $0.ending == nil }) else {
            return
        }
        running[index].ending = now
        kill(-running[index].process, SIGTERM)
        reportOnce("more than \(Self.mostAtAll) of them run, and the oldest is ended")
    }

    private func reportOnce(_ reason: String) {
        guard reported != reason else { return }
        reported = reason
        report(reason)
    }

    /// Returns a text, cut to ``longestValue``.
    package static func value(_ text: String) -> String {
        guard text.utf8.count > longestValue else { return text }
        var cut = text.prefix(longestValue)
        while cut.utf8.count > longestValue - 3 { cut.removeLast() }
        return cut + "\u{2026}"
    }
}

/// Decides whether the command for messages really comes from the user. Another user who can write the settings or the
/// program could make the daemon start any program.
package enum HookTrust {
    /// Returns the reason not to start the command, with advice; nil to start the command.
    ///
    /// - Parameters:
    ///   - settings: The path of the settings file; nil if the program reads none.
    ///   - program: The first word of the command.
    ///   - searchPath: Where to look for a program without a slash, as in `$PATH`.
    package static func fault(settings: String?, program: String, searchPath: String) -> String? {
        for path in [settings, found(program, in: searchPath)].compactMap({ $0 }) {
            guard let reason = reason(path) ?? reason(folder(of: path)) else { continue }
            return "on-message is left out: \(reason). Make sure that only you can write there, and reload the daemon"
        }
        return nil
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the file that the command starts; nil if there is none.
    private static func found(_ program: String, in searchPath: String) -> String? {
        guard !program.contains("/") else { return program }
        return searchPath.split(separator: ":").lazy.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// Returns the reason why others can write a file or a folder; nil if they can't, or nothing exists there.
    private static func reason(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let shown = SafeText.line(path)
        guard [0, geteuid()].contains(status.st_uid) else { return "\(shown) belongs to another user" }
        // In a sticky folder, users can't replace each other's files.
        if status.st_mode & S_IFMT == S_IFDIR, status.st_mode & S_ISVTX != 0 { return nil }
        if status.st_mode & S_IWOTH != 0 { return "all users of this machine can write \(shown)" }
        if status.st_mode & S_IWGRP != 0, hasOthers(status.st_gid) { return "others in its group can write \(shown)" }
        return nil
    }

    /// Whether a group has members besides the user and root.
    private static func hasOthers(_ group: gid_t) -> Bool {
        func isOther(_ user: uid_t) -> Bool { user != 0 && user != geteuid() }
        if let entry = getgrgid(group), var member = entry.pointee.gr_mem {
            // The loop reads all names first, because the next look-up may reuse their memory.
            var names: [String] = []
            while let name = member.pointee {
                names.append(String(cString: name))
                member += 1
            }
            // A name without a user counts, because an administrator may add such a user later.
            for name in names where getpwnam(name).map({ isOther($0.pointee.pw_uid) }) ?? true { return true }
        }
        setpwent()
        defer { endpwent() }
        while let entry = getpwent() {
            if entry.pointee.pw_gid == group, isOther(entry.pointee.pw_uid) { return true }
        }
        return false
    }
}

/// The labels of people who speak while no front end shows the chat. As at the prompt, each label differs from those of
/// all people present or met before. So an impostor does not get the label of a friend who has not written.
package struct SpeakerLabels {
    /// The time for which a list of the people in a chat stays valid, in milliseconds. The speaker is always added.
    package static let refreshInterval: Int64 = 2_000
    /// The most chats with labels, as many as a node can be in (L-39).
    package static let mostChats = 32

    private struct Speakers {
        var labels: Labels
        let ownName: String
        /// The time when the list was requested, in milliseconds.
        let made: Int64
    }

    private var chats: [String: Speakers] = [:]

    package init() {}

    /// Returns the label of a person who just spoke, with their mark.
    ///
    /// - Parameters:
    ///   - sender: The node's data about this person; nil if there are none.
    ///   - people: Returns the people in the chat, and those met there, with the node's data about them.
    ///   - now: Milliseconds of a steady clock.
    package mutating func label(
        of person: Person, _ sender: Peer?, in chat: String, ownName: String, at now: Int64, people: () -> [Peer]
    ) -> String {
        let kept = chats.removeValue(forKey: chat).flatMap { speakers in
            speakers.ownName == ownName && now - speakers.made < Self.refreshInterval ? speakers : nil
        }
        var speakers = kept ?? Speakers(labels: Labels(ownName: ownName, people()), ownName: ownName, made: now)
        if chats.count >= Self.mostChats { chats = [:] }
        // The node may have no data about the speaker. The name may still be another person's.
        speakers.labels.update(sender.map { Labels.Person($0) } ?? Labels.Person(person))
        chats[chat] = speakers
        return speakers.labels.label(of: person.user.description).marked
    }
}
