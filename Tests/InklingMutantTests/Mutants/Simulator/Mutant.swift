/// The ways in which the core is broken on purpose; `mutants.txt` says how.
package enum Mutant: String, CaseIterable, Sendable {
    case lateExpiry, replayedStatus, silentFailure, earlyReport, reusedCounter, hastySilence, endlessSuspicion
    case oldIsNew, blockedMayReturn, messageKeepsTyping, endlessTyping, anyChat, keptMessages, fastHeartbeats
    case manyCopies, keptEpoch, anyPair, anyEpoch, anyDatagramRevives, forgetsAtOnce
    case everyMessageFails, alteredMessage, doubleReport, silenceIsBye, ownTyping, restless, lostFarewell
    case deliversTwice, anyRecord, rootedDown, twoLinksOfARun, tellsGhosts
    case unheardEverywhere, noRepeats, neverUnderLoad, everyResponse, strayResponses, crowdedSource, noRank
    case manyRuns, noAnswerShare, noShares, everyRetry, talkative, manyOwnHosts, ownHostIsNone, fewInstances
    case forgetsFriends, everyDestination, boundless, hoardsText, noTextRanks, everyList, everyPresence
    case loneEdge, hastyStarts, lostStart, rareHeartbeats, lazyHeartbeats, noStretching, silentHeartbeats
    case lazyAway, swallowedName, swallowedText, frequentHeartbeats
    case followsAnybody, takesSecond, removesOwner, followsOften, movesOften, anyFormer, givesNewest
    case refusesNobody, givesAnybody, givesFormer, givesOnce, hastySuccessor, showsDeparted
    case hastyAck, showsRepeated, hastyCopy, unreachable, forgetsSeen, anotherID, overtakes
}

extension Mutant: Comparable {
    package static func < (left: Mutant, right: Mutant) -> Bool { left.rawValue < right.rawValue }
}

/// The mutant that runs; nil: the core without a mutant. A test sets it before a run, and never during one.
nonisolated(unsafe) package var activeMutant: Mutant?
