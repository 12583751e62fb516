import ArgumentParser

/// An attack. The raw values are the names on the command line and in the table.
enum Attack: String, CaseIterable, ExpressibleByArgument {
    case initiations
    case initiationsUnchecked = "initiations-unchecked"
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
    case pings
    case moves
    case names
    case instances
    case links
    case linksSpread = "links-spread"
    case messages
    case messagesCrowd = "messages-crowd"
    case messagesBegun = "messages-begun"
    case probes

    /// A description of the attack in one line.
    var abstract: String {
        switch self {
        case .initiations: "garbage under checks of the open chat, without a cookie, from one source"
        case .initiationsUnchecked: "garbage under random checks, as an outsider of a secret chat makes them"
        case .initiationsSpoofed: "garbage under checks of the open chat, from 16,384 spoofed sources on the link"
        case .initiationsRepeated: "one valid initiation, repeated"
        case .cookies: "1,024 valid initiations that return with their cookies, from one source"
        case .cookiesSpread: "2,048 valid initiations that return with their cookies, each from its own source"
        case .responses: "responses to the victim's initiations, from the address that they went to"
        case .responsesSpoofed: "responses to the victim's initiations, from 16,384 spoofed sources on the link"
        case .asks: "asks for the key of the open chat"
        case .retries: "retries for the victim's initiations"
        case .sealedKnown: "sealed garbage of 1,200 bytes for the index of the attacker's own session"
        case .sealedRandom: "sealed garbage of 1,200 bytes for random indices"
        case .pings: "pings on the link of a member of the open chat"
        case .moves: "heartbeats on a member's link, from 16,384 spoofed sources on the link"
        case .names: "2,048 forged service instances of other chats"
        case .instances: "2,048 forged service instances of the open chat, some at the friend's address"
        case .links: "1,100 identities open links in the open chat and hold them, from one source"
        case .linksSpread: "1,100 identities open links in the open chat and hold them, each from its own source"
        case .messages: "messages of one byte from one member to a reader of 20 lines a second"
        case .messagesCrowd: "messages of 1,167 bytes from 20 members, each from its own source, to such a reader"
        case .messagesBegun: "messages that 200 members, each from its own source, begin and never end"
        case .probes: "asks and initiations over an interface that was left out, and from a routed network"
        }
    }

    /// Whether the benchmark reads the victim's output slowly during the attack.
    var hasSlowReader: Bool { self == .messages || self == .messagesCrowd }

    /// Whether the attack fills the victim's links, and reports when they are full.
    var fillsLinks: Bool { self == .links || self == .linksSpread }
}
