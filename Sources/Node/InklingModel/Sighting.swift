/// An instance that discovery has found in a chat, whether its node answers or not.
package struct Sighting: Hashable, Sendable {
    /// The instance's name, which reveals nothing about the person.
    package var instance: String
    package var user: UserID
    /// The instance's addresses, each as HOST:PORT or [IPV6]:PORT.
    package var addresses: [String]
    /// Whether the instance is this user's, here or on another device.
    package var isOneself: Bool
    /// Whether the node has a link to the instance.
    package var isLinked: Bool

    package init(instance: String, user: UserID, addresses: [String], isOneself: Bool, isLinked: Bool) {
        self.instance = instance
        self.user = user
        self.addresses = addresses
        self.isOneself = isOneself
        self.isLinked = isLinked
    }
}
