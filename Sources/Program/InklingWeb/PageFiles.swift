/// A file of the page.
struct PageFile {
    let type: String
    let bytes: [UInt8]
}

/// The files that the server serves, by path.
enum PageFiles {
    /// The files of the folder `Page` and the generated one, by their paths.
    private static let embedded: [(String, [UInt8])] = [
        ("/index.html", PackageResources.index_html),
        ("/style.css", PackageResources.style_css),
        ("/icon.svg", PackageResources.icon_svg),
        ("/connection.js", PackageResources.connection_js),
        ("/dialog.js", PackageResources.dialog_js),
        ("/dialogs.js", PackageResources.dialogs_js),
        ("/dom.js", PackageResources.dom_js),
        ("/hooks.js", PackageResources.hooks_js),
        ("/invite.js", PackageResources.invite_js),
        ("/lines.js", PackageResources.lines_js),
        ("/lists.js", PackageResources.lists_js),
        ("/log.js", PackageResources.log_js),
        ("/main.js", PackageResources.main_js),
        ("/model.js", PackageResources.model_js),
        ("/notify.js", PackageResources.notify_js),
        ("/qr.js", PackageResources.qr_js),
        ("/search.js", PackageResources.search_js),
        ("/text.js", PackageResources.text_js),
        ("/view.js", PackageResources.view_js),
        ("/welcome.js", PackageResources.welcome_js),
        ("/names.js", Array(NamesModule.text.utf8)),
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
