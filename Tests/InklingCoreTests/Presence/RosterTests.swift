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
        roster.tellPresence(of: Parts.person(), .hello, table(row.before), &effects, now: .zero)
        _ = effects.drain()
        let name = row.newName ? "Foot" : "Hand"
        let links = table(row.after, name: name)
        roster.tellPresence(of: Parts.person(), .silence, links, &effects, now: .zero)
        let person = Person(key: Parts.key(1), name: name)
        #expect(effects.drain() == row.reason.map { [.presence(Parts.chat, person, row.after, $0)] } ?? [])
        // The same again is no news.
        roster.tellPresence(of: Parts.person(), .silence, links, &effects, now: .zero)
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
            roster.tellPresence(of: Parts.person(), .bye, links, &effects, now: .zero)
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
        roster.tellPresence(of: person, .hello, links, &effects, now: .zero)
        #expect(roster.name(of: person, Parts.table([])) == "two")
        #expect(roster.name(of: person, Parts.table([Parts.link(1, name: "one")])) == "one")
        #expect(roster.name(of: Parts.person(1, in: Parts.otherChat), Parts.table([])) == "")
        // Whoever went offline is known by no name any more.
        roster.tellPresence(of: person, .bye, Parts.table([]), &effects, now: .zero)
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
        roster.tellTyping(of: nil, in: Parts.chat, Parts.table(links), &effects, now: .zero)
        #expect(told(&effects) == [["Max", "Yan", "Ann", "Ann", "Zoe"]])
        let namesakes = roster.typing(in: Parts.chat).filter { $0.name == "Ann" }.map(\.key)
        #expect(Set(namesakes) == [Parts.key(3), Parts.key(5)])
        #expect(namesakes == namesakes.sorted { $0.userID < $1.userID })
        roster.tellTyping(of: nil, in: Parts.otherChat, Parts.table(links), &effects, now: .zero)
        #expect(told(&effects) == [["Far"]])
        roster.tellTyping(of: nil, in: Parts.chat, Parts.table(links), &effects, now: .zero)
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
            roster.tellTyping(of: nil, in: Parts.chat, table, &effects, now: .zero)
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
        roster.tellPresence(of: before.personID, .hello, Parts.table([before]), &effects, now: .zero)
        roster.began(before)
        roster.tellTyping(of: nil, in: Parts.chat, Parts.table([before]), &effects, now: .zero)
        #expect(told(&effects) == [["Hand"]])
        let after = Parts.table([Parts.link(1, name: "Foot", typingAt: .at(10))])
        roster.tellPresence(of: before.personID, .hello, after, &effects, now: .zero)
        #expect(told(&effects) == [["Foot"]])
    }

    @Test("nothing is kept of a chat that was left")
    func forget() {
        var effects = Parts.effects()
        var roster = Roster()
        let (here, there) = (Parts.link(1, typingAt: .at(10)), Parts.link(2, in: Parts.otherChat, typingAt: .at(10)))
        let table = Parts.table([here, there])
        for link in [here, there] {
            roster.tellPresence(of: link.personID, .hello, table, &effects, now: .zero)
            roster.began(link)
            roster.tellTyping(of: nil, in: link.chat, table, &effects, now: .zero)
        }
        _ = effects.drain()
        roster.forget(Parts.chat)
        #expect(roster.typing(in: Parts.chat).isEmpty)
        #expect(roster.typing(in: Parts.otherChat).count == 1)
        #expect(roster.name(of: here.personID, Parts.table([])) == "")
        #expect(roster.name(of: there.personID, Parts.table([])) == "Hand")
        // Whoever is met there again is new.
        roster.tellPresence(of: here.personID, .silence, table, &effects, now: .zero)
        let person = Person(key: Parts.key(1), name: "Hand")
        #expect(effects.drain() == [.presence(Parts.chat, person, .online, .hello)])
    }

    // MARK: Rates

    @Test("a list is told at once, twenty in a row, then one each 50 ms, and the latest one always (T-22)")
    func manyLists() {
        var effects = Parts.effects()
        var roster = Roster()
        var lists: [(at: Int, names: [String])] = []
        for millisecond in 0..<1_000 {
            let now = Instant.at(millisecond)
            let link = Parts.link(1, typingAt: now)
            if let due = roster.nextDeadline(in: Parts.chat), due <= now {
                roster.advance(Parts.chat, Parts.table([link]), &effects, now: now)
            }
            if millisecond < 907 {
                if millisecond % 2 == 0 { roster.began(link) } else { roster.ended(link) }
                roster.tellTyping(of: link.key, in: Parts.chat, Parts.table([link]), &effects, now: now)
            }
            lists += told(&effects).map { (millisecond, $0) }
        }
        #expect(lists.prefix(20).map(\.at) == Array(0..<20), "as they came")
        #expect(lists.count <= 20 + 20)
        for (one, next) in zip(lists, lists.dropFirst()) {
            #expect(one.names != next.names, "only changes")
            #expect(next.at - one.at <= 101)
        }
        #expect(lists.last?.names == ["Hand"], "which is how it ended")
        #expect(roster.nextDeadline(in: Parts.chat) == nil)
    }

    /// A roster of one who is listed as typing and has stopped, when no list may be told; and when one may be.
    private func withheld(_ effects: inout Effects) -> (roster: Roster, link: Link, due: Instant) {
        var roster = Roster()
        let link = Parts.link(1, typingAt: .zero)
        let table = Parts.table([link])
        roster.tellPresence(of: link.personID, .hello, table, &effects, now: .zero)
        for step in 0..<21 {
            if step % 2 == 0 { roster.began(link) } else { roster.ended(link) }
            roster.tellTyping(of: link.key, in: Parts.chat, table, &effects, now: .zero)
        }
        // The nineteenth change was a start, the twentieth a stop: one more start, once there is a token, and a stop.
        let later = Instant.at(50)
        roster.advance(Parts.chat, table, &effects, now: later)
        roster.ended(link)
        roster.tellTyping(of: link.key, in: Parts.chat, table, &effects, now: later)
        _ = effects.drain()
        return (roster, link, roster.nextDeadline(in: Parts.chat) ?? .zero)
    }

    private func message(_ number: UInt64, of link: Link) -> Output {
        .message(Parts.chat, from: link.person, number: number, text: "x")
    }

    @Test("a message waits for the list that ends its author's typing, what follows it too, 50 ms at most (T-22, T-13)")
    func messageAfterList() {
        var effects = Parts.effects()
        var (roster, link, due) = withheld(&effects)
        #expect(due == .at(100))
        let other = Parts.link(2, to: 2, name: "Other")
        effects.tell(message(1, of: link))
        effects.tell(message(2, of: other))
        // The author goes, and is not said to be gone before the message.
        roster.tellPresence(of: link.personID, .bye, Parts.table([other]), &effects, now: .at(60))
        #expect(effects.drain().isEmpty)
        roster.advance(Parts.chat, Parts.table([other]), &effects, now: due)
        #expect(
            effects.drain() == [
                .typing(Parts.chat, []), message(1, of: link), message(2, of: other),
                .presence(Parts.chat, link.person, .offline, .bye),
            ])
        effects.tell(message(3, of: link))
        #expect(effects.drain() == [message(3, of: link)])
    }

    @Test("a message of somebody else does not wait, and nothing waits when the user does something (T-22)")
    func otherMessages() {
        var effects = Parts.effects()
        var (roster, link, _) = withheld(&effects)
        let other = Parts.link(2, to: 2, name: "Other")
        effects.tell(message(1, of: other))
        #expect(effects.drain() == [message(1, of: other)])
        effects.tell(message(2, of: link))
        #expect(effects.drain().isEmpty)
        roster.tellPresence(of: link.personID, .blocked, Parts.table([]), &effects, now: .at(60))
        roster.tellDue(in: Parts.chat, Parts.table([]), &effects, now: .at(60))
        #expect(
            effects.drain() == [
                .typing(Parts.chat, []), message(2, of: link),
                .presence(Parts.chat, link.person, .offline, .blocked),
            ])
        #expect(roster.nextDeadline(in: Parts.chat) == nil)
    }

    /// The presences that were told, with their keys.
    private func presences(_ effects: inout Effects) -> [(key: PublicKey, presence: Presence)] {
        effects.drain().compactMap {
            if case .presence(_, let person, let presence, _) = $0 { (person.key, presence) } else { nil }
        }
    }

    @Test("a first change of each is told at once, however many there are (T-22)")
    func manyPeople() {
        var effects = Parts.effects()
        var roster = Roster()
        let links = (1..<12).map { Parts.link(UInt64($0), to: $0) }
        for round in 0..<20 {
            let table = round % 2 == 0 ? Parts.table(links) : Parts.table([])
            let now = Instant.at(round * 1_000)
            for link in links { roster.tellPresence(of: link.personID, .bye, table, &effects, now: now) }
            #expect(presences(&effects).count == 11, "round \(round)")
        }
    }

    @Test("of the changes that follow another one twenty are told, then one each 50 ms, and the latest always (T-22)")
    func manyPresences() {
        var effects = Parts.effects()
        var roster = Roster()
        let (here, away) = (Parts.table([Parts.link(1)]), Parts.table([Parts.link(1, isAway: true)]))
        var told: [(at: Int, presence: Presence)] = []
        var state = here
        for millisecond in 0..<2_000 {
            let now = Instant.at(millisecond)
            if let due = roster.nextDeadline(in: Parts.chat), due <= now {
                roster.advance(Parts.chat, state, &effects, now: now)
            }
            if millisecond <= 907 {
                state = millisecond % 2 == 0 ? here : away
                roster.tellPresence(of: Parts.person(), .bye, state, &effects, now: now)
            }
            told += presences(&effects).map { (millisecond, $0.presence) }
        }
        #expect(told.prefix(21).map(\.at) == Array(0..<21), "the first, and twenty more")
        #expect(told.count <= 21 + 20)
        #expect(told.last?.presence == .away, "which is how it ended")
        #expect((907...1_000).contains(told.last?.at ?? 0))
        // Somebody else's first change does not wait for all that.
        let other = Parts.link(2, to: 2)
        roster.tellPresence(of: other.personID, .hello, Parts.table([other]), &effects, now: .at(908))
        #expect(presences(&effects).count == 1)
    }

    @Test("nobody is listed as typing before it was told that they are there (T-19, T-22)")
    func typingBeforePresence() {
        var effects = Parts.effects()
        var roster = Roster()
        let link = Parts.link(1, typingAt: .zero)
        let named = Parts.table([Parts.link(1, name: "Foot")])
        // The last of the twenty that may follow the first one says offline.
        let tables = [Parts.table([link])] + (0..<20).map { $0 % 2 == 0 ? named : Parts.table([]) }
        for table in tables { roster.tellPresence(of: link.personID, .bye, table, &effects, now: .zero) }
        #expect(presences(&effects).last?.presence == .offline)
        roster.tellPresence(of: link.personID, .hello, Parts.table([link]), &effects, now: .at(10))
        roster.began(link)
        roster.tellTyping(of: link.key, in: Parts.chat, Parts.table([link]), &effects, now: .at(10))
        #expect(effects.drain().isEmpty)
        roster.advance(Parts.chat, Parts.table([link]), &effects, now: .at(50))
        #expect(
            effects.drain() == [
                .presence(Parts.chat, link.person, .online, .hello), .typing(Parts.chat, [link.person]),
            ])
    }
}
