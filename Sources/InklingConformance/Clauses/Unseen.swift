extension Clause {
    private static let socket =
        "the suite drives a program by its standard streams; [attach.py](reference/README.md#tests) attaches to a socket"

    /// The clauses that no case can see from outside, and why.
    static let unseen: [String: String] = [
        "L-29": "a vanished service and a goodbye need a discovery daemon; an ICMP error need not reach a UDP socket",
        "L-37": "a session is replaced after 60 minutes",
        "L-40": "the addresses of the machine would have to change",
        "L-56": "the suite does not look at the headers of IP",
        "L-79": "a counter reaches 2^32 - 3 after four thousand million datagrams",
        "T-25": "the time of day of the machine would have to be set",
        "D-8": "a daemon publishes the addresses of its own machine alone, so none that is off-link can be advertised",
        "D-10": "how many resolves are under way is seen by the program and its daemon alone",
        "D-15": "the machine would need an interface that the user left out",
        "D-16": "all that reaches a machine on loopback comes from an address of its own, which is on-link",
        "D-18": "the look-ups of a program are seen by its resolver alone",
        "D-19": "the instances of others must hide the address, and the user know the peer",
        "S-5":
            "showing names and texts safely is up to the reader of the JSON lines, which give them as they came (J-8)",
        "X-4": "no argument tells a program that it is under test",
        "X-5": "no argument tells a program that it is under test",
        "X-6": "the rule binds those who change the protocol",
        "J-14": "the suite reads whatever a program writes at once",
        "A-11": socket,
        "A-12": socket,
        "A-13": socket,
        "A-14": socket,
        "A-15": socket,
        "A-16": socket,
        "A-17": socket,
        "A-18": socket,
        "A-19": socket,
        "A-20": socket,
        "A-21": socket,
        "A-22": socket,
        "A-23": socket,
        "A-24": socket,
        "A-25": socket,
        "A-26": socket,
        "A-27": socket,
        "A-28": socket,
        "A-29": socket,
        "A-30": socket,
        "A-32": socket,
        "A-33": socket,
        "A-34": socket,
    ]
}
