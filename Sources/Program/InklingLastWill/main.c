// The helper of the last will: it keeps finished farewells of a node, and sends them when the node dies without one.
//
// The node writes to standard input, one message of a SOCK_SEQPACKET socket each; descriptor 3 is the node's own UDP
// socket. It holds no keys. Messages:
//   1, session u32, length of the socket address u8, socket address, datagram    keep, in place of the one before
//   2, session u32                                                               forget
//   3                                                                            the node says its farewells itself
//
// In C, so that it takes as little memory as a process can: there is one for each node.

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { control = 0, udp = 3, header_size = 6, largest_message = 4096 };

/// A message that keeps a farewell, whole.
struct will {
    uint32_t session;
    size_t size;
    uint8_t *message;
};

/// Ordered by session.
static struct will *wills;
static size_t count, capacity;

/// Where the will of a session is, or would be.
static size_t position(uint32_t session) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wills[middle].session < session) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void forget(uint32_t session) {
    size_t index = position(session);
    if (index == count || wills[index].session != session) return;
    free(wills[index].message);
    count--;
    memmove(&wills[index], &wills[index + 1], (count - index) * sizeof *wills);
}

/// Where memory is short, the session stays without a farewell.
static void keep(uint32_t session, const uint8_t *message, size_t size) {
    forget(session);
    if (count == capacity) {
        size_t larger = capacity == 0 ? 16 : 2 * capacity;
        struct will *moved = realloc(wills, larger * sizeof *wills);
        if (moved == NULL) return;
        wills = moved;
        capacity = larger;
    }
    uint8_t *copy = malloc(size);
    if (copy == NULL) return;
    memcpy(copy, message, size);
    size_t index = position(session);
    memmove(&wills[index + 1], &wills[index], (count - index) * sizeof *wills);
    wills[index] = (struct will){session, size, copy};
    count++;
}

/// Reads every message until the node is gone.
///
/// Returns whether what is kept is to be sent.
static bool collect(void) {
    uint8_t message[largest_message];
    while (true) {
        ssize_t received = recv(control, message, sizeof message, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return true;
        size_t size = (size_t)received;
        uint32_t session = 0;
        if (size >= 5) memcpy(&session, message + 1, sizeof session);
        switch (message[0]) {
        case 1:
            if (size >= header_size && size > (size_t)header_size + message[5]) keep(session, message, size);
            break;
        case 2:
            if (size == 5) forget(session);
            break;
        case 3:
            return false;
        }
    }
}

/// Nanoseconds of a clock that never goes back.
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void send_all(int64_t end) {
    for (size_t index = 0; index < count; index++) {
        const uint8_t *name = wills[index].message + header_size, *datagram = name + wills[index].message[5];
        size_t size = (size_t)(wills[index].message + wills[index].size - datagram);
        for (int attempt = 0; attempt < 3; attempt++) {
            if (now() >= end) return;
            // A copy, as the message is not aligned as an address has to be.
            struct sockaddr_storage address = {0};
            socklen_t length = wills[index].message[5];
            if (length > sizeof address) break;
            memcpy(&address, name, length);
            ssize_t sent = sendto(udp, datagram, size, 0, (struct sockaddr *)&address, length);
            if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) break;
            struct pollfd writable = {.fd = udp, .events = POLLOUT};
            poll(&writable, 1, 10);
        }
    }
}

int main(void) {
    // What ends or stops the node at its terminal must not end this before its work is done.
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP,
                                  SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2};
    for (size_t index = 0; index < sizeof ignored / sizeof *ignored; index++) signal(ignored[index], SIG_IGN);
    if (!collect() || count == 0) return 0;
    // It outlives its node by less than a second, whatever the network takes.
    int64_t end = now() + 900000000;
    static const long pauses[] = {0, 30000000, 90000000};
    for (size_t index = 0; index < sizeof pauses / sizeof *pauses; index++) {
        nanosleep(&(struct timespec){.tv_nsec = pauses[index]}, NULL);
        send_all(end);
    }
    return 0;
}
