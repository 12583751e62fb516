import Foundation
import Inkling
import InklingConsole
import InklingModel
import InklingText

/// The commands on people: who somebody is, whether the key is theirs, and whether they are blocked.
extension ChatController {
    func perform(_ command: PromptCommand, on peer: Peer, _ label: Labels.Label) async -> [Line] {
        switch command {
        case .whois: await whois(peer, label)
        case .verify(_, let isRight): await verify(peer, label, isRight: isRight)
        case .block: await block(peer, label)
        case .mute: mute(peer.user, label)
        default: []
        }
    }

    struct Complaint: Error {
        let line: Line
        init(_ text: String) { line = ChatLines.error(text) }
    }

    func find(_ name: String, in open: ChatState) async -> Result<Peer, Complaint> {
        switch user(named: name, in: open) {
        case .failure(let complaint): return .failure(complaint)
        case .success(let user):
            guard let peer = await node.peer(user, in: open.chat.name) else {
                return .failure(Complaint("\(SafeText.line(name)) is no longer known in this chat"))
            }
            return .success(peer)
        }
    }

    func user(named name: String, in open: ChatState) -> Result<UserID, Complaint> {
        let shown = SafeText.line(name)
        if shown.lowercased() == SafeText.line(node.name).lowercased(), open.labels.find(shown) == .nobody {
            return .failure(Complaint("That is you. To see your identity: inkling identity show"))
        }
        switch open.labels.find(NormalForm.canonical(name)) {
        case .one(let text):
            guard let user = UserID(text) else {
                return .failure(Complaint("\(shown) is no longer known in this chat"))
            }
            return .success(user)
        case .nobody:
            return .failure(Complaint("Nobody here is called \(shown); /who lists everybody"))
        case .several(let labels):
            return .failure(Complaint("Which one: \(labels.joined(separator: ", "))?"))
        }
    }

    private func whois(_ peer: Peer, _ label: Labels.Label) async -> [Line] {
        let known = await node.knownPeer(key: peer.key)
        let presence = PresenceText.text(
            peer.presence, lastSeen: peer.lastSeen, now: Date().timeIntervalSince1970)
        var lines = ["\(label.text): \(presence)", "identity \(peer.user)", "key \(peer.key)"]
        if let first = known?.firstSeen ?? peer.firstSeen {
            let time = LocalTime(first)
            lines.append("first met on \(time.day.text), \(time.text)")
        }
        let others = (known?.names ?? []).map { ChatLines.shown($0) }
            .filter { $0 != label.name }
        if !others.isEmpty { lines.append("was also called \(others.joined(separator: ", "))") }
        for namesake in peer.namesakes { lines.append("not the \(label.name) known as \(namesake)") }
        lines.append(peer.isVerified ? "verified" : "not verified: /verify \(label.text)")
        if peer.isBlocked { lines.append("blocked: /unblock \(label.text)") }
        if muted.contains(label.user) { lines.append("muted: /unmute \(label.text)") }
        return lines.map { ChatLines.notice($0) }
    }

    private func verify(_ peer: Peer, _ label: Labels.Label, isRight: Bool) async -> [Line] {
        do {
            if isRight {
                try await node.setVerified(true, key: peer.key)
                return [ChatLines.notice("\(label.text) is now verified")]
            }
            let groups = try node.fingerprint(with: peer.key).groups
            let rows = stride(from: 0, to: groups.count, by: 4).map { groups[$0..<min($0 + 4, groups.count)] }
            return ChatLines.fingerprint(label, rows: rows.map { $0.joined(separator: " ") })
        } catch {
            return [ChatLines.error(error.text)]
        }
    }

    private func block(_ peer: Peer, _ label: Labels.Label) async -> [Line] {
        do {
            try await node.setBlocked(true, key: peer.key)
            return [
                ChatLines.notice(
                    "\(label.text) is blocked: you see nothing from them, and they see you as gone. To undo it: "
                        + "/unblock \(label.text)")
            ]
        } catch {
            return [ChatLines.error(error.text)]
        }
    }

    /// Somebody who is blocked may have been met in another run, or another chat.
    func unblock(_ name: String, in open: ChatState) async -> [Line] {
        var key: String?
        if case .success(let peer) = await find(name, in: open) { key = peer.key }
        let blocked = await node.allKnownPeers.filter(\.isBlocked)
        let wanted = NormalForm.canonical(name).lowercased()
        if key == nil || !blocked.contains(where: { $0.key == key }) {
            let found = blocked.filter { peer in
                let names = peer.names.map { ChatLines.shown($0).lowercased() }
                return peer.user.description == wanted || names.contains(wanted)
            }
            guard found.count <= 1 else {
                let users = found.map(\.user.description).joined(separator: ", ")
                return [ChatLines.error("Several blocked people have that name; give the identity: \(users)")]
            }
            key = found.first?.key
        }
        guard let key else {
            return [ChatLines.error("Nobody called \(SafeText.line(name)) is blocked")]
        }
        do {
            try await node.setBlocked(false, key: key)
            return [ChatLines.notice("\(SafeText.line(name)) is no longer blocked")]
        } catch {
            return [ChatLines.error(error.text)]
        }
    }
}
