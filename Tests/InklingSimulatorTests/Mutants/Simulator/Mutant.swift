/// The ways in which the core is broken on purpose; `mutants.txt` says how.
package enum Mutant: String, CaseIterable, Sendable {
    case lateExpiry, replayedStatus, restartedStream, recordsOutOfOrder, silentFailure, earlyReport, lostFarewell
    case reusedCounter, hastySilence, endlessSuspicion, oldIsNew, blockedMayReturn, messageKeepsTyping, endlessTyping
    case anyChat, keptMessages, fastHeartbeats, manyCopies, streamOfADeadLink, noReturn
    case everyMessageFails, alteredMessage, doubleReport, silenceIsBye, ownTyping, restless
    case crowdedSource, noRank, everyDestination, noAnswerShare
    case manyOwnHosts, ownHostIsNone, fewInstances, forgetsFriends
    case loneEdge, rareHeartbeats, frequentHeartbeats, noStretching, silentHeartbeats, lostStart, lazyAway
    case unrepeatedName, swallowedName
    // Those that break one clause each, for the cases of the conformance suite.
    case echoesStrangers, countsFromOne, reservedCounter, anyLastWill, noReplayWindow, unmarkedError
    case markedForgery, toleratesErrors, eagerLargerKey, oneTransmission, longPauses, brokenByForgery
    case answersTwice, neverUnderLoad, noShares, anyCookie, strangeRetry, stubbornLargerKey, rareHellos
    case deafToHellos, bareDatagrams, oldHello, oldEvidence, rootedAddress, boundless, drownedByes, patience, pongAlone
    case rootedPong, credulous, anyPong, anyPongOfOurs, generous, hastyChecks, forgivesGuesses
    case trustsOldRuns, oneBye, noWill, clingsByHand, unsaidSilence, ignoresUnheard, crowdedChats
    case forgetfulHello, anyTell, talkative, commandsCount, blanksCount, repetitionCounts, hastyStarts
    case lazyHeartbeats, awayTypes, longEvidence, manyStarts, oldestFirst, bargesIn, believesTheFuture
    case keepsLostState, nakedMessages, wideWindow, steadyTimer, slowRepair, endlessQueue, silentDuplicates
    case emptyBitmap, hoards, falseReason, noHandshakeAfterSleep, everyResponse, strayResponses
    case everyRetry, manyRuns, firstCome, everPolite
    case oneHoldsAll, noTurns, endlessDelivery, hoardsText, onePool, noTextRanks, freeChain, everyList, everyPresence
}

/// The mutant that runs; nil: the core as it is. One at a time: it is set before a run, and never while one goes on.
nonisolated(unsafe) package var activeMutant: Mutant?
