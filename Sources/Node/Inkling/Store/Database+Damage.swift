import Glibc

extension Database {
    /// Copies a file, and puts header and tables of a sound file into the copy. SQLite then reads the copy even if the first
    /// page is damaged, or pages are missing at the end.
    static func copy(_ path: String, to copy: String, firstPageOf sound: String) -> Bool {
        let pageSize = 4_096
        let files = [
            // O_NONBLOCK: the open must not wait if the file is a pipe.
            Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), Glibc.open(sound, O_RDONLY | O_CLOEXEC),
            Glibc.open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600),
        ]
        defer { for file in files where file >= 0 { close(file) } }
        guard files.allSatisfy({ $0 >= 0 }) else { return false }
        var page = [UInt8](repeating: 0, count: pageSize)
        guard pread(files[1], &page, pageSize, 0) == pageSize else { return false }
        let first = page
        var pages: UInt32 = 0
        while true {
            page = Array(repeating: 0, count: pageSize)
            let count = pread(files[0], &page, pageSize, off_t(pages) * off_t(pageSize))
            guard count > 0 || pages == 0 else { break }
            if pages == 0 { page = first }
            guard pwrite(files[2], page, pageSize, off_t(pages) * off_t(pageSize)) == pageSize else { return false }
            pages += 1
        }
        // The number of pages, and no free ones.
        let header = withUnsafeBytes(of: pages.bigEndian) { Array($0) } + Array(repeating: 0, count: 8)
        return pwrite(files[2], header, header.count, 28) == header.count
    }

    /// Puts a new file in the place of another one, which no connection uses.
    ///
    /// - Parameter aside: The later path of the file that was there; nil if that one is to go.
    static func replace(_ path: String, by new: String, settingAside aside: String?) throws(Failure) {
        if let aside {
            // The path always leads to one of the two.
            unlink(aside)
            if link(path, aside) != 0, rename(path, aside) != 0 { throw .refused(StateFile.text(errno)) }
        }
        // A journal of the former file would spoil the new one.
        unlink("\(path)-journal")
        guard rename(new, path) == 0 else { throw .refused(StateFile.text(errno)) }
        _ = StateFile.syncDirectory(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
    }
}
