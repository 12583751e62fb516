"""How fast programs start."""

import time

from processes import Program, Terminal, is_ready

PARTS = {
    "start": "exec → prompt, and exec → `ready`",
}


class Starts:
    def __init__(self, benchmark):
        self.benchmark = benchmark
        self.count = min(benchmark.samples, 40)

    def measure(self):
        for part in PARTS:
            if self.benchmark.wants(part):
                self.benchmark.say(f"{part}: {self.count} times")
                getattr(self, part)()

    def start(self):
        prompts = {build: [] for build in self.benchmark.builds}
        readies = {build: [] for build in self.benchmark.builds}
        port, state = self.benchmark.ports(1), self.benchmark.work / "start"
        for _ in range(self.count + 1):
            for build in self.benchmark.builds:
                with Terminal(*build.chat("Alice", port, state, json=False)) as terminal:
                    prompts[build].append((terminal.wait_for(b"kitchen (open)> ") - terminal.began) / 1000)
                time.sleep(0.1)
                with Program(*build.chat("Alice", port, state)) as program:
                    _, read = program.wait_for(is_ready, "`ready`")
                    readies[build].append((read - program.began) / 1000)
                time.sleep(0.1)
        # The first one makes an identity.
        for build in self.benchmark.builds:
            self.benchmark.table.times("start", f"{build.name}: exec → prompt", prompts[build][1:])
            self.benchmark.table.times("start", f"{build.name}: exec → `ready`", readies[build][1:])
