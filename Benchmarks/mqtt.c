// mqtt send PORT: publishes an event with QoS 0 at the broker on PORT of 127.0.0.1 for each line on standard input.
// mqtt receive PORT: subscribes to them, and reports those that arrive.

#include "exchange.h"

#include <mosquitto.h>
#include <poll.h>

static const char *topic = "benchmark";

static void check(int result, const char *what) {
    if (result == MOSQ_ERR_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", what, mosquitto_strerror(result));
    exit(1);
}

static void subscribed(struct mosquitto *client, void *context, int message, int count, const int *granted) {
    (void)client, (void)context, (void)message, (void)count, (void)granted;
    say_ready();
}

static void connected(struct mosquitto *client, void *is_receiver, int result) {
    check(result, "connecting");
    if (is_receiver) {
        check(mosquitto_subscribe(client, NULL, topic, 0), "subscribing");
    } else {
        say_ready();
    }
}

static void arrived(struct mosquitto *client, void *context, const struct mosquitto_message *message) {
    long long at = now();
    char event[EVENT_SIZE + 1] = {0};
    (void)client, (void)context;
    if (message->payloadlen != EVENT_SIZE) return;
    memcpy(event, message->payload, EVENT_SIZE);
    report(event, at);
}

// Publishes from the one thread that waits for standard input and for the broker.
static void publish_lines(struct mosquitto *client) {
    for (;;) {
        struct pollfd ready[2] = {
            {.fd = STDIN_FILENO, .events = POLLIN}, {.fd = mosquitto_socket(client), .events = POLLIN}};
        if (mosquitto_want_write(client)) ready[1].events |= POLLOUT;
        if (poll(ready, 2, 1000) < 0) fail("poll");
        if (ready[0].revents) {
            char event[EVENT_SIZE] = {0};
            long number;
            if (!read_number(&number)) return;
            make_event(event, number);
            check(mosquitto_publish(client, NULL, topic, EVENT_SIZE, event, 0, false), "publishing");
        }
        if (ready[1].revents & POLLIN) check(mosquitto_loop_read(client, 1), "reading");
        if (ready[1].revents & POLLOUT) check(mosquitto_loop_write(client, 1), "writing");
        check(mosquitto_loop_misc(client), "keeping the connection");
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    int is_receiver = strcmp(arguments[1], "receive") == 0;
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, is_receiver ? &is_receiver : NULL);
    if (!client) fail("mosquitto_new");
    check(mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1), "TCP_NODELAY");
    mosquitto_connect_callback_set(client, connected);
    mosquitto_subscribe_callback_set(client, subscribed);
    mosquitto_message_callback_set(client, arrived);
    check(mosquitto_connect(client, "127.0.0.1", atoi(arguments[2]), 60), "connecting");
    if (is_receiver) {
        check(mosquitto_loop_forever(client, -1, 1), "receiving");
    } else {
        publish_lines(client);
    }
    return 0;
}
