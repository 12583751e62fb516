/// Requests with an `id`, and the program's answers.
extension Program {
    /// The lines that have an `id`, in their order.
    package var answers: [(id: JSONValue, value: JSONValue)] {
        lines.compactMap { line in
            guard let value = line.value, let id = value["id"] else { return nil }
            return (id, value)
        }
    }

    /// Waits for the first line with an `id`, and returns it.
    package func awaitAnswer(_ id: JSONValue, to request: JSONValue) throws -> JSONValue {
        try trial.wait(
            .seconds(5), for: "a line with the `id` of \(describe(request))", actual: { "no such line came" },
            until: {
                if let exit { throw Finding(expected: "an answer", actual: "the program ended: \(exit.status)") }
                return answers.first { $0.id == id }?.value
            })
    }

    /// Sends a request with a new `id`, and waits for its answer.
    package func ask(_ members: [String: JSONValue]) throws -> JSONValue {
        var members = members
        members["id"] = .string("ask \(written)")
        let request = JSONValue.object(members)
        tell(request)
        return try awaitAnswer(.string("ask \(written - 1)"), to: request)
    }

    /// Sends a request with an `id`, and fails unless the answer is a line of that type.
    @discardableResult
    package func ask(_ members: [String: JSONValue], expecting kind: String) throws -> JSONValue {
        let answer = try ask(members)
        guard answer["on"]?.string == kind else {
            throw Finding(expected: "`\(kind)` for \(describe(.object(members)))", actual: describe(answer))
        }
        return answer
    }

    /// Sends a request with an `id`, and fails unless the answer is an error with that code.
    package func ask(_ members: [String: JSONValue], refusedWith code: String) throws {
        let answer = try ask(members, expecting: "error")
        guard answer["code"]?.string == code, answer["line"]?.integer == written, answer["text"]?.string != nil else {
            throw Finding(
                expected: "the code `\(code)` with the line \(written) for \(describe(.object(members)))",
                actual: describe(answer))
        }
    }
}

extension Trial {
    /// Starts a program whose requests are answered, or ends the case as unsupported.
    package func startAnswering(_ arguments: ProgramArguments, needs features: [Feature]) throws -> Program {
        let program = try start(arguments)
        guard program.readyLine["interface"] != nil else { throw Unsupported(feature: .interface) }
        try program.need(features)
        return program
    }

    /// Starts a program like ``startAnswering(_:needs:)``, in a chat that no other case uses.
    package func startAnswering(needs features: Feature...) throws -> Program {
        try startAnswering(ProgramArguments(chat: chatName), needs: features)
    }
}
