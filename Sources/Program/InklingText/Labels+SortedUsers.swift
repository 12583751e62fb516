/// Sorted lists of users without duplicates.
extension Labels {
    static func insert(_ user: String, to users: inout [String]) {
        users.insert(user, at: place(of: user, in: users))
    }

    /// Returns the users directly before and after a user in a sorted list.
    static func neighbours(of user: String, in users: [String]) -> [String] {
        let index = place(of: user, in: users)
        return [index - 1, index + 1].filter(users.indices.contains).map { users[$0] }
    }

    static func remove(_ user: String, from users: inout [String]) {
        let index = place(of: user, in: users)
        if users.indices.contains(index), users[index] == user { users.remove(at: index) }
    }

    /// Returns the index of a user in a sorted list, or the index at which to insert the user.
    static func place(of user: String, in users: [String]) -> Int {
        var (low, high) = (0, users.count)
        while low < high {
            let middle = (low + high) / 2
            if users[middle] < user { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
