"""A desktop of the tests: a session bus, a panel's watcher, a server of notifications, and the user's hand."""

import pathlib
import sys
import threading

import dbus
import dbus.bus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Browser"))
import harness

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
NOTIFICATIONS = "org.freedesktop.Notifications"
PROPERTIES = "org.freedesktop.DBus.Properties"

# A session bus that starts no programs of the machine.
BUS = """<busconfig>
  <type>session</type><listen>unix:path={0}/bus</listen><auth>EXTERNAL</auth><servicedir>{0}</servicedir>
  <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>
"""

dbus.mainloop.glib.threads_init()


class Loop(harness.Running):
    """The thread in which the programs of the desktop answer."""

    def __init__(self):
        self.context = GLib.MainLoop()
        self.thread = threading.Thread(target=self.context.run, daemon=True)
        self.thread.start()
        super().__init__()

    def end(self):
        GLib.idle_add(self.context.quit)
        self.thread.join(5)

    def run(self, body):
        """What a function returns that runs in this thread."""
        done, result = threading.Event(), []

        def once():
            try:
                result.append((body(), None))
            except Exception as error:  # the caller raises it
                result.append((None, error))
            done.set()
            return False

        GLib.idle_add(once)
        assert done.wait(harness.TIMEOUT), "the thread of the desktop answers"
        value, error = result[0]
        if error:
            raise error
        return value


class Watcher(dbus.service.Object):
    """Registers icons for panels."""

    def __init__(self, connection):
        self.items = []
        super().__init__(connection, "/StatusNotifierWatcher")

    @dbus.service.method(WATCHER, in_signature="s", out_signature="", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, service, sender):
        self.items.append((str(service), str(sender)))


class Server(dbus.service.Object):
    """Shows notifications."""

    def __init__(self, connection, capabilities):
        self.capabilities = capabilities
        self.shown = []  # each as a dictionary
        self.closed = []
        self.number = 0
        super().__init__(connection, "/org/freedesktop/Notifications")

    @dbus.service.method(NOTIFICATIONS, in_signature="", out_signature="as")
    def GetCapabilities(self):
        return self.capabilities

    @dbus.service.method(NOTIFICATIONS, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, program, replaces, icon, title, body, actions, hints, timeout):
        if not replaces:
            self.number += 1
        number = int(replaces) or self.number
        self.shown.append({
            "number": number, "replaces": int(replaces), "program": str(program), "icon": str(icon), "title": str(title),
            "body": str(body), "actions": [str(word) for word in actions], "hints": dict(hints)})
        return dbus.UInt32(number)

    @dbus.service.method(NOTIFICATIONS, in_signature="u", out_signature="")
    def CloseNotification(self, number):
        self.closed.append(int(number))
        self.NotificationClosed(number, 3)

    @dbus.service.signal(NOTIFICATIONS, signature="uu")
    def NotificationClosed(self, number, reason):
        pass

    @dbus.service.signal(NOTIFICATIONS, signature="us")
    def ActionInvoked(self, number, action):
        pass

    @dbus.service.signal(NOTIFICATIONS, signature="us")
    def NotificationReplied(self, number, text):
        pass


class Desktop:
    """A session of the user, with its own bus."""

    def __init__(self, loop):
        self.loop = loop
        self.folder = folder = harness.work() / f"session-{next(harness._marks)}"
        folder.mkdir(mode=0o700)
        self.address = f"unix:path={folder}/bus"
        (folder / "bus.conf").write_text(BUS.format(folder))
        self.bus = harness.Process("bus", ["dbus-daemon", "--nofork", "--nopidfile", f"--config-file={folder}/bus.conf"])
        self.hand = harness.wait(lambda: dbus.bus.BusConnection(self.address), "the session bus answers")
        self.watcher = self.server = None
        self.connections = []

    def begin(self, make):
        """Starts a program of the desktop, with a connection of its own. Returns the program and its connection."""

        def connect():
            connection = dbus.bus.BusConnection(self.address, mainloop=dbus.mainloop.glib.DBusGMainLoop())
            connection.set_exit_on_disconnect(False)
            return make(connection), connection

        program, connection = self.loop.run(connect)
        self.connections.append(connection)
        return program, connection

    def begin_panel(self):
        self.watcher, connection = self.begin(Watcher)
        self.loop.run(lambda: connection.request_name(WATCHER))

    def end_panel(self):
        self.loop.run(self.watcher.connection.close)
        self.watcher = None

    def begin_notifications(self, *capabilities):
        self.server, connection = self.begin(lambda connection: Server(connection, dbus.Array(capabilities, "s")))
        self.loop.run(lambda: connection.request_name(NOTIFICATIONS))

    def install_notifications(self):
        """Lets the bus start a server when somebody calls it. Returns the file with what it shows."""
        shown = self.folder / "shown"
        (self.folder / "server.service").write_text(
            f"[D-BUS Service]\nName={NOTIFICATIONS}\nExec=/usr/bin/python3 {__file__} {self.address} {shown}\n")
        self.hand.call_blocking("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ReloadConfig", "", ())
        return shown

    def end_notifications(self):
        self.loop.run(self.server.connection.close)
        self.server = None

    def signal(self, name, *arguments):
        """Sends a signal of the server of notifications."""
        self.loop.run(lambda: getattr(self.server, name)(*arguments))

    def stop(self):
        for connection in self.connections:
            try:
                self.loop.run(connection.close)
            except Exception:
                pass
        self.hand.close()
        self.bus.stop()


class Icon:
    """The icon as a panel sees it."""

    def __init__(self, desktop, name):
        self.desktop = desktop
        self.name = name

    def call(self, path, interface, method, signature, *arguments):
        return self.desktop.hand.call_blocking(self.name, path, interface, method, signature, arguments, timeout=5)

    @property
    def properties(self):
        return self.call("/StatusNotifierItem", PROPERTIES, "GetAll", "s", ITEM)

    @property
    def title(self):
        return str(self.properties["Title"])

    def picture(self):
        return bytes(self.properties["IconPixmap"][1][2])

    def items(self):
        """The numbers of the entries of the menu, by their labels."""
        _, (_, _, children) = self.call("/MenuBar", MENU, "GetLayout", "iias", 0, -1, dbus.Array([], "s"))
        return {str(item[1].get("label", f"-{item[0]}")): int(item[0]) for item in children}

    def choose(self, label):
        self.call("/MenuBar", MENU, "Event", "isvu", self.items()[label], "clicked", dbus.Int32(0), dbus.UInt32(0))

    def click(self):
        self.call("/StatusNotifierItem", ITEM, "Activate", "ii", 0, 0)

    def waits(self, title):
        """Waits for a title."""
        harness.wait(lambda: self.title == title, lambda: f"the icon says {title!r}, not {self.title!r}")


def serve(address, shown):
    """A server of notifications as a program of its own, which the bus starts."""
    connection = dbus.bus.BusConnection(address, mainloop=dbus.mainloop.glib.DBusGMainLoop())
    server = Server(connection, dbus.Array(["body"], "s"))

    def write():
        with open(shown, "w") as file:
            file.write("\n".join(one["body"] for one in server.shown))
        return True

    GLib.timeout_add(50, write)
    connection.request_name(NOTIFICATIONS)
    GLib.MainLoop().run()


if __name__ == "__main__":
    serve(*sys.argv[1:])
