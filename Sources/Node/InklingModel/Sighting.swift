/// An instance that discovery has found in a chat, whether its node answers or not.
package struct Sighting: Hashable, Sendable {
    /// The instance's name, which reveals nothing about the person.
    package let instance: String
    package let user: UserID
    /// The instance's addresses, each as HOST:PORT or [IPV6]:PORT.
    package let addresses: [String]
    /// Whether the instance is this user's, here or on another device.
    package let isOneself: Bool
    /// Whether the node has a link to the instance.
    package let isLinked: Bool

    package init(instance: String, user: UserID, addresses: [String], isOneself: Bool, isLinked: Bool) {
        self.instance = instance
        self.user = user
        self.addresses = addresses
        self.isOneself = isOneself
        self.isLinked = isLinked
    }
}
