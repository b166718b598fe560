#include "reply.h"

struct scan {
    const char *expected;
    mark_handler *handler;
    void *context;
};

void reply_start(struct reply *reply)
{
    memset(reply, 0, sizeof *reply);
}

static void parse_head(struct reply *reply)
{
    const char *head = reply->line;
    reply->status = strncmp(head, "HTTP/1.1 ", 9) == 0 ? atoi(head + 9) : 0;
    reply->keep_alive = !strcasestr(head, "\r\nconnection: close");
    const char *length = strcasestr(head, "\r\ncontent-length:");
    if (strcasestr(head, "\r\ntransfer-encoding: chunked")) {
        reply->state = CHUNK_SIZE;
    } else if (length) {
        reply->remaining = strtoul(length + 17, NULL, 10);
        reply->state = reply->remaining ? COUNTED : COMPLETE;
    } else {
        reply->keep_alive = false;
        reply->state = UNTIL_CLOSE;
    }
}

/* Takes bytes up to and including `end`; true when the line is whole (zero-terminated, in `line`). */
static bool take_line(struct reply *reply, const char **data, const char *limit, const char *end)
{
    size_t end_length = strlen(end);
    while (*data < limit) {
        if (reply->line_length + 1 >= sizeof reply->line) {
            reply->state = BROKEN;
            return false;
        }
        reply->line[reply->line_length++] = *(*data)++;
        if (reply->line_length >= end_length &&
            memcmp(reply->line + reply->line_length - end_length, end, end_length) == 0) {
            reply->line[reply->line_length] = 0;
            return true;
        }
    }
    return false;
}

static void mark_ended(struct reply *reply, const struct scan *scan)
{
    reply->mark[reply->mark_length] = 0;
    reply->mark_length = 0;
    int64_t mark = strtoll(reply->mark + 1, NULL, 10);
    if (mark <= reply->last_mark) /* the text is being repeated */
        return;
    reply->last_mark = mark;
    reply->marks++;
    scan->handler(scan->context, mark);
}

static void scan_marks(struct reply *reply, const char *data, const char *limit, const struct scan *scan)
{
    while (data < limit) {
        if (reply->mark_length == 0) {
            data = memchr(data, '@', (size_t)(limit - data));
            if (!data)
                return;
            reply->mark[reply->mark_length++] = *data++;
        } else if (*data < '0' || *data > '9') {
            reply->mark_length = 0; /* no mark after all */
        } else {
            reply->mark[reply->mark_length++] = *data++;
            if (reply->mark_length == MARK_DIGITS + 1)
                mark_ended(reply, scan);
        }
    }
}

static void scan_expected(struct reply *reply, const char *data, size_t length, const char *expected)
{
    size_t wanted = strlen(expected);
    if (reply->expected_seen || wanted == 0)
        return;
    char seam[2 * sizeof reply->tail];
    size_t head = length < sizeof reply->tail ? length : sizeof reply->tail;
    memcpy(seam, reply->tail, reply->tail_length);
    memcpy(seam + reply->tail_length, data, head);
    reply->expected_seen = memmem(seam, reply->tail_length + head, expected, wanted) || memmem(data, length, expected, wanted);
    size_t joined = reply->tail_length + head;
    if (length >= sizeof reply->tail) {
        memcpy(reply->tail, data + length - sizeof reply->tail, sizeof reply->tail);
        reply->tail_length = sizeof reply->tail;
    } else {
        reply->tail_length = joined < sizeof reply->tail ? joined : sizeof reply->tail;
        memcpy(reply->tail, seam + joined - reply->tail_length, reply->tail_length);
    }
}

static void scan_body(struct reply *reply, const char *data, size_t length, const struct scan *scan)
{
    scan_marks(reply, data, data + length, scan);
    if (scan->expected)
        scan_expected(reply, data, length, scan->expected);
}

static size_t take_body(struct reply *reply, const char *data, size_t available, const struct scan *scan)
{
    size_t length = available < reply->remaining ? available : reply->remaining;
    scan_body(reply, data, length, scan);
    reply->remaining -= length;
    return length;
}

/* One step: a line or a stretch of body. */
static const char *step(struct reply *reply, const char *data, const char *limit, const struct scan *scan)
{
    switch (reply->state) {
    case HEAD:
        if (take_line(reply, &data, limit, "\r\n\r\n")) {
            parse_head(reply);
            reply->line_length = 0;
        }
        return data;
    case CHUNK_SIZE:
        if (take_line(reply, &data, limit, "\r\n")) {
            reply->remaining = strtoul(reply->line, NULL, 16);
            reply->state = reply->remaining ? CHUNK_DATA : TRAILER;
            reply->line_length = 0;
        }
        return data;
    case CHUNK_DATA:
        data += take_body(reply, data, (size_t)(limit - data), scan);
        if (reply->remaining == 0)
            reply->state = CHUNK_END;
        return data;
    case CHUNK_END:
    case TRAILER:
        if (take_line(reply, &data, limit, "\r\n")) {
            reply->state = reply->state == CHUNK_END ? CHUNK_SIZE : reply->line_length == 2 ? COMPLETE : TRAILER;
            reply->line_length = 0;
        }
        return data;
    case COUNTED:
        data += take_body(reply, data, (size_t)(limit - data), scan);
        if (reply->remaining == 0)
            reply->state = COMPLETE;
        return data;
    default:
        scan_body(reply, data, (size_t)(limit - data), scan);
        return limit;
    }
}

void reply_feed(struct reply *reply, const char *data, size_t length, const char *expected, mark_handler *handler, void *context)
{
    const struct scan scan = {expected, handler, context};
    const char *limit = data + length;
    while (data < limit && reply->state != COMPLETE && reply->state != BROKEN)
        data = step(reply, data, limit, &scan);
}

void reply_close(struct reply *reply)
{
    if (reply->state != COMPLETE)
        reply->state = reply->state == UNTIL_CLOSE ? COMPLETE : BROKEN;
}
