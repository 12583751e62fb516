import ArgumentParser

/// What the attacker does; the raw values are the names on the command line and in the table.
enum Attack: String, CaseIterable, ExpressibleByArgument {
    case initiations
    case initiationsSecret = "initiations-secret"
    case initiationsSpoofed = "initiations-spoofed"
    case initiationsRepeated = "initiations-repeated"
    case cookies
    case cookiesSpread = "cookies-spread"
    case responses
    case responsesSpoofed = "responses-spoofed"
    case asks
    case retries
    case sealedKnown = "sealed-known"
    case sealedRandom = "sealed-random"
    case instances
    case links
    case linksSpread = "links-spread"
    case linksKept = "links-kept"
    case messages
    case messagesCrowd = "messages-crowd"
    case messagesLarge = "messages-large"
    case probes

    /// What it does, in a line.
    var abstract: String {
        switch self {
        case .initiations: "initiations with random keys for the open chat, without a cookie, from one source"
        case .initiationsSecret: "the same for the tag of the secret chat"
        case .initiationsSpoofed: "the same for the open chat, from 16,384 spoofed sources on the link"
        case .initiationsRepeated: "one valid initiation, again and again"
        case .cookies: "1,024 valid initiations that come back with their cookies, from one source"
        case .cookiesSpread: "2,048 valid initiations that come back with their cookies, each from its own source"
        case .responses: "responses for indices that the victim handed out, from the address that it opened to"
        case .responsesSpoofed: "the same from 16,384 spoofed sources on the link"
        case .asks: "asks for the key of the open chat"
        case .retries: "retries for indices that the victim handed out"
        case .sealedKnown: "sealed garbage of 1,200 bytes for the index of a session of the attacker's own"
        case .sealedRandom: "sealed garbage of 1,200 bytes for random indices"
        case .instances: "2,048 forged service instances, some at the attacker's own address or the friend's"
        case .links: "1,100 identities open links in the open chat and hold them; then the friend starts again"
        case .linksSpread: "the same, each identity from its own address"
        case .linksKept: "the same from one address, each with a message, and the links are kept for a minute before"
        case .messages: "500 one-byte messages a second from one member to a reader of 20 lines a second"
        case .messagesCrowd: "the same from each of 20 members"
        case .messagesLarge: "the same from each of 20 members, with 1,163 bytes each"
        case .probes: "asks and initiations over an interface that was left out, and from a routed network"
        }
    }

    /// Whether it goes on while the friend starts again.
    var startsFriendAgain: Bool {
        switch self {
        case .instances, .links, .linksSpread, .linksKept: true
        case .initiations, .initiationsSecret, .initiationsSpoofed, .initiationsRepeated, .cookies, .cookiesSpread,
            .responses, .responsesSpoofed, .asks, .retries, .sealedKnown, .sealedRandom, .messages, .messagesCrowd,
            .messagesLarge, .probes:
            false
        }
    }

    /// Whether it fills the victim's links, and says so.
    var fillsLinks: Bool { [.links, .linksSpread, .linksKept].contains(self) }

    /// Whether the victim's output is read slowly meanwhile.
    var hasSlowReader: Bool { [.messages, .messagesCrowd, .messagesLarge].contains(self) }
}
