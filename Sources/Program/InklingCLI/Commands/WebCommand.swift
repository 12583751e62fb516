import ArgumentParser

struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Chat in the browser.",
        discussion: """
            It serves a page to this user alone, at a random address of this machine, and opens it. The page uses your \
            daemon. If none runs, one starts, and stays when this command ends. A second "inkling web" opens another \
            page of the running server.

            inkling web
            inkling web --no-open                     prints the address of the page
            """)

    @Option(help: ArgumentHelp("Serve the page at this TCP port (default: any free one).", valueName: "port"))
    var port: UInt16 = 0

    @Flag(help: "Print the address of the page, and open no browser.")
    var noOpen = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            try WebProgram.run(port: port, opens: !noOpen, stateDirectory: daemon.stateDir)
        }
    }
}
