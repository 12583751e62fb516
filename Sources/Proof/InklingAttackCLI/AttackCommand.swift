import ArgumentParser

@main
struct AttackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inkling-attack",
        abstract: "Measure what attacks from the network cost real nodes.",
        discussion: """
            Run it through `Scripts/benchmark attack`, which makes the network that it needs. It sends only to the \
            hosts of that network.
            """,
        subcommands: [BenchCommand.self, SendCommand.self, ListCommand.self])
}

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the attacks.")

    func run() {
        let width = Attack.allCases.map(\.rawValue.count).max() ?? 0
        for attack in Attack.allCases {
            print(attack.rawValue + String(repeating: " ", count: width + 2 - attack.rawValue.count) + attack.abstract)
        }
    }
}
