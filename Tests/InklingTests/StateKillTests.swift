import Glibc
import InklingCore
import InklingModel
import InklingWire
import ProcessSupport
import SeededRandom
import Testing

@testable import Inkling

/// A state that joins, verifies, moves and leaves, one act after the other. Its age is the number of acts so far.
private struct ActingState {
    var contents = StateContents()
    private(set) var count = 0

    init() { contents.age = Self.age(0) }

    static func age(_ count: Int) -> AgeCounter {
        AgeCounter(age: Age.zero + .seconds(count), boot: "b", sinceBoot: 5, anchor: nil, hasGap: false)
    }

    private static func id(_ number: Int) -> String {
        hexadecimal([UInt8](repeating: 0, count: 8) + UInt64(number).bigEndianBytes)
    }

    private static func chat(_ number: Int, isMoved: Bool = false) throws -> Chat {
        let digits = String(number).utf8.map { UnicodeScalar($0 - 0x30 + 0x61) }
        var text = isMoved ? "z" : "y"
        for digit in digits { text.unicodeScalars.append(digit) }
        text += String(repeating: "a", count: 26 - text.utf8.count)
        return try Chat("chat \(number)", secret: Secret(text), owner: SomeText.key(9))
    }

    /// Performs the next act here, and returns it for the tables.
    mutating func act() throws -> StateTables.Job {
        count += 1
        let (number, count) = (count / 5, count)
        let age = Self.age(count)
        contents.age = age
        let former = try Self.chat(number)
        let key = try SomeText.key(number % 100)
        var work: @Sendable (StateTables) throws(Database.Failure) -> Void = { _ in }
        switch count % 5 {
        case 0:
            contents.chats.put(former)
            contents.names.add(former.name, isOpen: false)
            let (chats, name) = (contents.chats, contents.names.record(former.name, isOpen: false))
            work = { tables throws(Database.Failure) in
                try tables.replace(.chat, by: chats.records)
                if let name { try tables.put(name.key, name.content) }
            }
        case 1:
            var random = SeededGenerator(seed: 1)
            let time = MeetingTime(wall: Double(count), age: age.age)
            _ = contents.people.met(key, name: "Bob", chat: former.storedName, at: time, using: &random)
            contents.people.setVerified(number % 2 == 0, key, at: time, using: &random)
            contents.people.setBlocked(number % 3 == 0, key, at: time, using: &random)
            let person = contents.people[key]
            work = { tables throws(Database.Failure) in try tables.put(key, person) }
        case 2 where contents.chats.chats.contains(former):
            let next = try Self.chat(number, isMoved: true)
            contents.chats.put(next)
            contents.people.carry([key], from: former.storedName, to: next.storedName)
            let place = Moves.Place(
                fingerprint: next.keys.fingerprint, owner: try SomeText.key(9), removed: [key],
                secret: next.secret?.wire)
            let chain = Moves.Chain(
                id: Self.id(number), turn: number, left: [former.keys.fingerprint], place: place, log: Self.id(number),
                ownLog: nil, departures: [])
            contents.moves = Moves(contents.moves.chains.suffix(5) + [chain])
            let (moves, person) = (contents.moves, contents.people[key])
            work = { tables throws(Database.Failure) in
                try tables.replace(.chain, by: moves.records)
                try tables.put(key, person)
                try tables.replace(former, by: next)
            }
        case 3 where number >= 2:
            contents.chats.remove(Self.name(number - 2))
            let ending = Self.id(number - 2)
            contents.ending.append(ending)
            let chats = contents.chats
            work = { tables throws(Database.Failure) in
                try tables.replace(.chat, by: chats.records)
                try tables.put(StateTables.Key(.ending, ending), [])
            }
        default:
            let ending = contents.ending
            contents.ending = []
            work = { tables throws(Database.Failure) in
                for id in ending { try tables.remove(StateTables.Key(.ending, id)) }
            }
        }
        return StateTables.Job { [work] tables throws(Database.Failure) in
            try work(tables)
            try tables.put(StateTables.Key(.age), age.encoded())
        }
    }

