import ArgumentParser
import InklingConformance

@main
struct ConformanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inkling-conformance",
        abstract: "Test an implementation of the Inkling protocol from outside.",
        discussion: """
            The program under test is driven through the JSON-lines interface (Protocol/api.md, "Standard streams"): \
            inkling-conformance adds the arguments given there to your command, plays the peers over UDP on loopback, \
            and judges what comes over the wire and what the program says it shows.
            """,
        subcommands: [RunCommand.self, ListCommand.self, CoverageCommand.self])

    func validate() throws {
        guard Specification.isPresent else {
            throw ValidationError(
                "Can't read the specification in \(Specification.folder). Keep the source tree in which you built this."
            )
        }
    }
}

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the cases.")

    @OptionGroup var selection: Selection

    func run() throws {
        for test in try selection.cases() {
            let number = test.id + String(repeating: " ", count: max(1, 8 - test.id.count))
            let level = test.clause.level.rawValue
            let padding = String(repeating: " ", count: 7 - level.count)
            print("\(number)\(level)\(padding)\(test.group.rawValue): \(test.title)")
        }
    }
}

/// Which cases are meant.
struct Selection: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Choose a case (W-3.2), a clause (W-3), a letter (W) or a group (typing); may be repeated.",
            valueName: "case"))
    var only: [String] = []

    @Option(help: "Choose a group; may be repeated.")
    var group: [Case.Group] = []

    @Flag(help: "Choose the published vectors alone.")
    var vectors = false

    @Flag(help: "Choose the cases that need a whole program, not its protocol alone.")
    var wholeProgram = false

    func cases() throws -> [Case] {
        let (named, unknown) = Catalogue.cases(named: only)
        if let name = unknown.first {
            throw ValidationError(
                "'\(name)' names no case. Give a clause (W-3), a case (W-3.2), a letter (W) or a group (typing); "
                    + "'inkling-conformance list' lists the cases with their groups.")
        }
        let groups = group + (vectors ? [.vectors] : [])
        let chosen = groups.isEmpty ? named : named.filter { groups.contains($0.group) }
        guard !chosen.isEmpty else { throw ValidationError("None of the cases that --only names is in that group.") }
        guard wholeProgram else { return chosen }
        let needy = chosen.filter { $0.need != nil }
        guard !needy.isEmpty else { throw ValidationError("Each of these cases needs the protocol alone.") }
        return needy
    }
}

extension Case.Group: ExpressibleByArgument {}
