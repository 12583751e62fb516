/// The memory of the server that outlasts a page.
package struct PageMemory: Equatable, Sendable {
    /// The name that the page proposes; nil once the user has chosen a name.
    package var proposal: String?
    /// The open chat that the page proposes; nil for `lobby`.
    package var lobby: String?
    /// The chat that a page showed last; nil for none.
    package var shown: String?

    package init(proposal: String? = nil, lobby: String? = nil, shown: String? = nil) {
        self.proposal = proposal
        self.lobby = lobby
        self.shown = shown
    }
}

/// The services of the surrounding program for the pages.
package struct PageHost {
    /// The memory at the start of the server.
    let memory: PageMemory
    /// Stores the memory for the next start.
    let store: (PageMemory) -> Void
    /// Finds out why a chat has no people. The function calls back on the event loop with the JSON object that
    /// `inkling doctor --json` prints; with nil after a failure.
    let examine: (_ chat: String, _ completion: @escaping (String?) -> Void) -> Void
    /// Returns whether the desktop's icon starts at login; nil if it is not installed.
    let icon: () -> Bool?
    /// Switches that, and returns the text of an error.
    let setIcon: (Bool) -> String?

    package init(
        memory: PageMemory = PageMemory(), store: @escaping (PageMemory) -> Void = { _ in },
        examine: @escaping (String, @escaping (String?) -> Void) -> Void = { $1(nil) },
        icon: @escaping () -> Bool? = { nil }, setIcon: @escaping (Bool) -> String? = { _ in nil }
    ) {
        self.memory = memory
        self.store = store
        self.examine = examine
        self.icon = icon
        self.setIcon = setIcon
    }
}
