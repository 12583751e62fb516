extension Catalogue {
    static let driverCases: [Case] = [
        Case(
            "J-3.1", "the first line is `ready`, with user, name, port, chat, version and key", also: "J-12", "J-13",
            group: .driver
        ) { trial in
            let program = try trial.start(ProgramArguments(chat: trial.chatName, name: "Zoë"))
            let ready = program.readyLine
            for (member, expected) in [("name", "Zoë"), ("chat", trial.chatName), ("user", program.user)] {
                guard ready[member]?.string == expected else {
                    throw Finding(expected: "`\(member)` is \(expected)", actual: program.describe(ready))
                }
            }
            guard ready["version"]?.string != nil else {
                throw Finding(expected: "a text `version`", actual: program.describe(ready))
            }
            for word in ready["unsupported"]?.array ?? [] where word.string.flatMap(Feature.init(rawValue:)) == nil {
                throw Finding(expected: "words of J-13 in `unsupported`", actual: program.describe(ready))
            }
        },
        Case("J-9.1", "`who` is answered with one line, also where nobody is there", group: .driver) { trial in
            let program = try trial.start(needs: .who)
            program.tell(["do": "who"])
            let answer = try program.await("who")
            guard answer.value["peers"]?.array?.isEmpty == true else {
                throw Finding(expected: "an empty list `peers`", actual: program.describe(answer.value))
            }
            try trial.never(for: .milliseconds(500), "one answer", actual: { "a second one came" }) {
                program.events("who").count > 1
            }
        },
        Case("J-10.1", "`quit` ends it with bye and exit status 0", also: "L-32", group: .driver) { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            try peer.open(to: program)
            program.tell(["do": "quit"])
            try trial.wait(.seconds(2), for: "a bye", until: { peer.byes.isEmpty ? nil : true })
            let status = try program.awaitExit()
            guard status == .exited(0) else { throw Finding(expected: "exit status 0", actual: "\(status)") }
        },
    ]
}
