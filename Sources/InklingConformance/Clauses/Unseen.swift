extension Clause {
    /// The clauses that no case can see from outside, and why.
    static let unseen: [String: String] = [
        "W-11": "the JSON lines carry no invites",
        "L-29": "a vanished service and a goodbye need a discovery daemon; an ICMP error need not reach a UDP socket",
        "L-37": "a session is replaced after 60 minutes or 2^31 datagrams",
        "L-38": "a session ends after 2 hours or 2^32 datagrams",
        "L-40": "the addresses of the machine would have to change",
        "D-8": "a daemon publishes the addresses of its own machine alone, so none that is off-link can be advertised",
        "D-10": "how many resolves are under way is seen by the program and its daemon alone",
        "D-15": "the machine would need an interface that the user left out",
        "D-16": "whatever reaches a machine on loopback comes from an address of its own, which is on-link",
        "D-18": "what a program looks up elsewhere is seen by its resolver alone",
        "L-56": "the suite does not look at the headers of IP",
        "L-57": "no JSON line changes the name of a node that runs",
        "S-5":
            "showing names and texts safely is up to the reader of the JSON lines, which give them as they came (J-8)",
        "J-14": "the suite reads whatever a program writes at once",
    ]
}
