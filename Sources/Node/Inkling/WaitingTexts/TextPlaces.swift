import InklingModel
import InklingWire

/// The places on disk for the texts that wait, by share.
///
/// As in M-42, people whom the user has not verified leave a quarter of the places to the others. Strangers leave a half,
/// and one chat leaves three quarters. Half of a chat's share is for people met on several days. A throwaway key is met
/// on one.
struct TextPlaces {
    /// The texts that some people's texts count with.
    private enum Share: Hashable {
        case all, unverified, strangers
        case chat(String)
        case newcomers(String)
    }

    /// A number of texts, and their bytes.
    struct Use {
        var count = 0
        var size = 0
    }

    private var used: [Share: Use] = [:]
    /// The texts for those met on several days and for newcomers, by chat.
    private var parts: [String: (met: Int, newcomers: Int)] = [:]

    /// The places with the texts that are there now.
    init(_ stored: [TextQueues.Person: Use], rank: (TextQueues.Person) -> SenderRank) {
        for (person, use) in stored { add(use, for: person, rank(person)) }
    }

    /// Takes the place of a text, if there is one.
    ///
    /// The first text for either part of a chat needs room in the whole store alone. A full share thus leaves no chat
    /// without waiting texts.
    mutating func take(_ size: Int, for person: TextQueues.Person, _ rank: SenderRank) -> Bool {
        let isFirst = rank < .verified && (parts[person.chat].map { rank < .met ? $0.newcomers : $0.met } ?? 0) == 0
        let shares = Self.shares(of: person, rank)
        guard (isFirst ? shares.prefix(1) : shares[...]).allSatisfy({ hasRoom(for: size, in: $0) }) else {
            return false
        }
        add(Use(count: 1, size: size), for: person, rank)
        return true
    }

    private func hasRoom(for size: Int, in share: (Share, (numerator: Int, denominator: Int))) -> Bool {
        let (name, part) = share
        let use = used[name] ?? Use()
        return use.count < NodeLimits.waitingTexts / part.denominator * part.numerator
            && use.size + size <= NodeLimits.waitingTextBytes / part.denominator * part.numerator
    }

    private mutating func add(_ use: Use, for person: TextQueues.Person, _ rank: SenderRank) {
        for (share, _) in Self.shares(of: person, rank) {
            used[share, default: Use()].count += use.count
            used[share, default: Use()].size += use.size
        }
        guard rank < .verified else { return }
        if rank < .met {
            parts[person.chat, default: (0, 0)].newcomers += use.count
        } else {
            parts[person.chat, default: (0, 0)].met += use.count
        }
    }

    /// Returns the shares of a text, the whole store first.
    private static func shares(
        of person: TextQueues.Person, _ rank: SenderRank
    ) -> [(Share, (numerator: Int, denominator: Int))] {
        var shares: [(Share, (numerator: Int, denominator: Int))] = [(.all, (1, 1))]
        guard rank < .verified else { return shares }
        shares.append((.unverified, Limits.shareOfUnverified))
        if rank == .stranger { shares.append((.strangers, Limits.shareOfStrangers)) }
        shares.append((.chat(person.chat), Limits.shareOfSecretChat))
        if rank < .met { shares.append((.newcomers(person.chat), NodeLimits.shareOfNewcomers)) }
        return shares
    }
}
