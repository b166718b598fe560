/* A fast fake of both upstreams for measurements: api.perplexity.ai's Agent API and perplexity.ai's ask call; and for
 * gateways that speak no Agent API the same answers as chat completions.
 *
 *   upstream PORT        (0 = any; prints "listening on http://127.0.0.1:PORT")
 *
 * The question says what is wanted, since only the question comes through every gateway unchanged:
 *   chunks=N   events with text (default: 100 on the session, else 200)
 *   gap=MS     milliseconds between them (default 0: as fast as the socket takes them)
 *   hold=1     one event, then silence until the caller leaves
 * GET /stats tells how many questions are open and when the last one was closed or answered.
 */
#include "common.h"
#include "shapes.h"

#define OUT_ENOUGH 65536
#define MAX_EVENTS 512

struct connection {
    int fd;
    uint32_t interest;
    struct buffer in, out;
    struct run run;
    bool asking, waiting; /* a question is open; its next event is in the heap */
    int64_t due;
    size_t heap_index;
    struct connection *next_dead;
};

static int poller;
static struct connection **heap;
static size_t heap_length, heap_capacity;
static struct connection *dead; /* closed ones are freed after the round of events that may still name them */
static struct {
    long open, most_open, questions, answered, abandoned;
    int64_t last_closed;
} stats;

/* ---- a heap by due time ---- */

static void heap_put(size_t i, struct connection *c)
{
    heap[i] = c;
    c->heap_index = i;
}

static void heap_up(size_t i)
{
    struct connection *c = heap[i];
    for (; i > 0 && heap[(i - 1) / 2]->due > c->due; i = (i - 1) / 2)
        heap_put(i, heap[(i - 1) / 2]);
    heap_put(i, c);
}

static void heap_down(size_t i)
{
    struct connection *c = heap[i];
    for (size_t child; (child = 2 * i + 1) < heap_length; i = child) {
        if (child + 1 < heap_length && heap[child + 1]->due < heap[child]->due)
            child++;
        if (heap[child]->due >= c->due)
            break;
        heap_put(i, heap[child]);
    }
    heap_put(i, c);
}

static void wait_until_due(struct connection *c)
{
    if (heap_length == heap_capacity) {
        heap_capacity = heap_capacity ? heap_capacity * 2 : 256;
        heap = grow(heap, heap_capacity * sizeof *heap);
    }
    c->waiting = true;
    heap_put(heap_length++, c);
    heap_up(c->heap_index);
}

static void stop_waiting(struct connection *c)
{
    if (!c->waiting)
        return;
    c->waiting = false;
    struct connection *last = heap[--heap_length];
    if (last == c)
        return;
    heap_put(c->heap_index, last);
    heap_up(last->heap_index);
    heap_down(last->heap_index);
}

/* ---- questions ---- */

static void question_opened(struct connection *c)
{
    c->asking = true;
    stats.questions++;
    if (++stats.open > stats.most_open)
        stats.most_open = stats.open;
}

static void question_closed(struct connection *c, bool answered)
{
    if (!c->asking)
        return;
    c->asking = false;
    stats.open--;
    *(answered ? &stats.answered : &stats.abandoned) += 1;
    stats.last_closed = now_ns();
    stop_waiting(c);
}

static void close_connection(struct connection *c)
{
    if (c->fd < 0)
        return;
    question_closed(c, false);
    close(c->fd);
    c->fd = -1;
    buffer_free(&c->in);
    buffer_free(&c->out);
    run_free(&c->run);
    c->next_dead = dead;
    dead = c;
}

