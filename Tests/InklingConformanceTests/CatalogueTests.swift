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

    @Test("each clause has a case or a reason why none can see it, and not both")
    func coverage() { #expect(Coverage(vectors: [:]).gaps == []) }

    @Test("a clause is quoted with its level, and its rule is a sentence of it")
    func clauses() throws {
        let clause = try #require(Clause.all["W-14"])
        #expect(clause.level == .must && clause.text.hasPrefix("A node MUST send the last 32 bytes"))
        #expect(Clause.all["L-33"]?.level == .should)
        #expect(Clause.isOrdered("W-9", "W-10") && Clause.isOrdered("W-30", "L-1") && !Clause.isOrdered("J-1", "X-3"))
    }
}
