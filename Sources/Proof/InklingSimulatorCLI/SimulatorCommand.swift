import ArgumentParser

/// The simulator's program: runs scenarios by their seeds, and replays any of them.
@main
struct SimulatorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inkling-sim",
        abstract: "Run the protocol on a virtual network under a virtual clock.",
        discussion: """
            Each seed draws a scenario of its own: nodes, faults of the network, what people and machines do, and \
            in some an adversary. Every promise is held against every step. Equal seeds give equal runs, to the byte.
            """,
        subcommands: [
            RunCommand.self, ReplayCommand.self, AccuracyCommand.self, IdleCommand.self, CrowdCommand.self,
            DigestCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}
