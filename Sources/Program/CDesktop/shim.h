// Embedded Swift has no module of the C library. Macros and functions with variadic arguments get a function here.
#include <dbus/dbus.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// In glibc, whose headers hide these from a module.
extern char **environ;
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
enum { desktop_new_session = 0x80 }; // POSIX_SPAWN_SETSID
struct desktop_credentials {         // struct ucred
    pid_t process;
    uid_t user;
    gid_t group;
};

static inline int desktop_error(void) { return errno; }

/// Opens a file for reading, without waiting and without following a link.
static inline int desktop_open(const char *path) {
    return open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/// Returns whether the user owns this folder.
static inline int desktop_owns_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/// Returns whether another process has the lock of an open file.
static inline int desktop_is_locked(int file) {
    while (flock(file, LOCK_SH | LOCK_NB) != 0) {
        if (errno != EINTR) return errno == EWOULDBLOCK;
    }
    return 0;
}

/// Connects to the socket at a path, where a process of this user listens. Returns a descriptor that does not block, or
/// -1.
static inline int desktop_connect(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path) return -1;
    strcpy(name.sun_path, path);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection < 0) return -1;
    struct desktop_credentials peer;
    socklen_t size = sizeof peer;
    if (connect(connection, (struct sockaddr *)&name, sizeof name) == 0 &&
        getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.user == geteuid())
        return connection;
    close(connection);
    return -1;
}

static inline ssize_t desktop_receive(int connection, void *buffer, size_t size) {
    return recv(connection, buffer, size, 0);
}

static inline ssize_t desktop_send(int connection, const void *bytes, size_t size) {
    return send(connection, bytes, size, MSG_NOSIGNAL);
}

/// Returns a descriptor that reports changes, or -1.
static inline int desktop_begin_watching(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

/// Watches a folder for new entries and for its own end. Returns the number of the watch, or -1.
static inline int desktop_watch(int changes, const char *folder) {
    return inotify_add_watch(changes, folder, IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

static inline int desktop_is_folder(const struct inotify_event *event) { return (event->mask & IN_ISDIR) != 0; }

/// Starts a program in a session of its own, with this program's environment and without input and output.
///
/// Returns 0 and the process, or the error.
static inline int desktop_start(const char *program, char *const *words, pid_t *process) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | desktop_new_session);
    int code = posix_spawnp(process, program, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/// Returns the exit status of a child that has ended, 0 after a signal; -1 while the child runs.
static inline int desktop_exit_status(pid_t process) {
    int status = 0;
    if (waitpid(process, &status, WNOHANG) != process) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/// Waits for a descriptor, or for a time in milliseconds, -1 for ever.
static inline int desktop_wait(struct pollfd *places, int count, int time) { return poll(places, (nfds_t)count, time); }

static inline void desktop_ignore_closed_pipes(void) { signal(SIGPIPE, SIG_IGN); }
