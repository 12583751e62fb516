// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "inkling",
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .target(
            name: "InklingWire",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict),
        .target(name: "InklingCore", dependencies: ["InklingWire"], swiftSettings: strict),
        .target(name: "InklingConsole", dependencies: ["InklingCore"], swiftSettings: strict),
        .testTarget(
            name: "InklingWireTests", dependencies: ["InklingWire"], exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "InklingCoreTests", dependencies: ["InklingCore", "InklingWire"], swiftSettings: strict),
        .testTarget(name: "InklingConsoleTests", dependencies: ["InklingConsole"], swiftSettings: strict),
    ]
)
