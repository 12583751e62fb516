import Foundation
import InklingCore
import InklingModel
import InklingWire
import ProcessSupport
import SeededRandom
import Testing

@testable import Inkling

/// A machine whose clocks a test sets. The true time is the number of seconds since the first start of the machine.
private struct Machine {
    /// The true time of day at the beginning.
    static let beginning = 1.8e9

    var time = 0.0
    private var booted = 0.0
    private var boot = 1
    /// How far the clock is ahead.
    var error = 0.0
    var isSynchronised = true

    var reading: AgeCounter.Reading {
        AgeCounter.Reading(
            boot: "boot \(boot)", sinceBoot: .milliseconds(Int64((time - booted) * 1_000)),
            timeOfDay: Timestamp(rawValue: Self.beginning + time + error), isSynchronised: isSynchronised)
    }

    /// Starts the machine again after some seconds without power. The kernel knows no synchronised clock then.
    mutating func reboot(after seconds: Double, error: Double = 0) {
        time += seconds
        booted = time
        boot += 1
        (self.error, isSynchronised) = (error, false)
    }

    /// Synchronises the clock with the network.
    mutating func synchronise() { (error, isSynchronised) = (0, true) }

    /// Sets the clock by hand.
    mutating func set(ahead error: Double) { (self.error, isSynchronised) = (error, false) }

    /// Goes back to a copy of the machine of that time. The clock is behind until it is synchronised.
    mutating func restore(_ copy: Machine) {
        error = copy.time - time
        booted += time - copy.time
        isSynchronised = false
    }
}

private let day = 86_400.0

/// How a state directory counts time. Time is virtual.
@Suite("The age of a state directory (R52)")
struct AgeTests {
    private static func seconds(_ age: Age) -> Double { Double(age.milliseconds) / 1_000 }

    /// Counts to now, over a file as a restart of the program does.
    private static func count(_ counter: inout AgeCounter, _ machine: Machine) throws -> Double {
        counter = try AgeCounter(counter.encoded())
        return seconds(counter.advance(to: machine.reading))
    }

    @Test("the age grows by the time of the machine, in the least steps too")
    func running() throws {
        var machine = Machine()
        var counter = AgeCounter(machine.reading)
        for step in 1...10_000 {
            machine.time = Double(step) * 0.000_4
            counter.advance(to: machine.reading)
        }
        #expect(Self.seconds(counter.age) == 4)
    }

    @Test(
        "a clock that is set does not move the age, however far and for how short a time",
        arguments: [-6 * 365 * day, -4, 4, 10 * day, 30 * 365 * day], [false, true])
    func setClock(error: Double, remains: Bool) throws {
        var machine = Machine()
        var counter = AgeCounter(machine.reading)
        machine.time = 10
        machine.set(ahead: error)
        #expect(try Self.count(&counter, machine) == 10)
        machine.time = 12
        if !remains { machine.synchronise() }
        #expect(try Self.count(&counter, machine) == 12)
        machine.time = 7 * day
        #expect(try Self.count(&counter, machine) == 7 * day)
    }

    @Test("the time without power counts once the clock is synchronised, and not before")
    func networkTime() throws {
        var machine = Machine()
        var counter = AgeCounter(machine.reading)
        machine.time = 1_000
        #expect(try Self.count(&counter, machine) == 1_000)
        machine.reboot(after: 3 * day)
        machine.time += 20
        #expect(try Self.count(&counter, machine) == 1_020, "the clock may be wrong")
        machine.time += 40
        machine.synchronise()
        #expect(try Self.count(&counter, machine) == 1_060 + 3 * day)
        machine.time += 1
        #expect(try Self.count(&counter, machine) == 1_061 + 3 * day, "once")
    }

    @Test(
        "a machine without a clock of its own counts by its runs until the network gives the time", arguments: [1, 5])
    func deadClock(reboots: Int) throws {
        var machine = Machine()
        var counter = AgeCounter(machine.reading)
        machine.time = 100
        #expect(try Self.count(&counter, machine) == 100)
        for _ in 0..<reboots {
            machine.reboot(after: day)
            // The clock begins in 1970.
            machine.error = -(Machine.beginning + machine.time)
            machine.time += 60
            _ = try Self.count(&counter, machine)
        }
        #expect(Self.seconds(counter.age) == 100 + 60 * Double(reboots))
        machine.synchronise()
        #expect(try Self.count(&counter, machine) == machine.time)
    }

