/// All cases, in the order in which they are listed.
package enum Catalogue {
    package static let all: [Case] = [
        datagramCases, driverCases, driverLineCases, driverStartCases, extensionCases, frameCases, handshakeCases,
        malformedCases, orderCases, sealedCases, securityCases, vectorCases, wireCases, typingSenderCases,
        typingEndCases, typingReceiverCases, presenceCases, silenceCases, sleepCases, farewellCases, messageCases,
        deliveryCases, streamCases, outcomeCases, openingCases, attemptCases, crossedCases, retryCases, helloCases,
        bindingCases, sessionCases, askCases, loadCases, limitCases, discoveryCases,
    ].flatMap { $0 }

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
