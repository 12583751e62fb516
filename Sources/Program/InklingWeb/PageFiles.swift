/// A file of the page.
struct PageFile {
    let type: String
    let bytes: [UInt8]
}

/// The files that the server serves, by path.
enum PageFiles {
    /// A file of the folder `Page` by its path, and its bytes in the program.
    private static let embedded: [(String, [UInt8])] = [
        ("/index.html", PackageResources.index_html),
        ("/style.css", PackageResources.style_css),
        ("/icon.svg", PackageResources.icon_svg),
        ("/main.js", PackageResources.main_js),
    ]

    /// Other paths of these files. The page itself has no other path than `/`.
    private static let aliases = ["/": "/index.html", "/favicon.ico": "/icon.svg"]

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    ]

    private static let files = Dictionary(
        uniqueKeysWithValues: embedded.map { path, bytes in
            let ending = path.split(separator: ".").last.map(String.init) ?? ""
            return (path, PageFile(type: types[ending] ?? "application/octet-stream", bytes: bytes))
        })

    static func file(at path: String) -> PageFile? {
        path == "/index.html" ? nil : files[aliases[path] ?? path]
    }
}