    @Test("a clock that was wrong before a restart, or is wrong after it, makes the age no higher than the time")
    func neverTooHigh() throws {
        for before in [-6 * 365 * day, 0, 10 * day] {
            for after in [-6 * 365 * day, 0, 10 * day, 30 * 365 * day] {
                for isSynchronised in [false, true] {
                    var machine = Machine()
                    machine.set(ahead: before)
                    var counter = AgeCounter(machine.reading)
                    machine.time = 60
                    #expect(try Self.count(&counter, machine) == 60)
                    machine.reboot(after: 30, error: after)
                    machine.time += 10
                    if isSynchronised { machine.synchronise() }
                    let age = try Self.count(&counter, machine)
                    #expect(age >= 70 && age <= machine.time, "\(before) \(after) \(isSynchronised)")
                }
            }
        }
    }

    @Test("a restored copy of the machine does not count back, and counts the lost time when the clock is synchronised")
    func restored() throws {
        var machine = Machine()
        var counter = AgeCounter(machine.reading)
        machine.time = 1_000
        let copy = machine
        machine.time = 5_000
        #expect(try Self.count(&counter, machine) == 5_000)
        machine.time = 8_000
        machine.restore(copy)
        #expect(try Self.count(&counter, machine) == 5_000)
        machine.time += 10
        #expect(try Self.count(&counter, machine) == 5_010)
        machine.synchronise()
        #expect(try Self.count(&counter, machine) == 8_010)
    }

    @Test("an age that is known from a text is the least, if the count was lost")
    func lost() throws {
        var machine = Machine()
        let known = Age.zero + .seconds(9 * day)
        var counter = AgeCounter(machine.reading)
        counter.advance(toAtLeast: known)
        #expect(counter.age == known)
        counter.advance(toAtLeast: .zero)
        machine.time = 5
        #expect(try Self.count(&counter, machine) == 9 * day + 5)
    }

    @Test("a time of an earlier build becomes an age from before the count, by a synchronised clock alone")
    func earlier() {
        var machine = Machine()
        machine.time = 100
        let counter = AgeCounter(machine.reading)
        let now = machine.reading.timeOfDay
        #expect(counter.age(ofEarlier: now - .seconds(3 * day)) == Age.zero - .seconds(3 * day))
        #expect(counter.age(ofEarlier: now - .seconds(-3 * day)) == .zero, "a time in the future")
        machine.isSynchronised = false
        #expect(AgeCounter(machine.reading).age(ofEarlier: now - .seconds(3 * day)) == .zero)
    }

    @Test("ages stay in their range")
    func range() {
        let last = Age.range.upperBound - 1
        #expect(Age(milliseconds: last + 1) == nil && Age(milliseconds: .min) == nil && Age(milliseconds: .max) == nil)
        #expect((Age.zero + .seconds(Int64.max)).milliseconds == last)
        #expect((Age.zero - .seconds(Int64.max)).milliseconds == Age.range.lowerBound)
        #expect((Age.zero + .seconds(Int64.max)) - (Age.zero - .seconds(Int64.max)) > .zero)
        let counter = AgeCounter(
            .init(boot: "x", sinceBoot: .zero, timeOfDay: Timestamp(rawValue: .infinity), isSynchronised: true))
        for time in [Double.infinity, -.infinity, .nan, 1e300] {
            #expect(counter.age(ofEarlier: Timestamp(rawValue: time)) <= .zero)
        }
    }

    // MARK: On disk

