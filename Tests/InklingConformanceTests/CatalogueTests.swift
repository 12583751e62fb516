import InklingConformance
import Testing

@Suite("The catalogue of cases")
struct CatalogueTests {
    @Test("each case has a number of its own, and names clauses that exist")
    func numbers() {
        let ids = Catalogue.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        for test in Catalogue.all {
            for clause in test.clauses { #expect(Clause.all[clause] != nil, "\(test.id) names \(clause)") }
            #expect(Set(test.clauses).count == test.clauses.count, "\(test.id) names a clause twice")
            #expect(!test.title.isEmpty && !test.title.hasSuffix("."), "\(test.id)")
        }
    }

    @Test("a selection names a case, a clause, a letter or a group")
    func selection() {
        #expect(Catalogue.cases(named: ["W-22.1"]).cases.map(\.id) == ["W-22.1"])
        let window = Catalogue.cases(named: ["W-22"]).cases
        #expect(!window.isEmpty && window.allSatisfy { $0.clauses.contains("W-22") })
        let wire = Catalogue.cases(named: ["W"]).cases
        #expect(wire.count > window.count && wire.allSatisfy { $0.id.hasPrefix("W-") })
        let typing = Catalogue.cases(named: ["typing"])
        #expect(!typing.cases.isEmpty && typing.cases.allSatisfy { $0.group == .typing } && typing.unknown == [])
        #expect(Catalogue.cases(named: []).cases.count == Catalogue.all.count)
        #expect(Catalogue.cases(named: ["W-22", "Q-1"]).unknown == ["Q-1"])
    }

    @Test("cases come in the order of the texts, by number, and those made from vectors after a clause's own")
    func order() throws {
        let ids = Catalogue.all.map(\.id)
        func follow(_ some: [String]) -> Bool {
            let places = some.map { ids.firstIndex(of: $0) ?? -1 }
            return places[0] >= 0 && zip(places, places.dropFirst()).allSatisfy { $0 < $1 }
        }
        #expect(follow(["W-1.1", "W-22.1", "W-22.4", "W-22.v1", "W-22.v2", "W-22.v10", "W-23.1"]))
        #expect(follow(["W-30.5", "L-1.1", "T-2.1", "M-1.1", "D-11.1", "S-1.1", "X-1.1", "J-4.1", "J-9.1", "J-12.1"]))
        let clauses = Catalogue.all.map(\.clauses[0])
        #expect(zip(clauses, clauses.dropFirst()).allSatisfy { !Clause.isOrdered($1, $0) })
    }

    @Test("the table lists clauses in the order of the texts and by number, and the cases of each likewise")
    func table() throws {
        let lines = Coverage().markdown.split(separator: "\n")
        let rows = lines.filter { $0.contains(" | MUST | ") || $0.contains(" | SHOULD | ") }
        let numbers = rows.map { String($0.split(separator: " ")[1]) }
        #expect(numbers == numbers.sorted(by: Clause.isOrdered) && numbers.first == "W-1" && numbers.last == "A-72")
        #expect(try #require(rows.first).contains("| W-1.1, W-15.v1 |"))
    }

    @Test("each clause has a case or a reason why none can see it, and not both")
    func coverage() { #expect(Coverage().gaps == []) }

    @Test("a clause is quoted with its level, its steps and the table that it names")
    func clauses() throws {
        let clause = try #require(Clause.all["W-14"])
        #expect(clause.level == .must && clause.text.hasPrefix("A node MUST send the last 48 bytes"))
        #expect(Clause.all["L-33"]?.level == .should)
        let steps = try #require(Clause.all["L-8"]).text.split(separator: "\n")
        try #require(steps.count == 10)
        #expect(steps[1] == "1. form (W-12, W-13), then source (D-15, D-16);")
        #expect(steps[9].hasPrefix("9. room for a link"))
        #expect(try #require(Clause.all["J-12"]).text.contains("\n|`--no-discovery`|"))
        #expect(try !#require(Clause.all["L-23"]).text.contains("\n"))
        let naming = Clause.all.values.filter { $0.text.contains("the table below") }
        #expect(naming.count > 3 && naming.allSatisfy { $0.text.contains("\n|") })
        #expect(Clause.isOrdered("W-9", "W-10") && Clause.isOrdered("W-30", "L-1") && !Clause.isOrdered("J-1", "X-3"))
    }
}
