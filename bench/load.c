/* Asks one question over and over, and measures the answers.
 *
 *   load --port N --path PATH --body FILE [--header "NAME: VALUE"]... [--connections N]
 *        [--requests N | --seconds S] [--expect TEXT] [--marks N] [--hold marks|sent]
 *
 * A reply is good if its status is 200, it holds TEXT and it brought exactly N marks (common.h). Prints one line of JSON.
 * With --hold it asks once on each connection, prints "ready" when every one has its first mark (or has sent its question),
 * reads on until its own input ends, and then leaves without a word, as a caller does that crashed.
 */
#include <getopt.h>

#include "common.h"
#include "reply.h"

#define MAX_EVENTS 512

struct series {
    int64_t *values;
    size_t length, capacity;
};

struct connection {
    int fd;
    bool open;
    size_t sent;
    int64_t asked;
    struct reply reply;
};

static struct {
    int port, connections;
    long requests, marks;
    double seconds;
    const char *path, *body, *expect, *hold;
    struct buffer headers;
} options = {.connections = 1, .marks = -1};

static struct {
    long asked, answered, errors, ready;
    char first_error[160];
    int64_t started, ended, marked;
    struct series latency, first_mark, transit;
} results;

static struct buffer request;
static struct connection *connections;
static int poller;
static int64_t read_at; /* when the bytes that are being scanned were read */

/* ---- results ---- */

