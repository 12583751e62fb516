import InklingCore
import InklingWire

/// The identities of the hosts, and their addresses.
extension Simulation {
    private static let commonIdentities: [KeyPair] = {
        var generator = SeededGenerator(seed: 42)
        return (0..<64).map { _ in KeyPair(using: &generator) }
    }()

    static func identities(_ highest: Int) -> [KeyPair] {
        guard highest >= commonIdentities.count else { return commonIdentities }
        var generator = SeededGenerator(seed: 43)
        return commonIdentities
            + (commonIdentities.count...highest).map { _ in KeyPair(using: &generator) }
    }

    static func addresses(_ number: Int, port: UInt16, _ plan: Scenario.HostPlan) -> [Address] {
        let ipv4 = Address(ipv4: 0x0A00_0001 + UInt32(number), port: port)
        guard plan.hasTwoAddresses else { return [ipv4] }
        return [ipv4, Address(high: 0xFE80 << 48, low: UInt64(number + 1), port: port, scope: 2)]
    }
}
