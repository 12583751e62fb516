import Foundation
import InklingWire
import Testing

/// A row of `Protocol/limits.md`, and what the code has for it: counts, or times in milliseconds.
struct LimitRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let values: [Double]

    init(_ name: String, _ values: Int...) {
        testDescription = name
        self.values = values.map { Double($0) }
    }

    init(_ name: String, counters: UInt64...) {
        testDescription = name
        values = counters.map { Double($0) }
    }

    init(_ name: String, _ times: [Duration]) {
        testDescription = name
        values = times.map { $0 / .milliseconds(1) }
    }

    static let all: [LimitRow] = sizes + numbers + times

    private static let sizes: [LimitRow] = [
        LimitRow("maximum datagram size", Limits.maximumDatagramSize),
        LimitRow("minimum sealed datagram size", SealedDatagram.headerSize + SealedDatagram.ciphertextSizes.lowerBound),
        LimitRow("maximum record text size", Limits.maximumRecordTextSize),
        LimitRow("maximum message size", Limits.maximumMessageSize),
        LimitRow("maximum name size (display name)", Limits.maximumNameSize),
        LimitRow("maximum chat name size", Limits.maximumChatNameSize),
        LimitRow("maximum TXT size sent, read", Limits.maximumTXTSizeSent, Limits.maximumTXTSizeRead),
        LimitRow("highest ordinary counter", counters: Limits.highestOrdinaryCounter),
        LimitRow("last will counter", counters: Limits.lastWillCounter),
        LimitRow("rekey counter", counters: Limits.rekeyCounter),
        LimitRow("replay window", Limits.replayWindow),
    ]

    private static let numbers: [LimitRow] = [
        LimitRow("chats per node", Limits.chatsPerNode),
        LimitRow("links per node", Limits.linksPerNode),
        LimitRow("links per source", Limits.linksPerSource),
        LimitRow("links of other users of the host", Limits.linksOfOtherUsers),
        LimitRow("resolves and queries that begin", Limits.resolvesPerSecond, Limits.resolveBurst),
        LimitRow("links per key and chat", Limits.linksPerKey),
        LimitRow(
            "initiations to an address that never answered", Limits.initiationsPerSecondPerDestination,
            Limits.initiationBurstPerDestination, Limits.initiationsKeptPerDestination),
        LimitRow(
            "addresses remembered that answered, and that did not", Limits.destinations, Limits.destinations),
        LimitRow(
            "initiations in a row that the larger key gives way to, of which none was confirmed",
            Limits.unconfirmedTurns),
        LimitRow("retries, and to known addresses besides", Limits.retriesPerSecond, Limits.retriesToKnownPerSecond),
        LimitRow(
            "initiations with a cookie from unknown addresses", Limits.initiationsOpenedOfUnknownPerSecond),
        LimitRow("older sessions per link", Limits.supersededSessions),
        LimitRow("pings of a link whose pongs are awaited", Limits.pingsInFlight),
        LimitRow("sources of these that are counted", Limits.initiationSources),
        LimitRow("later records acknowledged until one is lost", Limits.laterRecordsUntilLost),
        LimitRow("addresses per instance", Limits.addressesPerInstance),
        LimitRow("instances per key", Limits.instancesPerKey),
        LimitRow("instances of a key that are opened to at once", Limits.openingsPerKey),
        LimitRow("instances without room that are remembered", Limits.displacedInstances),
        LimitRow(
            "keys whose last addresses are remembered", Limits.rememberedKeys, Limits.addressesPerRememberedKey),
        LimitRow("keys of a chat that are opened to at one address", Limits.keysPerAddress),
        LimitRow(
            "addresses with more of them that are asked", Limits.crowdedAddresses, Limits.crowdedAddressesPerSecond),
        LimitRow("resolves and queries under way", Limits.resolvesAtOnce),
        LimitRow("pending initiations", Limits.pendingInitiations, Limits.pendingInitiationsToStrangers),
        LimitRow(
            "initiations sent", Limits.initiationsSentPerSecond, Limits.initiationsToStrangersPerSecond),
        LimitRow(
            "responses opened, for each transmission and address that it went to", Limits.responsesPerTransmission),
        LimitRow("responses opened from other addresses", Limits.strayResponsesPerSecond),
        LimitRow("initiations before load", Limits.loadInitiationsPerSecond),
        LimitRow("unconfirmed sessions before load", Limits.loadUnconfirmedSessions),
        LimitRow(
            "initiations answered", Limits.initiationsAnsweredPerSecond, Limits.answersToUnknownPerSecond,
            Limits.answersToUnpreferredPerSecond),
        LimitRow(
            "initiations with a cookie per source", Limits.cookieInitiationsPerSecondPerSource,
            Limits.cookieInitiationBurstPerSource),
        LimitRow("unconfirmed sessions", Limits.unconfirmedSessions),
        LimitRow("datagrams per link", Limits.datagramsPerSecondPerLink, Limits.datagramBurstPerLink),
        LimitRow("hello answers per session", Limits.helloAnswersPerSession),
        LimitRow("asks answered", Limits.asksAnsweredPerSecond),
        LimitRow("typing starts shown per link", Limits.typingStartsPerSecond, Limits.typingStartsPerSecond),
        LimitRow("records in flight", Limits.recordsInFlight),
        LimitRow("text held for reassembly", Limits.reassemblyBytesPerLink),
        LimitRow("text held that the user has not taken", Limits.heldText),
        LimitRow("room for messages that are not whole", Limits.heldText),
        LimitRow("of each of these two pools, unverified people", Limits.heldTextOfUnverified),
        LimitRow("of each, strangers", Limits.heldTextOfStrangers),
        LimitRow("of each, unverified people of one secret chat", Limits.heldTextPerSecretChat),
        LimitRow("of each, unverified people of one source", Limits.heldTextPerSource),
        LimitRow("what a link holds of a pool at most, for example", Limits.heldTextShare),
        LimitRow("lists of typists reported in a chat", Limits.listsPerSecond, Limits.listsPerSecond),
        LimitRow(
            "presences and names reported in a chat within a second of another of that person",
            Limits.repeatedPresencesPerSecond, Limits.repeatedPresencesPerSecond),
        LimitRow("records per link", Limits.recordsPerSecondPerLink, Limits.recordBurstPerLink),
        LimitRow("records per node", Limits.recordsPerSecondPerNode, Limits.recordBurstPerNode),
        LimitRow("records between two reads", Limits.recordsPerInput),
        LimitRow("text queued per peer", Limits.queuedBytesPerPeer),
        LimitRow("added to the size of each queued message", Limits.queuedMessageOverhead),
    ]

    private static let times: [LimitRow] = [
        LimitRow("typing expiry", [Limits.typingExpiry]),
        LimitRow("typing idle stop", [Limits.typingIdleStop]),
        LimitRow("typing start interval", [Limits.typingStartInterval]),
        LimitRow("typing heartbeat interval", [Limits.typingHeartbeatInterval]),
        LimitRow("bye copies", Limits.edgeCopies),
        LimitRow("edge copies", Limits.edgeCopies),
        LimitRow("idle interval", [Limits.idleInterval]),
        LimitRow("interval accepted from others", [Limits.minimumIdleInterval, Limits.maximumIdleInterval]),
        LimitRow("probe interval", [Limits.probeInterval]),
        LimitRow("late timer", [Limits.lateTimer]),
        LimitRow("changes of a person that follow one another", [Limits.repeatedPresencePeriod]),
        LimitRow("longest delivery of the oldest message", [Limits.longestDelivery]),
        LimitRow("age of the oldest message with which a full queue is the peer's own", [Limits.overdueMessage]),
        LimitRow("pause between the records of a stream of which something waits", [Limits.reassemblyPause]),
        LimitRow(
            "longest time for which a message is put together, or a gap waits for its record",
            [Limits.longestReassembly]),
        LimitRow("opening delay of the larger key", [Limits.openingDelay]),
        LimitRow("transmissions of an attempt", [.zero] + Limits.transmissionOffsets),
        LimitRow("attempt", [Limits.attemptDuration]),
        LimitRow("pauses between attempts", Limits.attemptPauses),
        LimitRow("asks after the first five", [Limits.askInterval]),
        LimitRow("fast opening period", [Limits.fastOpeningPeriod]),
        LimitRow("slow opening interval", [Limits.slowOpeningInterval]),
        LimitRow("last addresses of silent links that are tried", Limits.rememberedAddresses),
        LimitRow("age of a link whose last address is tried", [Limits.memorableLinkAge]),
        LimitRow(
            "pause after a bye: for discovered instances, for addresses by hand",
            [Limits.openingPauseAfterBye, Limits.openingPauseAfterByeByHand]),
        LimitRow("hello interval", [Limits.helloInterval]),
        LimitRow("hello answer interval", [Limits.helloAnswerInterval]),
        LimitRow("hello timeout", [Limits.helloTimeout]),
        LimitRow("unconfirmed session", [Limits.unconfirmedLifetime]),
        LimitRow("superseded session", [Limits.supersededLifetime]),
        LimitRow("rekey, initiator and responder", [Limits.rekeyAfter, Limits.responderRekeyAfter]),
        LimitRow("rekey repeat", [Limits.rekeyRepeat]),
        LimitRow("session lifetime", [Limits.sessionLifetime]),
        LimitRow("cookie lifetime", [Limits.cookieSecretLifetime * 2]),
        LimitRow("resolve", [Limits.resolveTimeout]),
        LimitRow(
            "wait of a transmission, of an attempt, and of an opening that gave way, when initiations are used up",
            [Limits.transmissionDelay, Limits.crowdedOpeningDelay, Limits.displacedOpeningDelay]),
        LimitRow("wait of records after those between two reads", [Limits.recordRest]),
        LimitRow("stalled stream", [Limits.stalledStream]),
        LimitRow("retransmission timer", [Limits.initialRTO, Limits.minimumRTO, Limits.maximumRTO]),
    ]
}

