# Shared by the scripts beside it, which source it. POSIX sh.

# Debian keeps administrators' programs out of an ordinary user's PATH.
PATH=$PATH:/usr/sbin:/sbin
# Python leaves no files beside its modules.
PYTHONDONTWRITEBYTECODE=1
export PATH PYTHONDONTWRITEBYTECODE

# say WORDS: prints a message, after this script's name. Scripts/package.d/build is `package build`.
say() {
    script=${0%/*}
    case $script in *.d) script=${script##*/} && printf '%s ' "${script%.d}" >&2 ;; esac
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
    say "$@"
    exit 1
}

# Prints the comment at the top of this script.
help() { sed -n '2,/^[^#]/ { s/^# \{0,1\}//p; }' "$0"; }

# usage WORDS: ends this script, whose arguments are wrong.
usage() {
    say "$@"
    help >&2
    exit 64
}

# part NAME [ARGUMENT...]: becomes the part of this script with that name, a program in the folder beside it.
part() {
    program=$0.d/$1
    shift
    [ ! -x "$program" ] || exec "$program" "$@"
    install python3=python3
    exec python3 "$program.py" "$@"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

can_be_root() { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1; }

# Checks that Swift is here, and installs the headers that Inkling is built with.
require_swift() {
    command -v swift >/dev/null 2>&1 || die "Swift 6.2 or later is needed: see https://www.swift.org/install"
    install libavahi-compat-libdnssd-dev=/usr/include/dns_sd.h libdbus-1-dev=/usr/include/dbus-1.0/dbus/dbus.h \
        libsodium-dev=/usr/include/sodium.h libsqlite3-dev=/usr/include/sqlite3.h \
        libtomlplusplus-dev=/usr/include/toml++/toml.h libutf8proc-dev=/usr/include/utf8proc.h pkg-config=pkg-config
}

# The options of every build, so that all share one. Each function and constant gets a section of its own, and no symbol
# stays for other programs. The linker then drops 13 % more of the program. Without debug information, which no shipped
# program has, a build takes a seventh less time; backtraces name functions all the same.
options='-debug-info-format none
    -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link
    -Xcc -ffunction-sections -Xcc -fdata-sections -Xcxx -ffunction-sections -Xcxx -fdata-sections'

# build PACKAGE OPTION...: builds a part of the package in that folder.
build() {
    package=$1
    shift
    # shellcheck disable=SC2086
    swift build --package-path "$package" -c release $options "$@" >&2 || die "the build failed: see above"
}

# missing_packages NEED...: the Debian packages of those needs that this machine does not meet.
# A need is PACKAGE=PROGRAM or PACKAGE=/a/file.
missing_packages() {
    for need in "$@"; do
        case ${need#*=} in
            /*) [ -e "${need#*=}" ] ;;
            *) command -v "${need#*=}" >/dev/null 2>&1 ;;
        esac || printf '%s ' "${need%%=*}"
    done
}

# install NEED...: installs what is missing, and only that.
install() {
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null 2>&1 ||
        die "these packages are missing; there is no apt-get here, so install them yourself: $missing"
    can_be_root || die "these packages are missing; install them as root: apt-get install $missing"
    say "installing $missing"
    # Two of these scripts can install at once, and another program of the system can too.
    as_root flock /var/lock apt-get update -q >&2 || die "apt-get update failed: see above"
    # shellcheck disable=SC2086
    as_root flock /var/lock env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        install -q -y --no-install-recommends $missing >&2 || die "could not install $missing: see above"
}

bus_answers() {
    dbus-send --system --print-reply --reply-timeout=2000 --dest=org.freedesktop.DBus / \
        org.freedesktop.DBus.GetId >/dev/null 2>&1
}

avahi_answers() {
    dbus-send --system --print-reply --reply-timeout=2000 --dest=org.freedesktop.DBus / \
        org.freedesktop.DBus.NameHasOwner string:org.freedesktop.Avahi 2>/dev/null | grep -q 'boolean true'
}

# After a crash, a bus leaves a file that keeps the next one from starting.
start_bus() {
    as_root mkdir -p /run/dbus
    bus=$(cat /run/dbus/pid 2>/dev/null) || bus=
    [ -n "$bus" ] && [ "$(cat "/proc/$bus/comm" 2>/dev/null)" = dbus-daemon ] || as_root rm -f /run/dbus/pid
    as_root dbus-daemon --system --fork
}

# Starts the daemons that discovery needs. Inkling runs without them too, and says so, so this function never fails.
start_discovery() {
    ! avahi_answers || return 0
    if ! can_be_root; then
        say "discovery needs the Avahi daemon, which only root can start: going on without it"
        return 0
    fi
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo='sudo '
    if [ -d /run/systemd/system ]; then
        say "starting the Avahi daemon (to stop it: ${sudo}systemctl stop avahi-daemon.socket avahi-daemon)"
        as_root systemctl start avahi-daemon || say "it did not start: going on without discovery"
        return 0
    fi
    if ! bus_answers; then
        say "starting the D-Bus system bus (to stop it: ${sudo}kill \$(cat /run/dbus/pid))"
        start_bus || say "it did not start"
    fi
    say "starting the Avahi daemon (to stop it: ${sudo}avahi-daemon -k)"
    as_root avahi-daemon -D --no-rlimits || say "it did not start: going on without discovery"
}

# Starts the daemons of discovery on the loopback of these namespaces.
discover_on_loopback() {
    ip route add 224.0.0.0/4 dev lo
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir /run/dbus
    dbus-daemon --system --fork
    printf '[server]\nallow-interfaces=lo\n[publish]\npublish-workstation=no\npublish-hinfo=no\n' >/run/avahi.conf
    avahi-daemon -D --no-rlimits -f /run/avahi.conf
}

# Makes the interface `lan` in these namespaces, and starts the daemons of discovery on it. One user has all nodes of a
# test, and each search and each service of a node is a connection to the bus.
begin_lan() {
    ip link add lan type veth peer name switch
    ip link set switch up
    ip link set lan up
    ip address add 10.77.0.1/24 dev lan
    ip route add 224.0.0.0/4 dev lan
    mkdir /run/dbus
    cat >/run/bus.conf <<-'END'
	<busconfig>
	  <include>/usr/share/dbus-1/system.conf</include>
	  <limit name="max_connections_per_user">4096</limit>
	</busconfig>
	END
    dbus-daemon --config-file=/run/bus.conf --fork
    printf '[server]\nallow-interfaces=lan\n[publish]\npublish-workstation=no\npublish-hinfo=no\n' >/run/avahi.conf
    avahi-daemon -D --no-rlimits -f /run/avahi.conf
}

# require_root: ends this script unless root runs it, and installs what namespaces need.
require_root() {
    [ "$(id -u)" -eq 0 ] || die "root is needed, for network namespaces: run it with sudo"
    install iproute2=ip util-linux=nsenter util-linux=setpriv util-linux=unshare
}

# run_in_namespaces ARGUMENT...: runs `$0 --inside ARGUMENT...` in its own namespaces for the network, the mounts, the
# host name and the processes, and exits with its status. Needs root. All processes inside end with this script.
run_in_namespaces() {
    inner=
    trap end_namespaces EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # If this script is killed, the kernel kills its processes.
    INKLING_NAMESPACE=yes setpriv --pdeathsig KILL \
        unshare --net --mount --uts --pid --fork --kill-child --mount-proc "$0" --inside "$@" &
    inner=$!
    status=0
    wait "$inner" || status=$?
    inner=
    exit "$status"
}

# SIGKILL for the namespaces' first process, which takes all others with it.
end_namespaces() {
    trap '' HUP INT TERM
    [ -z "$inner" ] || kill -KILL "$inner" 2>/dev/null || :
}

# Begins a script that was called with --inside. The script is the first process of the process namespace: when it ends,
# the kernel ends all others.
begin_inside() {
    [ "${INKLING_NAMESPACE-}" = yes ] || die "--inside is for this script alone"
    # The first process gets only signals that it has a handler for.
    trap 'exit 1' HUP INT TERM
    ip link set lo up
}

# The ID of the ordinary user of the tests, which no account of a machine has. Network.swift has the same.
ordinary=59999

# Lets all users reach this clone and Swift, in a mount namespace of this script alone: a private folder above them
# becomes an empty one, in which they are in the same places.
reveal() {
    set -- "$directory"
    libraries=$(swift -print-target-info 2>/dev/null | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p') || :
    [ -z "$libraries" ] || set -- "$@" "$libraries"
    held=$(mktemp -d -p /tmp)
    for folder in "$@"; do
        [ -n "$(private_above "$folder")" ] || continue
        mkdir -p "$held$folder"
        mount --bind "$folder" "$held$folder"
    done
    for folder in "$@"; do
        mountpoint -q "$held$folder" || continue
        above=$(private_above "$folder")
        [ -z "$above" ] || mount -t tmpfs -o mode=755 tmpfs "$above"
        mkdir -p "$folder"
        mount --bind "$held$folder" "$folder"
    done
}

# private_above PATH: prints the highest folder above a path that other users can't enter.
private_above() {
    above=$1
    private=
    while [ "$above" != / ]; do
        above=$(dirname "$above")
        [ -n "$(find "$above" -maxdepth 0 -perm -o=x)" ] || private=$above
    done
    echo "$private"
}

# as_ordinary COMMAND...: runs a command as an ordinary user, with an entry in /etc/passwd, a home and a /run of their
# own. Needs root, and a mount namespace of this script alone.
as_ordinary() {
    make_ordinary
    become_ordinary "$@"
}

# Makes the home, the /run and the entry in /etc/passwd of the ordinary user.
make_ordinary() {
    reveal
    mount -t tmpfs -o "mode=755,uid=$ordinary,gid=$ordinary" tmpfs /run
    { cat /etc/passwd && echo "ordinary:x:$ordinary:$ordinary::/run/home:/bin/sh"; } >/run/passwd
    mount --bind /run/passwd /etc/passwd
    command install -d -m 700 -o "$ordinary" -g "$ordinary" /run/home
}

# become_ordinary COMMAND...: runs a command as the user of make_ordinary.
become_ordinary() {
    cd /run/home
    env -u TMPDIR -u XDG_CONFIG_HOME -u XDG_RUNTIME_DIR -u XDG_STATE_HOME HOME=/run/home USER=ordinary LOGNAME=ordinary \
        PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin setpriv "--reuid=$ordinary" "--regid=$ordinary" --clear-groups -- "$@"
}
