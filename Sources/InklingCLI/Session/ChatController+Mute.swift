import Foundation
import Inkling
import InklingConsole
import InklingText

/// Who is not to be heard in this session. Nothing of it is kept or sent: others don't notice.
extension ChatController {
    /// Those who are muted, under the names that they have now.
    var mutedPeople: [MutedPeople.Person] { renamedMuted().all }

    func mute(_ user: UserID, _ label: Labels.Label) -> [Line] {
        guard muted.mute(label) else { return [ChatLines.muted(label, isNew: false)] }
        // What was folded before stays to be shown.
        let folded = reportFolded(of: user)
        tellMuted()
        return folded + [ChatLines.muted(label, isNew: true)]
    }

    func unmute(_ name: String) async -> [Line] {
        muted = renamedMuted()
        switch muted.find(name) {
        case .nobody:
            return [ChatLines.error("Nobody called \(SafeText.line(name)) is muted; /mute lists who is")]
        case .several(let labels): return [ChatLines.error("Which one: \(labels.joined(separator: ", "))?")]
        case .one(let text):
            guard let user = UserID(text), let person = muted.unmute(text) else { return [] }
            tellMuted()
            let presence = open?.presence(of: user, now: Date().timeIntervalSince1970)
            return [ChatLines.unmuted(person.label, presence: presence, messages: person.messages)]
                + (await keyAlarms(about: user))
        }
    }

    func listMuted() -> [Line] {
        let people = mutedPeople
        guard !people.isEmpty else {
            return [ChatLines.notice("Nobody is muted. To mute somebody until you quit: /mute NAME")]
        }
        return people.map { ChatLines.muted($0) }
    }

    private func renamedMuted() -> MutedPeople {
        var renamed = muted
        for person in muted.all {
            if let user = UserID(person.label.user), let label = knownLabel(of: user) { renamed.rename(label) }
        }
        return renamed
    }
}
