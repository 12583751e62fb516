import InklingTestSupport
import Testing

@testable import InklingCore

@Suite("Sessions of a link")
struct SessionSetTests {
    /// A set of which 10 sends, and the others are older, the oldest first.
    private func set(older: [UInt32] = [], sends: Bool = true) -> SessionSet {
        var set = SessionSet(Parts.session(older.first ?? 10))
        for index in older.dropFirst() + (older.isEmpty ? [] : [10]) { _ = set.join(sending: Parts.session(index)) }
        if !sends { _ = set.remove(10) }
        return set
    }

    struct State: Sendable, CustomTestStringConvertible {
        let older: [UInt32]
        let sends: Bool
        var testDescription: String { "older \(older), \(sends ? "10 sends" : "none sends")" }

        static let all = [[], [7], [7, 8], [7, 8, 9]].flatMap { older in
            [true, false].map { State(older: older, sends: $0) }
        }
    }

    @Test("an index leads to the sending session, to an older one, or nowhere", arguments: State.all)
    func place(_ state: State) {
        let set = set(older: state.older, sends: state.sends)
        #expect(set.place(of: 10) == (state.sends ? .sending : nil))
        for (place, index) in state.older.enumerated() {
            #expect(set.place(of: index) == .older(place))
            #expect(set[.older(place)].localIndex == index)
        }
        #expect(set.place(of: 99) == nil)
        #expect(set.isSending(10) == state.sends)
        #expect(!set.isSending(7))
        #expect(set.canSend == state.sends)
        #expect(set.indices == state.older + (state.sends ? [10] : []))
        #expect(set.all.map(\.localIndex) == set.indices)
        #expect(set.deadlines.map(\.index) == set.indices)
    }

    @Test("a session that joins as older is the oldest, and changes nothing of the sending one", arguments: State.all)
    func joinOlder(_ state: State) {
        var set = set(older: state.older, sends: state.sends)
        set.join(older: Parts.session(20))
        #expect(set.older.map(\.localIndex) == [20] + state.older)
        #expect(set.sending?.localIndex == (state.sends ? 10 : nil))
    }

    @Test("a session that joins as sending makes the one before the newest of the older", arguments: State.all)
    func joinSending(_ state: State) {
        var set = set(older: state.older, sends: state.sends)
        let before = set.join(sending: Parts.session(20))
        #expect(before == (state.sends ? .older(state.older.count) : nil))
        #expect(set.sending?.localIndex == 20)
        #expect(set.older.map(\.localIndex) == state.older + (state.sends ? [10] : []))
    }

    @Test("an older session that is promoted sends, in place of the one before", arguments: State.all)
    func promote(_ state: State) {
        for (place, index) in state.older.enumerated() {
            var set = set(older: state.older, sends: state.sends)
            let before = set.promote(.older(place))
            #expect(set.sending?.localIndex == index)
            #expect(set.older.map(\.localIndex) == state.older.filter { $0 != index } + (state.sends ? [10] : []))
            #expect(before == (state.sends ? .older(state.older.count - 1) : nil))
        }
    }

    @Test("a session that is removed leads nowhere, and the others stay", arguments: State.all)
    func remove(_ state: State) {
        for index in state.older + [10, 99] {
            var set = set(older: state.older, sends: state.sends)
            let rest = set.indices.filter { $0 != index }
            let isThere = set.indices.contains(index)
            let removed = set.remove(index)
            #expect(removed?.localIndex == (isThere ? index : nil))
            #expect(set.place(of: index) == nil)
            #expect(set.indices == rest)
        }
    }

    @Test("of four older sessions the oldest goes, of three none (L-21)")
    func surplus() {
        for older: [UInt32] in [[], [7], [7, 8], [7, 8, 9]] {
            var set = set(older: older)
            let surplus = set.removeSurplus()
            #expect(surplus == nil)
            #expect(set.older.count == older.count)
        }
        var set = set(older: [6, 7, 8, 9])
        let surplus = set.removeSurplus()
        #expect(surplus?.localIndex == 6)
        #expect(set.older.map(\.localIndex) == [7, 8, 9])
    }

    struct Older: Sendable, CustomTestStringConvertible {
        let name: String
        /// Order, when it was heard of last, whether it has the peer's hello.
        let sessions: [(order: Int, heard: Int, hasHello: Bool)]
        let expected: SessionSet.Place?
        var testDescription: String { name }
    }

    @Test(
        "the older session that was heard of last is one that has the peer's hello",
        arguments: [
            Older(name: "none", sessions: [], expected: nil),
            Older(name: "none with a hello", sessions: [(1, 5, false)], expected: nil),
            Older(name: "one", sessions: [(1, 5, true)], expected: .older(0)),
            Older(name: "the later one", sessions: [(1, 9, true), (2, 5, true)], expected: .older(0)),
            Older(name: "the newer of two at once", sessions: [(1, 5, true), (2, 5, true)], expected: .older(1)),
            Older(name: "the newer first", sessions: [(3, 5, true), (2, 5, true)], expected: .older(0)),
            Older(name: "the later has no hello", sessions: [(1, 5, true), (2, 9, false)], expected: .older(0)),
        ])
    func lastHeard(_ row: Older) {
        // The sending session counts for nothing, however late it was heard of.
        var set = SessionSet(Parts.session(10, order: 9, hasHello: true, now: .at(99)))
        for (index, older) in row.sessions.enumerated().reversed() {
            set.join(
                older: Parts.session(
                    UInt32(index), order: older.order, hasHello: older.hasHello, now: .at(older.heard)))
        }
        #expect(set.lastHeardOlder == row.expected)
    }

    @Test(
        "a farewell came late if another session is newer, or was heard of since (L-34)",
        arguments: [
            (name: "newer and heard before", order: 3, heard: 40, hasHello: true, goesOn: true),
            (name: "newer without a hello", order: 3, heard: 60, hasHello: false, goesOn: false),
            (name: "older and heard before", order: 1, heard: 40, hasHello: true, goesOn: false),
            (name: "older and heard at that time", order: 1, heard: 50, hasHello: true, goesOn: false),
            (name: "older and heard since", order: 1, heard: 51, hasHello: true, goesOn: true),
            (name: "older, heard since, without a hello", order: 1, heard: 51, hasHello: false, goesOn: false),
        ])
    func goneOn(_ row: (name: String, order: Int, heard: Int, hasHello: Bool, goesOn: Bool)) {
        var set = SessionSet(Parts.session(10, order: 2, hasHello: true, now: .at(70)))
        #expect(!set.hasGoneOn(from: .sending, heardBefore: .at(50)))
        let other = Parts.session(11, order: row.order, hasHello: row.hasHello, now: .at(row.heard))
        set.join(older: other)
        #expect(set.hasGoneOn(from: .sending, heardBefore: .at(50)) == row.goesOn)
        // It is the same for one that is older itself.
        _ = set.promote(.older(0))
        #expect(set.hasGoneOn(from: .older(0), heardBefore: .at(50)) == row.goesOn)
    }
}
