/// All cases, in the order of the texts and by number.
package enum Catalogue {
    package static let all: [Case] = [
        linkCases, answerCases, datagramCases, driverCases, driverLineCases, driverStartCases, extensionCases,
        frameCases, handshakeCases, malformedCases, orderCases, sealedCases, securityCases, wireCases, vectorCases,
        typingSenderCases, typingEndCases, typingReceiverCases, presenceCases, silenceCases, addressCases,
        sleepCases, farewellCases, messageCases, queueCases, deliveryCases, outcomeCases, openingCases, attemptCases,
        retryCases,
        sessionCases, askCases, requestCases, localAddressCases, loadCases, limitCases, epochCases,
        windowCases, waitingCases, peopleCases, poolCases, discoveryCases,
    ].flatMap { $0 }.map { (place: place(of: $0.id), test: $0) }.sorted { $0.place < $1.place }.map(\.test)

    /// The place of a case's number: its clause, then the cases of that clause's own before those made from vectors.
    private static func place(of id: String) -> (letter: Int, clause: Int, vectors: Int, number: Int) {
        let parts = id.split(separator: ".")
        let clause = Clause.place(of: String(parts[0]))
        let isOfVectors = parts[1].hasPrefix("v")
        guard let number = Int(parts[1].drop { $0 == "v" }) else { preconditionFailure("\(id) is not a case's number") }
        return (clause.letter, clause.number, isOfVectors ? 1 : 0, number)
    }

    /// The cases that a selection names: by a case's number, a clause, a letter alone, or a group; and the names that
    /// name none.
    package static func cases(named names: [String]) -> (cases: [Case], unknown: [String]) {
        guard !names.isEmpty else { return (all, []) }
        let unknown = names.filter { name in !all.contains { $0.isNamed(by: name) } }
        return (all.filter { test in names.contains { test.isNamed(by: $0) } }, unknown)
    }
}

extension Case {
    /// Whether `name` is the case's number, one of its clauses, the letter of its first, or its group.
    package func isNamed(by name: String) -> Bool {
        id == name || clauses.contains(name) || name.count == 1 && id.hasPrefix(name + "-") || group.rawValue == name
    }
}
