/// One line of the table.
struct BenchRow {
    var name: String
    var sent: String = ""
    var rate: String = ""
    var overflow: String = ""
    var online: String = ""
    var quiet: String = ""
    var edges: String = ""
    var processor: String = ""
    var memory: String = ""
    var again: String = ""
    var attacker: String = ""
    var note: String = ""
}

/// The printed table of the benchmark.
enum BenchTable {
    private static var columns: [(title: String, value: (BenchRow) -> String)] {
        [
            ("attack", \.name), ("datagrams", \.sent), ("a second", \.rate), ("socket full", \.overflow),
            ("friends online", \.online),
            ("quiet p50/p99 ms", \.quiet), ("attacked p50/p99 ms", \.edges), ("of a core used/awaited", \.processor),
            ("RSS before/after/peak MiB", \.memory), ("friend again", \.again), ("attacker", \.attacker),
            ("came back", \.note),
        ]
    }

    static func text(_ rows: [BenchRow]) -> String {
        let widths = columns.map { column in ([column.title] + rows.map(column.value)).map(\.count).max() ?? 0 }
        func line(_ cells: [String]) -> String {
            "| "
                + zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
                .joined(separator: " | ") + " |"
        }
        let rule = "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
        return ([line(columns.map(\.title)), rule] + rows.map { row in line(columns.map { $0.value(row) }) })
            .joined(separator: "\n")
    }
}