    private static func name(_ number: Int) -> String { "chat \(number)" }

    func isSame(as found: StateContents) -> Bool {
        found.people == contents.people && found.moves == contents.moves && found.chats == contents.chats
            && found.names == contents.names && found.ending == contents.ending && found.age == contents.age
    }
}

/// A process that changes its state until it is killed.
@Suite("State of a killed process", .timeLimit(.minutes(20)))
struct StateKillTests: FileStage {
    private static let variable = "INKLING_KILLED_STATE"

    private static func value(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }

    //
    @Test("a kill loses no join, decision, move or end that was told, and leaves none half done")
    func killed() throws {
        let folder = try TemporaryFolder("state")
        var state = ActingState()
        for round in 1...(Self.value(of: "INKLING_ALL") == nil ? 10 : 500) {
            let process = try StartedProcess(
                ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", "StateKillTests/child"],
                environment: ["\(Self.variable)=\(folder.path)"], readsErrors: false)
            let goal = state.count + Int.random(in: 1...40)
            var status: Int32 = 0
            while told(in: folder) < goal, waitpid(process.processID, &status, WNOHANG) == 0 { usleep(500) }
            usleep(.random(in: 0...8_000))
            if round % 10 == 0 {
                // A copy of the files at this moment, as a snapshot of the disk has it.
                kill(process.processID, SIGSTOP)
                waitpid(process.processID, &status, WUNTRACED)
                for isLost in [false, true] {
                    let copy = try TemporaryFolder("state")
                    for path in paths(in: folder.path) where !isLost || !path.hasSuffix(StateTables.fileName) {
                        put(bytes(path), at: copy.path + path.dropFirst(folder.path.count))
                    }
                    var copied = state
                    try check(copy, &copied, "copy of round \(round)", isLost: isLost)
                }
            }
            kill(process.processID, SIGKILL)
            waitpid(process.processID, &status, 0)
            close(process.input)
            close(process.output)
            #expect(StartedProcess.Ending(status: status) == .signalled(SIGKILL))
            try check(folder, &state, "round \(round)")
        }
    }

    /// The number of acts that the process told.
    private func told(in folder: TemporaryFolder) -> Int {
        bytes("\(folder.path)/told").split(separator: 0x0A).last.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            ?? 0
    }

    /// Compares the files with the acts that the process told.
    ///
    /// - Parameter isLost: Whether the database is gone, and its copy is left.
    private func check(
        _ folder: TemporaryFolder, _ state: inout ActingState, _ round: String, isLost: Bool = false
    ) throws {
        let told = told(in: folder)
        let tables = StateTables(in: folder.path, isHeld: true)
        #expect(tables.takeFaults().map(\.code) == (isLost ? ["state-damaged"] : []), "\(round)")
        #expect(tables.namesFault == nil, "\(round)")
        let count = tables.contents.age.map { Int($0.age.seconds) } ?? 0
        #expect(count == told || count == told + 1, "\(round): \(told) told, \(count) on disk")
        while state.count < count { _ = try state.act() }
        #expect(state.isSame(as: tables.contents), "\(round): \(count)")
    }

    @Test("(the process)", .enabled(if: StateKillTests.value(of: StateKillTests.variable) != nil))
    func child() throws {
        let folder = try #require(Self.value(of: Self.variable))
        let tables = StateTables(in: folder, isHeld: true)
        var state = ActingState()
        let count = tables.contents.age.map { Int($0.age.seconds) } ?? 0
        while state.count < count { _ = try state.act() }
        while true {
            guard tables.run([try state.act()]) == [nil] else { return }
            let line = Array("\(state.count)\n".utf8)
            // One write, so that a kill leaves a whole line or none.
            let file = open("\(folder)/told", O_WRONLY | O_CREAT | O_APPEND, 0o600)
            _ = write(file, line, line.count)
            close(file)
        }
    }
}
