/// Somebody discovery has found in a chat, whether they answer or not.
package struct Sighting: Hashable, Sendable {
    /// The name of the instance: it reveals nothing about the person.
    package let instance: String
    package let user: UserID
    /// Where it is, each as HOST:PORT or [IPV6]:PORT.
    package let addresses: [String]
    /// Whether it is this user, here or on another device.
    package let isOneself: Bool
    /// Whether it has answered, and is there.
    package let isLinked: Bool

    package init(instance: String, user: UserID, addresses: [String], isOneself: Bool, isLinked: Bool) {
        self.instance = instance
        self.user = user
        self.addresses = addresses
        self.isOneself = isOneself
        self.isLinked = isLinked
    }
}
