/* What upstream.c and load.c share: time, growing buffers, sockets on loopback. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A mark in the text: '@' and the send time, MARK_DIGITS digits of CLOCK_MONOTONIC nanoseconds, which all processes of a
 * machine share. Marks of one stream only grow, so a repeated text is recognised by its old marks. */
#define MARK_DIGITS 16
#define MARK_FORMAT "@%016llu "

struct buffer {
    char *data;
    size_t length, capacity, offset; /* bytes before `offset` are spent */
};

static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void *grow(void *memory, size_t size)
{
    void *grown = realloc(memory, size);
    if (!grown)
        fail("realloc");
    return grown;
}

static inline char *buffer_room(struct buffer *b, size_t bytes)
{
    if (b->length + bytes > b->capacity) {
        b->capacity = (b->length + bytes) * 2;
        b->data = grow(b->data, b->capacity);
    }
    return b->data + b->length;
}

static inline void buffer_add(struct buffer *b, const char *data, size_t length)
{
    memcpy(buffer_room(b, length), data, length);
    b->length += length;
}

__attribute__((format(printf, 2, 3))) static inline void buffer_print(struct buffer *b, const char *format, ...)
{
    va_list arguments;
    for (size_t room = 512;; room *= 4) {
        char *end = buffer_room(b, room);
        va_start(arguments, format);
        int length = vsnprintf(end, room, format, arguments);
        va_end(arguments);
        if (length < 0)
            fail("vsnprintf");
        if ((size_t)length < room) {
            b->length += (size_t)length;
            return;
        }
    }
}

static inline void buffer_clear(struct buffer *b)
{
    b->length = b->offset = 0;
}

static inline void buffer_free(struct buffer *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}

static inline struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static inline void no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

#endif
