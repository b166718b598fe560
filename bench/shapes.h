/* The bytes that the fake upstream answers with, one event at a time. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include "common.h"

enum shape { NOTHING, AGENT, SESSION, CHAT, LOGIN, QUOTA };

/* One answer under way. Events are 0 (the opening), 1 to `total` (text), total + 1 (the ending). */
struct run {
    enum shape shape;
    bool stream, hold;
    int next, total;
    int64_t gap_ns;
    int64_t *marks; /* of the text so far: the ending repeats all of it, as the real ones do */
    char model[64];
};

void run_start(struct run *run, enum shape shape, const char *body, struct buffer *out);
void run_write_next(struct run *run, struct buffer *out);
bool run_ended(const struct run *run);
bool run_silent(const struct run *run); /* holds the caller: writes nothing more */
bool run_paced(const struct run *run);  /* the next event is a text event that has its time */
void run_free(struct run *run);

const char *fixed_text(enum shape shape);
void write_json(struct buffer *out, int status, const char *text, size_t length);

#endif
