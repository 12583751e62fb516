/// All cases, in the order of the specification's texts and by number.
package enum Catalogue {
    package static let all: [Case] = [
        (.handshake, [handshakeCases, wireCases, openingCases, attemptCases, retryCases, askCases]),
        (.handshake, [localAddressCases, securityCases]), (.sealed, [sealedCases]),
        (.malformed, [datagramCases, frameCases, malformedCases]), (.extensions, [extensionCases]),
        (.links, [linkCases, orderCases, farewellCases, sessionCases, epochCases, talkCases]),
        (.typing, [typingSenderCases, typingEndCases, typingReceiverCases]),
        (.presence, [presenceCases, silenceCases, addressCases, sleepCases, peopleCases]),
        (
            .messages,
            [
                messageCases, queueCases, deliveryCases, outcomeCases, windowCases, waitingCases, invitationCases,
                followingCases, departureCases,
            ]
        ),
        (.limits, [loadCases, limitCases, poolCases]),
        (.driver, [answerCases, driverCases, driverLineCases, driverStartCases, requestCases, invitationRequestCases]),
        (.driver, [moveRequestCases]),
        (.discovery, [discoveryCases]), (.vectors, [vectorCases]),
    ].flatMap(list).sorted { $0.place < $1.place }.map(\.test)

    private static func list(group: Case.Group, lists: [[Case]]) -> [(place: Place, test: Case)] {
        lists.flatMap { $0 }.map { test in
            var test = test
            test.group = group
            switch group {
            case .driver: test.need = .program
            case .discovery: test.need = .discovery
            case .vectors, .handshake, .sealed, .typing, .presence, .messages, .limits, .malformed, .extensions, .links:
                break
            }
            return (place(of: test.id), test)
        }
    }

    private typealias Place = (letter: Int, clause: Int, vectors: Int, number: Int)

    /// Returns the sort key of a case's number: its clause, then the clause's own cases, then the cases made from
    /// vectors.
    private static func place(of id: String) -> Place {
        let parts = id.split(separator: ".")
        let clause = Clause.place(of: String(parts[0]))
        let isOfVectors = parts[1].hasPrefix("v")
        guard let number = Int(parts[1].drop { $0 == "v" }) else { preconditionFailure("\(id) is not a case's number") }
        return (clause.letter, clause.number, isOfVectors ? 1 : 0, number)
    }

    /// Returns the cases that a selection names: by a case's number, a clause, the letter of clauses, or a group.
    /// `unknown` has the names that match no case.
    package static func cases(named names: [String]) -> (cases: [Case], unknown: [String]) {
        guard !names.isEmpty else { return (all, []) }
        let unknown = names.filter { name in !all.contains { $0.isNamed(by: name) } }
        return (all.filter { test in names.contains { test.isNamed(by: $0) } }, unknown)
    }
}

extension Case {
    /// Returns whether `name` is the case's number, one of its clauses, the letter of its first clause, or its group.
    package func isNamed(by name: String) -> Bool {
        id == name || clauses.contains(name) || name.count == 1 && id.hasPrefix(name + "-") || group.rawValue == name
    }
}