@Suite("Limits")
struct LimitsTests {
    @Test("the code has what the specification's page of limits says", arguments: LimitRow.all)
    func specification(_ row: LimitRow) throws {
        let page = String(decoding: try contents(of: "../../Protocol/limits.md"), as: UTF8.self)
        let cells = try #require(
            page.split(separator: "\n").map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
                .first { $0.first == row.testDescription }, "a row of that name")
        #expect(numbers(in: cells[1]).prefix(row.values.count) == row.values[...], "\(cells[1])")
    }

    /// The numbers of a cell, times in milliseconds: a unit holds for the numbers before it too.
    private func numbers(in cell: String) -> [Double] {
        let units: [Substring: Double] = [
            "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "KiB": 1_024, "MiB": 1_048_576,
        ]
        var numbers: [Double] = []
        var waiting = 0
        for match in cell.matches(of: #/(\d[\d,]*(?:\.\d+)?)(?:\^(\d+))?(?: − (\d+))?(?: (ms|s|min|h|KiB|MiB)\b)?/#) {
            let digits = match.1.hasSuffix(",") ? match.1.dropLast() : match.1
            var number = Double(digits.replacing(",", with: "")) ?? .nan
            if let exponent = match.2.flatMap({ Double($0) }) { number = pow(number, exponent) }
            if let less = match.3.flatMap({ Double($0) }) { number -= less }
            numbers.append(number)
            if let unit = match.4.flatMap({ units[$0] }) {
                for index in waiting..<numbers.count { numbers[index] *= unit }
                waiting = numbers.count
            }
        }
        return numbers
    }

    @Test("W-28: a record's text is what a full datagram holds behind a typing frame")
    func recordText() {
        let header = SealedDatagram.headerSize + CipherKey.tagSize
        #expect(Limits.maximumRecordTextSize == Limits.maximumDatagramSize - header - 2 - 10)
        #expect(SealedDatagram.ciphertextSizes.upperBound == Limits.maximumDatagramSize - SealedDatagram.headerSize)
    }

    @Test("L-26, L-27: at an interval of 1 s the pings end 3.0 s after the last evidence")
    func suspicion() {
        let suspected = Limits.idleInterval * Limits.suspicionQuarterIntervals / 4
        #expect(suspected + Limits.pingInterval * Limits.suspicionPings == .seconds(3))
    }
}