    @Test("the state has all of the count, and a damaged one begins anew and is told")
    func stored() throws {
        let folder = try TemporaryFolder()
        var machine = Machine()
        var state = StateContents()
        var counter = AgeCounter(machine.reading)
        machine.time = 1_234.567
        counter.advance(to: machine.reading)
        state.age = counter
        state.write(in: folder.path)
        #expect(StateContents(in: folder.path).age == counter)
        let text = String(decoding: counter.encoded(), as: UTF8.self)
        for (from, to) in Self.damages {
            #expect(text.contains(from))
            let damaged = Array(text.replacingOccurrences(of: from, with: to).utf8)
            #expect(throws: AgeCounter.Fault.damaged, "\(to)") { try AgeCounter(damaged) }
            let tables = StateTables(in: folder.path, isHeld: true)
            let job = StateTables.Job { tables throws(Database.Failure) in try tables.put(.init(.age), damaged) }
            #expect(tables.run([job]) == [nil])
            let opened = StateTables(in: folder.path, isHeld: true)
            #expect(opened.contents.age == nil, "\(to)")
            #expect(opened.takeFaults() == [.damaged(path: opened.path, aside: nil, copy: nil)])
        }
        let newer = text.replacingOccurrences(of: "\"version\":1", with: "\"version\":2")
        #expect(throws: AgeCounter.Fault.newer) { try AgeCounter(Array(newer.utf8)) }
    }

    private static let damages = [
        ("\"age\":1234567,", "\"age\":-1,"), ("\"age\":1234567,", "\"age\":9223372036854775807,"),
        ("\"age\":1234567,", "\"age\":1e999,"), ("\"sinceBoot\":1234567", "\"sinceBoot\":9223372036854775807"),
        ("boot 1", String(repeating: "x", count: 65)), ("\"timeOfDay\":", "\"timeOfDay\":-"),
        ("\"timeOfDay\":", "\"timeOfDay\":1e300,\"x\":"), ("\"hasGap\":false", "\"hasGap\":7"), ("{", ""),
    ]

    @Test("the count goes on from the file of an earlier build, and from zero after damage")
    func earlierFile() throws {
        var machine = Machine()
        machine.time = 1_234.567
        var counter = AgeCounter(Machine().reading)
        counter.advance(to: machine.reading)
        let text = String(decoding: counter.encoded(), as: UTF8.self)
        for (text, age) in [(text, counter), (String(text.dropFirst()), nil)] as [(String, AgeCounter?)] {
            let folder = try TemporaryFolder()
            try folder.write(text, to: "age.json")
            #expect(StateContents(in: folder.path).age == age && folder.text("age.json") == text, "it is only read")
            #expect(StateTables(in: folder.path, isHeld: true).contents.age == age)
            #expect(folder.text("age.json") == "{\"version\":1000}\n", "an earlier program refuses it")
            #expect(StateTables(in: folder.path, isHeld: true).contents.age == age)
        }
    }

    @Test("when the clock is set, the time at which somebody was last seen moves with it")
    func lastSeen() throws {
        let chat = try Chat("team", secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))
        let entry = JoinedChat(chat, keys: chat.keys, instance: "x", at: .zero)
        var random = SeededGenerator(seed: 1)
        let person = InklingCore.Person(key: KeyPair(using: &random).publicKey, name: "x")
        // The clock is six years behind. The machine has run for 100 s.
        let behind = 1.8e9 - 6 * 365 * day
        _ = entry.note(person, .online, at: Timestamp(rawValue: behind), age: .zero, clock: behind - 100)
        let (_, peer) = entry.note(
            person, .offline, at: Timestamp(rawValue: behind + 50), age: .zero, clock: behind - 100)
        #expect(peer.since(by: behind - 100).rawValue == behind + 50)
        #expect(peer.since(by: behind - 99).rawValue == behind + 50, "the network adjusted it")
        #expect(peer.since(by: 1.8e9 - 100).rawValue == 1.8e9 + 50, "it was set right")
    }

    @Test("this machine has a clock that runs and a name for its start")
    func system() {
        let first = AgeCounter.Reading.current()
        let second = AgeCounter.Reading.current()
        #expect(first.boot.utf8.count == 36 && second.boot == first.boot && second.sinceBoot >= first.sinceBoot)
        #expect(first.sinceBoot > .zero && first.timeOfDay > 1.7e9)
    }
}
