import NIOHTTP1

/// The decision about a request, by its head.
enum RequestVerdict {
    case file(PageFile)
    /// The request may become a WebSocket.
    case upgrade
    case refuse(HTTPResponseStatus, String)
}

/// The rules for requests: which program may ask for what.
struct RequestRules {
    let address: WebAddress

    static let socketPath = "/socket"

    func verdict(_ head: HTTPRequestHead) -> RequestVerdict {
        guard head.version == .http1_1 else { return .refuse(.httpVersionNotSupported, "Use HTTP/1.1.") }
        guard head.headers["host"] == [address.host] else {
            return .refuse(.misdirectedRequest, "This server has another address.")
        }
        let origins = head.headers["origin"]
        guard origins.isEmpty || origins == [address.origin] else {
            return .refuse(.forbidden, "Another page can't use this server.")
        }
        guard head.method == .GET else { return .refuse(.methodNotAllowed, "Use GET.") }
        guard !head.headers.contains(name: "transfer-encoding"),
            head.headers["content-length"].allSatisfy({ $0 == "0" })
        else { return .refuse(.badRequest, "A request has no body here.") }
        guard head.uri == Self.socketPath else {
            return PageFiles.file(at: head.uri).map { .file($0) } ?? .refuse(.notFound, "There is no such file.")
        }
        guard !origins.isEmpty else { return .refuse(.forbidden, "Only the page can use this.") }
        let protocols = head.headers[canonicalForm: "upgrade"].map { $0.lowercased() }
        return protocols == ["websocket"] ? .upgrade : .refuse(.upgradeRequired, "This is a WebSocket.")
    }
}
