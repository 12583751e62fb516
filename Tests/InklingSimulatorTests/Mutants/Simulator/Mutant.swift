/// The ways in which the core is broken on purpose; `mutants.txt` says how.
package enum Mutant: String, CaseIterable, Sendable {
    case lateExpiry, replayedStatus, restartedStream, recordsOutOfOrder, silentFailure, earlyReport, lostFarewell
    case reusedCounter, hastySilence, endlessSuspicion, oldIsNew, blockedMayReturn, messageKeepsTyping, endlessTyping
    case anyChat, keptMessages, fastHeartbeats, manyCopies, streamOfADeadLink, noReturn
    case everyMessageFails, alteredMessage, doubleReport, silenceIsBye, ownTyping, restless
}

/// The mutant that runs; nil: the core as it is. One at a time: it is set before a run, and never while one goes on.
nonisolated(unsafe) package var activeMutant: Mutant?
