// What the programs of the benchmark in C share. Each sends or receives events that are 27 bytes long, as Inkling's
// datagrams of a typing edge are: the number of the event, and the time of the call that sends it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVENT_SIZE = 27 };

// The time of day in nanoseconds since 1970.
static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// Waits for a line with the number of an event on standard input. 0 at its end.
static int read_number(long *number) {
    char line[32];
    ssize_t length = read(STDIN_FILENO, line, sizeof line - 1);
    if (length <= 0) return 0;
    line[length] = 0;
    *number = strtol(line, NULL, 10);
    return 1;
}

// The event of that number, sent now.
static void make_event(char event[EVENT_SIZE], long number) {
    char text[64] = {0};
    snprintf(text, sizeof text, "%6ld %19lld", number, now());
    memcpy(event, text, EVENT_SIZE);
}

// Writes an event, with the time at which it arrived, as one line of JSON on standard output.
static void report(const char *event, long long at) {
    long number;
    long long sent;
    char line[128];
    if (sscanf(event, "%ld %lld", &number, &sent) != 2) return;
    int length = snprintf(line, sizeof line, "{\"number\":%ld,\"sent\":%lld,\"at\":%lld}\n", number, sent, at);
    if (write(STDOUT_FILENO, line, length) != length) exit(1);
}

static void say_ready(void) {
    if (write(STDOUT_FILENO, "{}\n", 3) != 3) exit(1);
}
