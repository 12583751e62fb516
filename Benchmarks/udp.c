// udp send PORT: sends a datagram to PORT of 127.0.0.1 for each line on standard input.
// udp receive PORT: reports the datagrams that arrive there.

#include "exchange.h"

#include <arpa/inet.h>
#include <sys/socket.h>

int main(int count, char **arguments) {
    if (count != 3) return 64;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[2]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char event[EVENT_SIZE + 1] = {0};
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    if (descriptor < 0) fail("socket");

    if (strcmp(arguments[1], "send") == 0) {
        long number;
        say_ready();
        while (read_number(&number)) {
            make_event(event, number);
            if (sendto(descriptor, event, EVENT_SIZE, 0, (struct sockaddr *)&address, sizeof address) < 0) {
                fail("sendto");
            }
        }
        return 0;
    }

    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
    say_ready();
    for (;;) {
        ssize_t length = recv(descriptor, event, EVENT_SIZE, 0);
        long long at = now();
        if (length < 0) fail("recv");
        event[length] = 0;
        report(event, at);
    }
}
