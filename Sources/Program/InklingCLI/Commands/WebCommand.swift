import ArgumentParser

struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Chat in the browser.",
        discussion: """
            Serve a page that only you can open, at a random address of this machine, and open the browser. The page \
            uses your daemon. If no daemon runs, the command starts a daemon, which stays when the command ends. A \
            second "inkling web" opens another page of the running server.

            inkling web
            inkling web --no-open                     prints the address of the page
            """)

    @Option(help: ArgumentHelp("Serve the page at this TCP port (default: any free one).", valueName: "port"))
    var port: UInt16?

    @Flag(help: "Print the address of the page, and open no browser.")
    var noOpen = false

    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        // Browsers leave out this port, and the server demands its full address.
        guard port != 80 else { throw ValidationError("--port 80 can't serve the page; choose another port.") }
    }

    func run() throws {
        try CommandFailure.reporting {
            try WebProgram.run(port: port ?? 0, opens: !noOpen, stateDirectory: daemon.stateDir)
        }
    }
}
