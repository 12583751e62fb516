import InklingWire

/// A responder's session until the first sealed datagram opens on it (L-12): it changes nothing that a user can see.
struct UnconfirmedSession {
    let person: PersonID
    /// All bytes of the initiation, and of our response to it.
    let initiation: [UInt8]
    let response: [UInt8]
    let expires: Instant
    var session: Session
}

/// A complete session whose peer's hello, which says to which link it belongs, has not come.
struct GreetingSession {
    let person: PersonID
    let expires: Instant
    /// The link that we take this session to be a new one of; its streams go into our hello.
    private(set) var presumedLink: LinkID?
    /// Our stream, if it turns out to be the first session of a link.
    private(set) var stream: UInt32
    /// Whether its hello came, and there was no room for its link.
    var isRefused = false
    var session: Session

    init(person: PersonID, presumedLink: LinkID?, stream: UInt32, session: Session, now: Instant) {
        self.person = person
        self.presumedLink = presumedLink
        self.stream = stream
        self.session = session
        expires = now + Limits.helloTimeout
        self.session.hello.begin(now)
    }

    /// A link came up to which it most likely belongs as well: its hellos name that link's stream from now on.
    mutating func presume(_ link: LinkID) { presumedLink = link }

    /// The link that it was taken to belong to is over.
    mutating func loseLink(stream: UInt32) {
        presumedLink = nil
        self.stream = stream
    }

    /// The hello that it would carry now.
    ///
    /// - Parameter link: The presumed link.
    func hello(_ link: Link?, _ surroundings: Surroundings) -> Hello {
        if let link { return link.hello(surroundings) }
        return Hello(
            run: surroundings.configuration.run, stream: stream, heldStream: 0, nextRecord: 0,
            name: surroundings.name)
    }
}

/// The sessions that belong to no link yet.
struct Handshakes {
    private var unconfirmed: [UInt32: UnconfirmedSession] = [:]
    private var greetings: [UInt32: GreetingSession] = [:]
    private var byPerson = Index<PersonID, UInt32>()
    /// The unconfirmed ones, by all bytes of the initiation.
    private var byInitiation: [[UInt8]: UInt32] = [:]
    private var touched: [UInt32] = []

    // MARK: Queries

    var count: Int { unconfirmed.count + greetings.count }
    var unconfirmedCount: Int { unconfirmed.count }
    var sortedIndices: [UInt32] { (Array(unconfirmed.keys) + Array(greetings.keys)).sorted() }

    /// Where an index leads that belongs to no link.
    enum Place {
        case unconfirmed(UnconfirmedSession)
        case greeting(GreetingSession)
    }

    func place(of index: UInt32) -> Place? {
        if let session = greetings[index] { return .greeting(session) }
        return unconfirmed[index].map(Place.unconfirmed)
    }

    func isInUse(_ index: UInt32) -> Bool { unconfirmed[index] != nil || greetings[index] != nil }

    func chat(of index: UInt32) -> ChatTag? { greetings[index]?.person.chat ?? unconfirmed[index]?.person.chat }

    /// The response that an initiation with just those bytes was given, while its session is unconfirmed (L-8, step 3).
    func response(to initiation: [UInt8]) -> [UInt8]? {
        guard !byInitiation.isEmpty else { return nil }
        return byInitiation[initiation].flatMap { unconfirmed[$0]?.response }
    }

    /// The complete sessions with a person, by their local index.
    func greetings(of person: PersonID) -> [GreetingSession] { byPerson[person].compactMap { greetings[$0] } }

    /// Until when an opening is left to the peer, whose initiation came before (L-14).
    ///
    /// - Parameter addresses: Those that count; nil for all.
    func openingIsLeft(to person: PersonID, at addresses: [Address]? = nil) -> Instant? {
        func counts(_ session: Session) -> Bool { addresses?.contains(session.address) ?? true }
        return byPerson[person].compactMap { index -> Instant? in
            if let session = unconfirmed[index]?.session, counts(session) {
                return session.createdAt + Limits.openingDelay
            }
            guard let greeting = greetings[index], greeting.session.role == .responder, counts(greeting.session)
            else { return nil }
            return greeting.expires
        }.max()
    }

    func deadline(of index: UInt32) -> Instant? {
        if let greeting = greetings[index] { return earliest(greeting.session.hello.nextRepeat, or: greeting.expires) }
        return unconfirmed[index]?.expires
    }

    /// Those that were added, changed or taken away since the last call.
    mutating func takeTouched() -> [UInt32] {
        guard !touched.isEmpty else { return [] }
        defer { touched.removeAll() }
        return touched
    }

    // MARK: Changes

    /// An initiation was answered; of too many unconfirmed sessions the oldest goes (L-12).
    mutating func add(_ session: UnconfirmedSession) {
        if unconfirmed.count >= Limits.unconfirmedSessions {
            let oldest = unconfirmed.values.min {
                ($0.session.createdAt, $0.session.localIndex) < ($1.session.createdAt, $1.session.localIndex)
            }
            if let oldest { remove(oldest.session.localIndex) }
        }
        let index = session.session.localIndex
        unconfirmed[index] = session
        byInitiation[session.initiation] = index
        enter(index, session.person)
    }

    mutating func add(_ session: GreetingSession) {
        let index = session.session.localIndex
        greetings[index] = session
        enter(index, session.person)
    }

    private mutating func enter(_ index: UInt32, _ person: PersonID) {
        byPerson.insert(index, for: person)
        touched.append(index)
    }

    /// Puts back what was changed of a session that has not left.
    mutating func update(_ session: GreetingSession) {
        let index = session.session.localIndex
        guard greetings[index] != nil else { preconditionFailure("only a session that has not left is put back") }
        greetings[index] = session
        touched.append(index)
    }

    mutating func update(_ session: UnconfirmedSession) {
        let index = session.session.localIndex
        guard unconfirmed[index] != nil else { preconditionFailure("only a session that has not left is put back") }
        unconfirmed[index] = session
    }

    /// A session is over, or belongs to a link now.
    mutating func remove(_ index: UInt32) {
        if let session = unconfirmed.removeValue(forKey: index) {
            byInitiation[session.initiation] = nil
            byPerson.remove(index, for: session.person)
        } else if let session = greetings.removeValue(forKey: index) {
            byPerson.remove(index, for: session.person)
        }
        touched.append(index)
    }

    /// All sessions with those that `condition` names are over.
    mutating func removeAll(where condition: (PersonID) -> Bool) {
        for index in sortedIndices {
            let person = greetings[index]?.person ?? unconfirmed[index]?.person
            if let person, condition(person) { remove(index) }
        }
    }

    /// A link came up: what other handshakes with that person are still to bring most likely belongs to it as well.
    ///
    /// - Returns: The streams that their hellos have named.
    mutating func presume(_ link: LinkID, of person: PersonID) -> [UInt32] {
        byPerson[person].compactMap { index in
            guard var greeting = greetings[index], greeting.presumedLink == nil else { return nil }
            greeting.presume(link)
            update(greeting)
            return greeting.stream
        }
    }

    /// A link is over: hellos of the sessions that were taken for its own name streams of their own from now on.
    mutating func loseLink(_ link: LinkID, of person: PersonID, _ effects: inout Effects) {
        for index in byPerson[person] {
            guard var greeting = greetings[index], greeting.presumedLink == link else { continue }
            greeting.loseLink(stream: effects.stream())
            update(greeting)
        }
    }
}
