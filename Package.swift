// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// Whether `Scripts/test` builds, which needs more than the shipped products.
let buildsTests = Context.environment["INKLING_TESTABLE"] != nil

/// The tests of the core's parts use internal names. A release build allows such tests only on request, so that the
/// shipped code gets optimised as a whole.
let testable: [SwiftSetting] = buildsTests ? [.unsafeFlags(["-enable-testing"])] : []

/// Whether a build for tests leaves out what only `Scripts/test --all` runs: the mutants.
let isShort = buildsTests && Context.environment["INKLING_ALL"] == nil

/// The tests use the shipped code as it ships. Tests and the conformance suite need no optimisation, which shortens a
/// first build.
let tests: [SwiftSetting] =
    strict + (buildsTests ? [.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"])] : [])

/// Programs that wait for people need no speed, so the compiler makes them small.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// Embedded Swift has no runtime. A program in Embedded Swift takes a tenth of the room on disk, and half of the memory. Such
/// a program can import no other module in Swift, and contains the sources that it shares.
///
/// A debug build of it is in usual Swift, because the index of sources needs more than one step of compilation.
let embedded: [SwiftSetting] = [
    .define("IN_ONE_MODULE"),
    .unsafeFlags(["-enable-experimental-feature", "Embedded", "-wmo", "-Osize"], .when(configuration: .release)),
]
#if arch(arm64)
    let architecture = "aarch64"
#else
    let architecture = "x86_64"
#endif

let embeddedLinking: [LinkerSetting] = [
    .unsafeFlags(["-use-ld=lld", "-l:libutf8proc.a", "-lm", "-Xlinker", "--as-needed"]),
    .unsafeFlags(
        [
            "-enable-experimental-feature", "Embedded",
            // The linker looks for the tables of Unicode from the compiler's folder `swift/linux`.
            "-l:../embedded/\(architecture)-unknown-linux-gnu/libswiftUnicodeDataTables.a",
            "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--icf=safe",
        ], .when(configuration: .release)),
]

let linking = "\(Context.packageDirectory)/Sources/Program/InklingProgram/Linking"

/// Shipped programs run on machines without Swift. They contain its runtime and export nothing, so that the linker
/// drops unused code. Tests can't be linked this way, so the settings belong to targets of their own.
let standalone: [LinkerSetting] = [
    .unsafeFlags([
        // The static FoundationEssentials, which ArgumentParser needs, has three parts.
        "-static-stdlib", "-l_FoundationCShims", "-l_FoundationCollections", "-use-ld=lld",
        "-Xlinker", "--no-export-dynamic", "-Xclang-linker", "-static-libgcc",
        // The option makes programs 6 % smaller. Such programs need glibc 2.36 or later.
        "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
        // The linker merges equal functions whose addresses no code compares.
        "-Xlinker", "--icf=safe",
        // The folder has a libstdc++.so that stands for the static one.
        "-L\(linking)",
        // `Scripts/benchmark order` writes this order of functions, with which an event takes a fifth less time.
        "-Xlinker", "--symbol-ordering-file=\(linking)/order.txt", "-Xlinker", "--no-warn-symbol-ordering",
    ])
]

/// The examples and the benchmark of the library, which do not ship.
let unshipped: [Product] = [
    .executable(name: "inkling-benchmark", targets: ["InklingBenchmark"]),
    .executable(name: "inkling-example-attach", targets: ["InklingExampleAttach"]),
    .executable(name: "inkling-example-embed", targets: ["InklingExampleEmbed"]),
]

/// An example of each way to use Inkling from Swift. Protocol/examples has the others. The examples see only the public
/// names of the library.
let examples: [Target] = [
    .executableTarget(
        name: "InklingExampleEmbed",
        dependencies: ["Inkling", "InklingText", .product(name: "Logging", package: "swift-log")],
        path: "Sources/Examples/InklingExampleEmbed", packageAccess: false, swiftSettings: strict),
    .executableTarget(
        name: "InklingExampleAttach",
        dependencies: [
            "InklingText", .product(name: "NIOCore", package: "swift-nio"),
            .product(name: "NIOPosix", package: "swift-nio"),
        ],
        path: "Sources/Examples/InklingExampleAttach", packageAccess: false, swiftSettings: strict),
]

/// The ends of the benchmark's way through the library, which see its public names alone.
let benchmarks: [Target] = [
    .executableTarget(
        name: "InklingBenchmark", dependencies: ["Inkling", .product(name: "Logging", package: "swift-log")],
        path: "Sources/Proof/InklingBenchmark", packageAccess: false, swiftSettings: strict, linkerSettings: standalone)
]

/// The core and the simulator once more, as one module that can run mutants of the core, with their tests.
let mutants: [Target] = [
    .target(
        name: "MutatedSimulator", dependencies: ["InklingWire", "SeededRandom"],
        path: "Tests/InklingMutantTests/Mutants/Simulator", swiftSettings: strict, plugins: ["MutantsPlugin"]),
    .plugin(
        name: "MutantsPlugin", capability: .buildTool(), dependencies: ["plant-mutants"],
        path: "Tests/InklingMutantTests/Mutants/Plugin"),
    .executableTarget(
        name: "plant-mutants", path: "Tests/InklingMutantTests/Mutants/Tool", swiftSettings: strict),
    .testTarget(
        name: "InklingMutantTests", dependencies: ["MutatedSimulator", "ProcessSupport"], exclude: ["Mutants"],
        swiftSettings: tests),
]

let package = Package(
    name: "inkling",
    products: [
        .library(name: "Inkling", targets: ["Inkling"]),
        .library(name: "InklingText", targets: ["InklingText"]),
        .executable(name: "inkling", targets: ["InklingProgram"]),
        .executable(name: "inkling-lastwill", targets: ["InklingLastWill"]),
        .executable(name: "inkling-tray", targets: ["InklingTray"]),
        .executable(name: "inkling-sim", targets: ["InklingSimulatorCLI"]),
        .executable(name: "inkling-conformance", targets: ["InklingConformanceCLI"]),
    ] + unshipped,
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // The protocol, without I/O.
        .systemLibrary(
            name: "CUTF8Proc", path: "Sources/Protocol/CUTF8Proc", providers: [.apt(["libutf8proc-dev"])]),
        .systemLibrary(name: "CSodium", path: "Sources/Protocol/CSodium", providers: [.apt(["libsodium-dev"])]),
        .target(
            name: "InklingWire", dependencies: ["CSodium", "CUTF8Proc"], path: "Sources/Protocol/InklingWire",
            swiftSettings: strict),
        .target(
            name: "InklingCore", dependencies: ["InklingWire"], path: "Sources/Protocol/InklingCore",
            swiftSettings: strict + testable),
        // The library: a node, and the types for programs.
        .systemLibrary(
            name: "CDNSSD", path: "Sources/Node/CDNSSD", providers: [.apt(["libavahi-compat-libdnssd-dev"])]),
        .systemLibrary(name: "CProcess", path: "Sources/Node/CProcess"),
        .systemLibrary(name: "CSQLite", path: "Sources/Node/CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "InklingModel", dependencies: ["CUTF8Proc", "InklingWire"], path: "Sources/Node/InklingModel",
            swiftSettings: strict),
        .target(
            name: "Inkling",
            dependencies: [
                "CDNSSD", "CProcess", "CSQLite", "InklingCore", "InklingModel", "InklingWire",
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/Node/Inkling", swiftSettings: strict + testable),
        // One service for all front ends of a user.
        .target(
            name: "InklingService",
            dependencies: [
                "Inkling", "InklingModel", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/Service/InklingService", swiftSettings: strict),
        // The shipped programs.
        .target(
            name: "CTOML", path: "Sources/Program/CTOML",
            cxxSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
        .target(
            name: "InklingText", dependencies: ["InklingModel"], path: "Sources/Program/InklingText",
            swiftSettings: strict + small),
        .target(
            name: "InklingConsole", dependencies: ["InklingModel", "InklingText"],
            path: "Sources/Program/InklingConsole", swiftSettings: strict + small),
        .target(
            name: "InklingWeb",
            dependencies: [
                "Inkling", "InklingService", "InklingModel", "InklingText", "InklingWire",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Sources/Program/InklingWeb",
            resources: [
                "index.html", "style.css", "icon.svg", "connection.js", "dialog.js", "dialogs.js", "dom.js", "hooks.js",
                "invite.js", "lines.js", "lists.js", "log.js", "main.js", "model.js", "notify.js", "qr.js", "search.js",
                "text.js", "view.js", "welcome.js",
            ].map { .embedInCode("Page/\($0)") },
            swiftSettings: strict + small + testable),
        .target(
            name: "InklingCLI",
            dependencies: [
                "CProcess", "CTOML", "Inkling", "InklingConsole", "InklingService", "InklingModel", "InklingText",
                "InklingWeb",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/Program/InklingCLI", swiftSettings: strict + small),
        .executableTarget(
            name: "InklingProgram",
            dependencies: ["InklingCLI", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Sources/Program/InklingProgram", exclude: ["Linking"], swiftSettings: strict,
            linkerSettings: standalone),
        .executableTarget(
            name: "InklingLastWill", path: "Sources/Program/InklingLastWill",
            cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)],
            linkerSettings: [.unsafeFlags(["-static-executable", "-nostartfiles"])]),
        .systemLibrary(
            name: "CDesktop", path: "Sources/Program/CDesktop", pkgConfig: "dbus-1",
            providers: [.apt(["libdbus-1-dev", "pkg-config"])]),
        .executableTarget(
            name: "InklingTray", dependencies: ["CDesktop", "CUTF8Proc"], path: "Sources/Program/InklingTray",
            swiftSettings: strict + embedded, linkerSettings: embeddedLinking),
        // The proofs of nodes and of the protocol.
        .target(name: "SeededRandom", path: "Sources/Proof/SeededRandom", swiftSettings: strict),
        .target(name: "ProcessSupport", path: "Sources/Proof/ProcessSupport", swiftSettings: strict),
        .target(
            name: "InklingSimulator", dependencies: ["InklingCore", "InklingWire", "SeededRandom"],
            path: "Sources/Proof/InklingSimulator", swiftSettings: strict),
        .executableTarget(
            name: "InklingSimulatorCLI",
            dependencies: ["InklingSimulator", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Sources/Proof/InklingSimulatorCLI", swiftSettings: strict),
        .target(
            name: "InklingConformance",
            dependencies: ["InklingWire", "SeededRandom"], path: "Sources/Proof/InklingConformance",
            swiftSettings: tests),
        .executableTarget(
            name: "InklingConformanceCLI",
            dependencies: [
                "CDNSSD", "InklingConformance", "ProcessSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Proof/InklingConformanceCLI", swiftSettings: tests),
        // Tests.
        .testTarget(name: "InklingWireTests", dependencies: ["InklingWire", "SeededRandom"], swiftSettings: tests),
        .testTarget(
            name: "InklingCoreTests", dependencies: ["InklingCore", "InklingWire", "SeededRandom"], swiftSettings: tests
        ),
        .testTarget(name: "InklingModelTests", dependencies: ["InklingModel"], swiftSettings: tests),
        .testTarget(name: "InklingTextTests", dependencies: ["InklingModel", "InklingText"], swiftSettings: tests),
        .testTarget(
            name: "InklingServiceTests",
            dependencies: [
                "Inkling", "InklingService", "InklingModel", "InklingWire", "ProcessSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: tests),
        .testTarget(
            name: "InklingWebTests",
            dependencies: [
                "Inkling", "InklingService", "InklingText", "InklingWeb", "InklingWire", "ProcessSupport",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: tests),
        .testTarget(
            name: "InklingTests",
            dependencies: [
                "CSQLite", "Inkling", "InklingCore", "InklingModel", "InklingText", "InklingWire", "ProcessSupport",
                "SeededRandom",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: tests),
        .testTarget(
            name: "InklingConsoleTests", dependencies: ["InklingConsole", "InklingModel", "InklingText"],
            swiftSettings: tests),
        .testTarget(
            name: "InklingProgramTests",
            dependencies: ["Inkling", "InklingCLI", "InklingConsole", "InklingModel", "InklingText", "ProcessSupport"],
            swiftSettings: tests),
        .testTarget(
            name: "InklingNetworkTests", dependencies: ["ProcessSupport", "SeededRandom"], swiftSettings: tests),
        .testTarget(
            name: "InklingConformanceTests",
            dependencies: ["InklingConformance", "InklingCore", "InklingWire", "SeededRandom"], swiftSettings: tests),
        .testTarget(
            name: "InklingSimulatorTests",
            dependencies: ["InklingCore", "InklingSimulator", "ProcessSupport"], swiftSettings: tests),
    ] + examples + benchmarks + (isShort ? [] : mutants),
    cxxLanguageStandard: .cxx17
)
