import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Roster")
struct RosterTests {
    /// A person as its one link says, or without any.
    private func table(_ presence: Presence, name: String = "Hand") -> LinkTable {
        switch presence {
        case .offline: Parts.table([])
        case .online: Parts.table([Parts.link(1, name: name)])
        case .away: Parts.table([Parts.link(1, name: name, isAway: true)])
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let before: Presence
        let after: Presence
        /// Nil if nothing is told.
        let reason: PresenceReason?
        var newName = false
        var testDescription: String { "\(before) to \(after)\(newName ? " under another name" : "")" }
    }

    @Test(
        "what is told of each change of presence, and why",
        arguments: [
            Row(before: .offline, after: .offline, reason: nil),
            Row(before: .offline, after: .online, reason: .hello),
            Row(before: .offline, after: .away, reason: .hello),
            Row(before: .online, after: .offline, reason: .silence),
            Row(before: .online, after: .online, reason: nil),
            Row(before: .online, after: .away, reason: .away),
            Row(before: .away, after: .offline, reason: .silence),
            Row(before: .away, after: .online, reason: .back),
            Row(before: .away, after: .away, reason: nil),
            Row(before: .online, after: .online, reason: .hello, newName: true),
            Row(before: .online, after: .away, reason: .away, newName: true),
            Row(before: .away, after: .away, reason: .away, newName: true),
            Row(before: .away, after: .online, reason: .back, newName: true),
        ])
    func presence(_ row: Row) {
        var effects = Parts.effects()
        var roster = Roster()
        roster.tellPresence(of: Parts.person(), .hello, table(row.before), &effects)
        _ = effects.drain()
        let name = row.newName ? "Foot" : "Hand"
        let links = table(row.after, name: name)
        roster.tellPresence(of: Parts.person(), .silence, links, &effects)
        let person = Person(key: Parts.key(1), name: name)
        #expect(effects.drain() == row.reason.map { [.presence(Parts.chat, person, row.after, $0)] } ?? [])
        // The same again is no news.
        roster.tellPresence(of: Parts.person(), .silence, links, &effects)
        #expect(effects.drain().isEmpty)
    }

    @Test("a person is online where one link is, and offline with the last")
    func severalLinks() {
        var effects = Parts.effects()
        var roster = Roster()
        let tables: [(LinkTable, Presence?)] = [
            (Parts.table([Parts.link(1, isAway: true)]), .away),
            (Parts.table([Parts.link(1, isAway: true), Parts.link(2)]), .online),
            (Parts.table([Parts.link(1), Parts.link(2)]), nil),
            (Parts.table([Parts.link(1, isAway: true), Parts.link(2, isAway: true)]), .away),
            (Parts.table([Parts.link(2, isAway: true)]), nil),
            (Parts.table([]), .offline),
        ]
        for (links, presence) in tables {
            roster.tellPresence(of: Parts.person(), .bye, links, &effects)
            let told: [Presence] = effects.drain().compactMap {
                if case .presence(_, _, let presence, _) = $0 { presence } else { nil }
            }
            #expect(told == (presence.map { [$0] } ?? []))
        }
    }

    @Test("the name is that of the link made last, after that the one told last")
    func names() {
        var effects = Parts.effects()
        var roster = Roster()
        let person = Parts.person()
        #expect(roster.name(of: person, Parts.table([])) == "")
        let links = Parts.table([Parts.link(1, name: "one"), Parts.link(2, name: "two")])
        #expect(roster.name(of: person, links) == "two")
        roster.tellPresence(of: person, .hello, links, &effects)
        #expect(roster.name(of: person, Parts.table([])) == "two")
        #expect(roster.name(of: person, Parts.table([Parts.link(1, name: "one")])) == "one")
        #expect(roster.name(of: Parts.person(1, in: Parts.otherChat), Parts.table([])) == "")
        // Whoever went offline is known by no name any more.
        roster.tellPresence(of: person, .bye, Parts.table([]), &effects)
        #expect(roster.name(of: person, Parts.table([])) == "")
    }

    /// Who is told to type, if that is told.
    private func told(_ effects: inout Effects) -> [[String]] {
        effects.drain().compactMap { if case .typing(_, let people) = $0 { people.map(\.name) } else { nil } }
    }

    @Test("who began last is named first, then it goes by name and user ID (R18)")
    func order() {
        var effects = Parts.effects()
        var roster = Roster()
        let links = [
            Parts.link(1, to: 1, name: "Zoe", typingAt: .at(10)), Parts.link(2, to: 2, name: "Yan", typingAt: .at(20)),
            Parts.link(3, to: 3, name: "Ann", typingAt: .at(10)), Parts.link(4, to: 4, name: "Max", typingAt: .at(20)),
            Parts.link(5, to: 5, name: "Ann", typingAt: .at(10)), Parts.link(6, to: 6, name: "Kim"),
            Parts.link(7, to: 7, in: Parts.otherChat, name: "Far", typingAt: .at(30)),
        ]
        for link in links { roster.began(link) }
        roster.tellTyping(in: Parts.chat, Parts.table(links), &effects)
        #expect(told(&effects) == [["Max", "Yan", "Ann", "Ann", "Zoe"]])
        let namesakes = roster.typing(in: Parts.chat).filter { $0.name == "Ann" }.map(\.key)
        #expect(Set(namesakes) == [Parts.key(3), Parts.key(5)])
        #expect(namesakes == namesakes.sorted { $0.userID < $1.userID })
        roster.tellTyping(in: Parts.otherChat, Parts.table(links), &effects)
        #expect(told(&effects) == [["Far"]])
        roster.tellTyping(in: Parts.chat, Parts.table(links), &effects)
        #expect(told(&effects).isEmpty)
    }

    @Test("a person types until the last of its links has ended, since the first began")
    func devices() {
        var effects = Parts.effects()
        var roster = Roster()
        let (one, two) = (Parts.link(1, typingAt: .at(10)), Parts.link(2, typingAt: .at(30)))
        let other = Parts.link(3, to: 2, name: "Other", typingAt: .at(20))
        let table = Parts.table([one, two, other])
        func tell() -> [[String]] {
            roster.tellTyping(in: Parts.chat, table, &effects)
            return told(&effects)
        }
        roster.began(one)
        #expect(tell() == [["Hand"]])
        roster.began(two)
        #expect(tell() == [])
        roster.began(other)
        #expect(tell() == [["Other", "Hand"]])
        roster.ended(one)
        #expect(tell() == [])
        roster.ended(one)
        #expect(tell() == [])
        roster.ended(two)
        #expect(tell() == [["Other"]])
        roster.ended(two)
        roster.ended(other)
        #expect(tell() == [[]])
        #expect(roster.typing(in: Parts.chat).isEmpty)
        // It is later from then on.
        roster.began(other)
        roster.began(two)
        #expect(tell() == [["Hand", "Other"]])
    }

    @Test("another name is told of who types")
    func renamed() {
        var effects = Parts.effects()
        var roster = Roster()
        let before = Parts.link(1, typingAt: .at(10))
        roster.tellPresence(of: before.personID, .hello, Parts.table([before]), &effects)
        roster.began(before)
        roster.tellTyping(in: Parts.chat, Parts.table([before]), &effects)
        #expect(told(&effects) == [["Hand"]])
        let after = Parts.table([Parts.link(1, name: "Foot", typingAt: .at(10))])
        roster.tellPresence(of: before.personID, .hello, after, &effects)
        #expect(told(&effects) == [["Foot"]])
    }

    @Test("nothing is kept of a chat that was left")
    func forget() {
        var effects = Parts.effects()
        var roster = Roster()
        let (here, there) = (Parts.link(1, typingAt: .at(10)), Parts.link(2, in: Parts.otherChat, typingAt: .at(10)))
        let table = Parts.table([here, there])
        for link in [here, there] {
            roster.tellPresence(of: link.personID, .hello, table, &effects)
            roster.began(link)
            roster.tellTyping(in: link.chat, table, &effects)
        }
        _ = effects.drain()
        roster.forget(Parts.chat)
        #expect(roster.typing(in: Parts.chat).isEmpty)
        #expect(roster.typing(in: Parts.otherChat).count == 1)
        #expect(roster.name(of: here.personID, Parts.table([])) == "")
        #expect(roster.name(of: there.personID, Parts.table([])) == "Hand")
        // Whoever is met there again is new.
        roster.tellPresence(of: here.personID, .silence, table, &effects)
        let person = Person(key: Parts.key(1), name: "Hand")
        #expect(effects.drain() == [.presence(Parts.chat, person, .online, .hello)])
    }
}
