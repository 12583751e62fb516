import Foundation
import PackagePlugin

/// Copies the core and the simulator with all mutants built in, each dormant until it is chosen at run time: one build
/// serves them all.
@main
struct MutantsPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        let tool = try context.tool(named: "plant-mutants")
        let package = context.package.directoryURL
        let list = package.appending(path: "Tests/InklingMutantTests/Mutants/mutants.txt")
        return try ["Protocol/InklingCore", "Proof/InklingSimulator"].flatMap { path in
            let folder = package.appending(path: "Sources/\(path)")
            let name = folder.lastPathComponent
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            let sources = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            guard !sources.isEmpty else { throw PluginError.noSources(name) }
            return sources.sorted { $0.path < $1.path }.map { source in
                let output = context.pluginWorkDirectoryURL.appending(path: "\(name)-\(source.lastPathComponent)")
                return Command.buildCommand(
                    displayName: "Planting mutants in \(source.lastPathComponent)", executable: tool.url,
                    arguments: [list.path, source.path, output.path], inputFiles: [list, source],
                    outputFiles: [output])
            }
        }
    }
}

enum PluginError: Error { case noSources(String) }
