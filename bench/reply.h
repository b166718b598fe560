/* Reads one HTTP reply after another, and the marks in their bodies. */
#ifndef BENCH_REPLY_H
#define BENCH_REPLY_H

#include "common.h"

enum reply_state { HEAD, COUNTED, UNTIL_CLOSE, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, COMPLETE, BROKEN };

struct reply {
    enum reply_state state;
    int status;
    bool keep_alive, expected_seen;
    size_t remaining;
    char line[4096]; /* the head, a chunk's size or a trailer, as far as it has come */
    size_t line_length;
    char mark[MARK_DIGITS + 2]; /* a mark that the end of a read has cut */
    size_t mark_length;
    char tail[64]; /* the last bytes, where the expected text may have begun */
    size_t tail_length;
    long marks;
    int64_t last_mark;
};

/* Called for each mark that is new in its reply. */
typedef void mark_handler(void *context, int64_t mark);

void reply_start(struct reply *reply);
/* Feeds bytes; stops after the reply's end. `expected` may be NULL. */
void reply_feed(struct reply *reply, const char *data, size_t length, const char *expected, mark_handler *handler, void *context);
/* The other side closed: the end of a reply without a length, the break of any other. */
void reply_close(struct reply *reply);

#endif