static void series_add(struct series *s, int64_t value)
{
    if (s->length == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 4096;
        s->values = grow(s->values, s->capacity * sizeof *s->values);
    }
    s->values[s->length++] = value;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_series(const char *name, struct series *s)
{
    if (s->length == 0) {
        printf(",\"%s\":null", name);
        return;
    }
    qsort(s->values, s->length, sizeof *s->values, compare);
    static const double quantiles[] = {0.5, 0.9, 0.99};
    printf(",\"%s\":{", name);
    for (int i = 0; i < 3; i++)
        printf("\"p%.0f\":%.4f,", quantiles[i] * 100,
               (double)s->values[(size_t)((double)(s->length - 1) * quantiles[i])] / 1e6);
    printf("\"max\":%.4f}", (double)s->values[s->length - 1] / 1e6);
}

static void print_results(void)
{
    double seconds = (double)(results.ended - results.started) / 1e9;
    printf("{\"answered\":%ld,\"errors\":%ld,\"seconds\":%.4f,\"marks\":%ld", results.answered, results.errors, seconds,
           (long)results.transit.length);
    printf(",\"marked_seconds\":%.4f", (double)(results.marked - results.started) / 1e9);
    print_series("latency_ms", &results.latency);
    print_series("first_mark_ms", &results.first_mark);
    print_series("transit_ms", &results.transit);
    printf(",\"first_error\":\"%s\"}\n", results.first_error);
}

static void count_error(const char *what, int status, long marks)
{
    if (results.errors++ == 0)
        snprintf(results.first_error, sizeof results.first_error, "%s (status %d, %ld marks)", what, status, marks);
}

/* ---- connections ---- */

static bool may_ask(void)
{
    if (options.hold)
        return results.asked < options.connections;
    if (options.requests && results.asked >= options.requests)
        return false;
    return options.requests || (double)(now_ns() - results.started) < options.seconds * 1e9;
}

static void want(struct connection *c, int operation, uint32_t interest)
{
    struct epoll_event event = {.events = interest, .data.ptr = c};
    if (epoll_ctl(poller, operation, c->fd, &event) < 0)
        fail("epoll_ctl");
}

static void dial(struct connection *c)
{
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(options.port);
    if (c->fd < 0 || (connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS))
        fail("connect");
    no_delay(c->fd);
    c->open = true;
    want(c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static void hang_up(struct connection *c)
{
    close(c->fd);
    c->open = false;
}

static void count_ready(void)
{
    if (++results.ready == options.connections) {
        puts("ready");
        fflush(stdout);
    }
}

static void send_question(struct connection *c)
{
    while (c->sent < request.length) {
        ssize_t n = send(c->fd, request.data + c->sent, request.length - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            want(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) { /* recv will say the same */
            want(c, EPOLL_CTL_MOD, EPOLLIN);
            return;
        }
        c->sent += (size_t)n;
    }
    want(c, EPOLL_CTL_MOD, EPOLLIN);
    if (options.hold && strcmp(options.hold, "sent") == 0)
        count_ready();
}

static void ask(struct connection *c)
{
    if (!may_ask()) {
        if (c->open)
            hang_up(c);
        return;
    }
    results.asked++;
    reply_start(&c->reply);
    c->sent = 0;
    c->asked = now_ns();
    if (!c->open)
        dial(c);
    else
        send_question(c);
}

static void on_mark(void *context, int64_t mark)
{
    struct connection *c = context;
    series_add(&results.transit, read_at - mark);
    results.marked = read_at;
    if (c->reply.marks > 1)
        return;
    series_add(&results.first_mark, read_at - c->asked);
    if (options.hold && strcmp(options.hold, "marks") == 0)
        count_ready();
}

static void on_answer(struct connection *c)
{
    const struct reply *reply = &c->reply;
    series_add(&results.latency, read_at - c->asked);
    results.ended = read_at;
    results.answered++;
    if (reply->state == BROKEN)
        count_error("cut reply", reply->status, reply->marks);
    else if (reply->status != 200)
        count_error("refused", reply->status, reply->marks);
    else if (options.expect && !reply->expected_seen)
        count_error("expected text is missing", reply->status, reply->marks);
    else if (options.marks >= 0 && reply->marks != options.marks)
        count_error("wrong number of marks", reply->status, reply->marks);
    if (reply->state == BROKEN || !reply->keep_alive)
        hang_up(c);
    ask(c);
}

static void on_readable(struct connection *c)
{
    static char data[262144];
    ssize_t n = recv(c->fd, data, sizeof data, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    read_at = now_ns();
    if (n > 0)
        reply_feed(&c->reply, data, (size_t)n, options.expect, on_mark, c);
    else
        reply_close(&c->reply);
    if (c->reply.state >= COMPLETE)
        on_answer(c);
}

static bool any_open(void)
{
    for (int i = 0; i < options.connections; i++)
        if (connections[i].open)
            return true;
    return false;
}

static void handle(const struct epoll_event *event)
{
    struct connection *c = event->data.ptr;
    if (!c) /* the standard input: whoever started this has seen enough */
        exit(0);
    if (event->events & EPOLLOUT)
        send_question(c);
    if (event->events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        on_readable(c);
}

static void run(void)
{
    results.started = results.ended = results.marked = now_ns();
    for (int i = 0; i < options.connections; i++)
        ask(&connections[i]);
    while (options.hold || any_open()) {
        struct epoll_event events[MAX_EVENTS];
        int n = epoll_wait(poller, events, MAX_EVENTS, -1);
        if (n < 0 && errno != EINTR)
            fail("epoll_wait");
        for (int i = 0; i < n; i++)
            handle(&events[i]);
    }
}

/* ---- start ---- */

static void read_body(struct buffer *body)
{
    FILE *file = fopen(options.body, "rb");
    if (!file)
        fail(options.body);
    size_t n;
    while ((n = fread(buffer_room(body, 65536), 1, 65536, file)) > 0)
        body->length += n;
    fclose(file);
}

static void make_request(void)
{
    struct buffer body = {0};
    read_body(&body);
    buffer_print(&request, "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n",
                 options.path, options.port, body.length);
    if (options.headers.length)
        buffer_add(&request, options.headers.data, options.headers.length);
    buffer_add(&request, "\r\n", 2);
    buffer_add(&request, body.data, body.length);
    buffer_free(&body);
}

static void set_option(int option)
{
    switch (option) {
    case 'p': options.port = atoi(optarg); break;
    case 'a': options.path = optarg; break;
    case 'b': options.body = optarg; break;
    case 'H': buffer_print(&options.headers, "%s\r\n", optarg); break;
    case 'c': options.connections = atoi(optarg); break;
    case 'n': options.requests = atol(optarg); break;
    case 's': options.seconds = atof(optarg); break;
    case 'e': options.expect = optarg; break;
    case 'm': options.marks = atol(optarg); break;
    case 'o': options.hold = optarg; break;
    default: exit(2);
    }
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"port", 1, 0, 'p'},     {"path", 1, 0, 'a'},    {"body", 1, 0, 'b'},   {"header", 1, 0, 'H'}, {"connections", 1, 0, 'c'},
        {"requests", 1, 0, 'n'}, {"seconds", 1, 0, 's'}, {"expect", 1, 0, 'e'}, {"marks", 1, 0, 'm'},  {"hold", 1, 0, 'o'},
        {0, 0, 0, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
        set_option(option);
    if (!options.port || !options.path || !options.body || options.connections < 1) {
        fputs("load: --port, --path and --body are needed\n", stderr);
        return 2;
    }
    make_request();
    connections = calloc((size_t)options.connections, sizeof *connections);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (options.hold) {
        struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
        epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &input);
    }
    run();
    print_results();
    return 0;
}
