import Foundation

/// `plant-mutants LIST SOURCE OUTPUT`: writes the source with those mutants of the list planted that are meant for it.
@main
struct PlantMutants {
    struct Mutant {
        var name = ""
        var file = ""
        var original = ""
        var mutated = ""
    }

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { fail("usage: plant-mutants LIST SOURCE OUTPUT") }
        guard let list = try? String(contentsOfFile: arguments[1], encoding: .utf8),
            var source = try? String(contentsOfFile: arguments[2], encoding: .utf8)
        else { fail("cannot read \(arguments[1]) or \(arguments[2])") }
        let file = URL(fileURLWithPath: arguments[2]).lastPathComponent
        for mutant in read(list) where mutant.file == file {
            let places = source.components(separatedBy: mutant.original)
            guard places.count == 2 else {
                let count = places.count - 1
                fail("mutant \(mutant.name): not one, but \(count) places in \(file) read \(mutant.original)")
            }
            source = places.joined(separator: mutant.mutated)
        }
        // Core and simulator are one module here.
        source = source.replacingOccurrences(of: "import InklingCore\n", with: "")
        guard (try? source.write(toFile: arguments[3], atomically: true, encoding: .utf8)) != nil else {
            fail("cannot write \(arguments[3])")
        }
    }

    private static func read(_ list: String) -> [Mutant] {
        var mutants: [Mutant] = []
        for line in list.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.firstIndex(of: " ") else { fail("not understood: \(line)") }
            let text = line[line.index(after: space)...].trimmingCharacters(in: .whitespaces)
            switch line[..<space] {
            case "mutant": mutants.append(Mutant(name: text))
            case "file": mutants[mutants.count - 1].file = text
            case "from": mutants[mutants.count - 1].original = text
            case "to": mutants[mutants.count - 1].mutated = text
            default: fail("not understood: \(line)")
            }
        }
        return mutants
    }

    private static func fail(_ text: String) -> Never {
        FileHandle.standardError.write(Data("plant-mutants: \(text)\n".utf8))
        exit(1)
    }
}
