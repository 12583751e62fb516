#!/usr/bin/env python3
"""A bot: a person of its own in a chat, who answers fixed questions about this machine.

    ./bot.py CHAT [OPTION OF inkling chat...]

Somebody writes !load, !disk or !uptime, sees that the bot is typing, and gets the answer. It starts one
`inkling chat --json` and speaks JSON lines with it over its standard streams (Protocol/api.md). Ctrl-C ends it.
Needs Python 3.9, and nothing else.
"""

import asyncio
import json
import os
import shutil
import signal
import sys

# A lasting identity, different from yours, by which people recognize the bot.
STATE = os.path.join(os.path.expanduser(os.environ.get("XDG_STATE_HOME") or "~/.local/state"), "inkling-bot")


def load():
    return "load: " + ", ".join(f"{value:.2f}" for value in os.getloadavg())


def disk():
    usage = shutil.disk_usage("/")
    return f"disk: {usage.free / 2**30:.1f} of {usage.total / 2**30:.1f} GiB free"


def uptime():
    with open("/proc/uptime") as file:
        return f"up for {float(file.read().split()[0]) / 3600:.1f} hours"


# Any stranger on the network can write messages. The bot uses them only to choose one of these functions.
ANSWERS = {"!load": load, "!disk": disk, "!uptime": uptime}


class Bot:
    def __init__(self, program):
        self.program = program
        # The waiting questions. The bot ignores further ones.
        self.questions = asyncio.Queue(maxsize=8)

    async def tell(self, **command):
        self.program.stdin.write(json.dumps(command).encode() + b"\n")
        await self.program.stdin.drain()

    async def answer(self):
        """Answers one question after the other, at most one a second."""
        while True:
            chat, question = await self.questions.get()
            # The others see "Bot is typing" from here until the message comes.
            await self.tell(do="compose", chat=chat, text="…")
            await asyncio.sleep(1)
            await self.tell(do="send", chat=chat, text=ANSWERS[question]())

    async def read(self):
        """Reads until the program ends. Lines of other kinds, and members that this bot doesn't know, are ignored."""
        async for line in self.program.stdout:
            event = json.loads(line)
            if event["on"] == "message" and event["text"] in ANSWERS and not self.questions.full():
                self.questions.put_nowait((event["chat"], event["text"]))
            elif event["on"] == "ready":
                print(f"{event['name']} is in {event['chat']}", flush=True)
            elif event["on"] == "delivered":
                print(f"{event['user']} has message {event['message']}", flush=True)
            elif event["on"] == "failed":
                print(f"{event['user']} may not have message {event['message']}: {event['why']}", flush=True)
            elif event["on"] in ("notice", "error"):
                print(ascii(event["text"]), file=sys.stderr, flush=True)


async def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} CHAT [OPTION OF inkling chat...]")
    try:
        # A message is at most 64 KiB of UTF-8, which is up to six times as long in JSON.
        program = await asyncio.create_subprocess_exec(
            "inkling", "chat", sys.argv[1], "--json", "--name", "Bot", "--state-dir", STATE, *sys.argv[2:],
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20, start_new_session=True)
    except FileNotFoundError:
        sys.exit("bot.py: the program inkling is not on the path")
    bot = Bot(program)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The end of input is enough: inkling says goodbye, and ends.
        asyncio.get_running_loop().add_signal_handler(number, program.stdin.close)
    tasks = [asyncio.create_task(bot.answer()), asyncio.create_task(bot.read())]
    ended, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    program.stdin.close()
    for task in running:
        task.cancel()
    for task in ended:
        task.result()  # Raises what went wrong in it, if anything did.
    return await program.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
