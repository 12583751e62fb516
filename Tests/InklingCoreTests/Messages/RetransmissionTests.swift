import InklingWire
import Testing

@testable import InklingCore

@Suite("the retransmission timer")
struct RetransmissionTests {
    @Test("M-11: the timer starts with 250 ms on-link and 1 s off-link, and doubles up to 1 s and 60 s")
    func doubling() {
        let first = [true, false].map { RetransmissionTimer(isOnLink: $0).timeout }
        #expect(first == [.milliseconds(250), .seconds(1)])
        let doubled = [(true, [500, 1_000, 1_000]), (false, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000])]
        for (isOnLink, timeouts) in doubled {
            var timer = RetransmissionTimer(isOnLink: isOnLink)
            for timeout in timeouts + [timeouts.last ?? 0] {
                timer.run(true, .zero)
                let isOver = timer.expire(.seconds(100))
                #expect(isOver)
                #expect(timer.timeout == .milliseconds(timeout))
            }
        }
    }

    @Test("M-11: round trips count as RFC 6298 says, with at least 200 ms on-link and 1 s off-link")
    func samples() {
        var timer = RetransmissionTimer(isOnLink: true)
        timer.measure(.milliseconds(100))
        #expect(timer.timeout == .milliseconds(300))
        timer.measure(.milliseconds(180))
        // The variation is 50 × 3/4 + 80 ÷ 4 = 57.5, and the smoothed time 100 × 7/8 + 180 ÷ 8 = 110.
        #expect(timer.timeout == .milliseconds(340))
        timer.isOnLink = false
        #expect(timer.timeout == .seconds(1))
        for _ in 0..<100 { timer.measure(.milliseconds(400)) }
        #expect(timer.timeout == .seconds(1))
        timer.isOnLink = true
        #expect(timer.timeout > .milliseconds(400.9), "the granularity is 1 ms")
        #expect(timer.timeout < .milliseconds(402))
        for _ in 0..<100 { timer.measure(.milliseconds(1)) }
        #expect(timer.timeout == .milliseconds(200))
    }

    @Test("M-32: an ack gives one sample, of the latest record that it first acknowledges or names")
    func sample() {
        var trial = SenderTrial()
        trial.enqueue(1...1)
        trial.send()
        trial.wait(0.15)
        trial.enqueue(2...2)
        trial.send()
        trial.wait(0.01)
        let before = trial.sender.roundTrip
        trial.ack(3)
        // The first sample, from the record of the name, was 0. So the result is 7/8 × 0 + 10 ÷ 8.
        #expect(before == .zero)
        #expect(trial.sender.roundTrip == .microseconds(1_250))
    }

    @Test("M-32: a record that was named gives no second sample when it is acknowledged")
    func namedBefore() {
        var trial = SenderTrial()
        trial.enqueue(1...1)
        trial.send()
        trial.wait(0.04)
        trial.enqueue(2...2)
        trial.send()
        trial.ack(1, naming: [2])
        trial.wait(0.04)
        trial.ack(3)
        // Record 2 gave a sample of 0 ms, and record 1 one of 80 ms.
        #expect(trial.sender.roundTrip == .milliseconds(10))
    }

    @Test("M-32: an ack gives no sample while the node catches up")
    func catchingUp() {
        var trial = SenderTrial()
        trial.enqueue(1...1)
        trial.send()
        trial.wait(0.1)
        let effect = trial.sender.receive(Ack(next: 2), counter: 9, isTimely: false, now: trial.now)
        #expect(effect == .taken(delivered: [1]))
        #expect(trial.sender.roundTrip == .zero)
    }

    @Test("M-32: a latest record that was sent twice gives no sample, also beside one that was sent once")
    func noSample() {
        var trial = SenderTrial()
        trial.enqueue(1...2)
        trial.send()
        trial.ack(1, naming: [2])
        trial.runDeadline()
        trial.send()
        trial.wait(0.1)
        let before = trial.sender.roundTrip
        trial.ack(3)
        #expect(trial.sender.roundTrip == before)
    }
}
