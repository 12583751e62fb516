/// How well this user knows a person. A node evicts lower standings first (L-52).
package enum Standing: Comparable, Sendable {
    /// Any unknown person. An attacker can make any number of such keys.
    case stranger
    /// A person met on two days at least 24 h apart, or a member of a secret chat. A node prefers such people to
    /// strangers.
    case met
    /// A person whose key the user has verified.
    case verified
}