static void want(struct connection *c, uint32_t interest)
{
    if (c->interest == interest)
        return;
    c->interest = interest;
    struct epoll_event event = {.events = interest, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

/* Writes what is there; false if the connection broke. */
static bool flush(struct connection *c)
{
    while (c->out.offset < c->out.length) {
        ssize_t n = send(c->fd, c->out.data + c->out.offset, c->out.length - c->out.offset, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            want(c, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
            return true;
        }
        if (n < 0)
            return false;
        c->out.offset += (size_t)n;
    }
    buffer_clear(&c->out);
    want(c, EPOLLIN | EPOLLRDHUP);
    return true;
}

static bool may_write(const struct connection *c)
{
    return c->asking && !c->waiting && !run_silent(&c->run);
}

static void write_next(struct connection *c)
{
    if (run_ended(&c->run)) {
        question_closed(c, true);
        return;
    }
    run_write_next(&c->run, &c->out);
    if (run_paced(&c->run)) {
        c->due += c->run.gap_ns; /* from the plan, not from now: a late event does not slow the stream */
        wait_until_due(c);
    }
}

/* Adds the events that are due to the output and sends them; closes the connection if it broke. */
static void advance(struct connection *c)
{
    do {
        while (may_write(c) && c->out.length - c->out.offset < OUT_ENOUGH)
            write_next(c);
        if (!flush(c))
            close_connection(c);
    } while (may_write(c) && c->out.length == 0);
}

static void ask(struct connection *c, enum shape shape, const char *body)
{
    question_opened(c);
    run_start(&c->run, shape, body, &c->out);
    c->due = now_ns();
}

static void answer_stats(struct connection *c, enum shape shape, const char *body)
{
    (void)shape;
    (void)body;
    struct buffer text = {0};
    buffer_print(&text,
                 "{\"open\":%ld,\"most_open\":%ld,\"questions\":%ld,\"answered\":%ld,\"abandoned\":%ld,"
                 "\"last_closed_ns\":%lld,\"now_ns\":%lld}",
                 stats.open, stats.most_open, stats.questions, stats.answered, stats.abandoned,
                 (long long)stats.last_closed, (long long)now_ns());
    write_json(&c->out, 200, text.data, text.length);
    buffer_free(&text);
}

static void answer_fixed(struct connection *c, enum shape shape, const char *body)
{
    (void)body;
    const char *text = fixed_text(shape);
    write_json(&c->out, shape == NOTHING ? 404 : 200, text, strlen(text));
}

/* By the start of the path; the first match counts. */
static const struct route {
    const char *start;
    enum shape shape;
    void (*handle)(struct connection *, enum shape, const char *);
} routes[] = {
    {"POST /v1/agent ", AGENT, ask},
    {"POST /v1/responses ", AGENT, ask},
    {"POST /v1/chat/completions ", CHAT, ask},
    {"POST /rest/sse/perplexity_ask", SESSION, ask},
    {"GET /stats", NOTHING, answer_stats},
    {"GET /api/auth/session", LOGIN, answer_fixed},
    {"GET /rest/rate-limit/all", QUOTA, answer_fixed},
    {"", NOTHING, answer_fixed},
};

static void answer(struct connection *c, const char *head, const char *body)
{
    const struct route *route = routes;
    while (strncmp(head, route->start, strlen(route->start)) != 0)
        route++;
    route->handle(c, route->shape, body);
}

/* The length that a head declares; only Content-Length is understood. */
static size_t body_length(const char *head)
{
    const char *field = strcasestr(head, "\r\ncontent-length:");
    return field ? strtoul(field + 17, NULL, 10) : 0;
}

/* Takes one whole request from the input, if there is one and no question is open. */
static bool take_request(struct connection *c)
{
    if (c->asking || c->in.length == 0)
        return false;
    *buffer_room(&c->in, 1) = 0;
    char *end = memmem(c->in.data, c->in.length, "\r\n\r\n", 4);
    if (!end)
        return false;
    *end = 0;
    size_t head = (size_t)(end - c->in.data) + 4;
    size_t whole = head + body_length(c->in.data);
    if (c->in.length < whole) {
        *end = '\r';
        return false;
    }
    char kept = c->in.data[whole];
    c->in.data[whole] = 0;
    answer(c, c->in.data, c->in.data + head);
    c->in.data[whole] = kept;
    memmove(c->in.data, c->in.data + whole, c->in.length - whole);
    c->in.length -= whole;
    return true;
}

static void on_readable(struct connection *c)
{
    for (;;) {
        char *end = buffer_room(&c->in, 16384);
        ssize_t n = recv(c->fd, end, 16383, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            close_connection(c);
            return;
        }
        c->in.length += (size_t)n;
        if (n < 16383)
            break;
    }
    while (c->fd >= 0 && take_request(c))
        advance(c);
}

static void on_writable(struct connection *c)
{
    advance(c);
    while (c->fd >= 0 && take_request(c))
        advance(c);
}

static void accept_all(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        no_delay(fd);
        struct connection *c = calloc(1, sizeof *c);
        if (!c)
            fail("calloc");
        c->fd = fd;
        c->interest = EPOLLIN | EPOLLRDHUP;
        struct epoll_event event = {.events = c->interest, .data.ptr = c};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0)
            fail("epoll_ctl");
    }
}

static void on_event(struct connection *c, uint32_t events)
{
    if (c->fd >= 0 && events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP))
        close_connection(c);
    if (c->fd >= 0 && events & EPOLLIN)
        on_readable(c);
    if (c->fd >= 0 && events & EPOLLOUT)
        on_writable(c);
}

static void send_due(void)
{
    int64_t now = now_ns();
    while (heap_length && heap[0]->due <= now) {
        struct connection *c = heap[0];
        stop_waiting(c);
        on_writable(c);
    }
}

static int milliseconds_to_next(void)
{
    if (!heap_length)
        return -1;
    int64_t wait = heap[0]->due - now_ns();
    return wait <= 0 ? 0 : (int)((wait + 999999) / 1000000);
}

static int listen_on(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = loopback(port);
    socklen_t length = sizeof address;
    if (bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 4096) < 0)
        fail("listen");
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("listening on http://127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    int listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &listening);
    for (;;) {
        struct epoll_event events[MAX_EVENTS];
        int n = epoll_wait(poller, events, MAX_EVENTS, milliseconds_to_next());
        if (n < 0 && errno != EINTR)
            fail("epoll_wait");
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                on_event(events[i].data.ptr, events[i].events);
            else
                accept_all(listener);
        }
        send_due();
        while (dead) {
            struct connection *next = dead->next_dead;
            free(dead);
            dead = next;
        }
    }
}
