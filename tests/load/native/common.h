/* Helpers shared by the mock upstream and the load generator. */
#ifndef COMMON_H
#define COMMON_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A token's text: "<index:5 digits>:<CLOCK_MONOTONIC us:13 digits> ". */
#define INDEX_DIGITS 5
#define STAMP_DIGITS 13
#define TOKEN_LENGTH (INDEX_DIGITS + STAMP_DIGITS + 2)

static inline int64_t now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

/* Write `value` as exactly `digits` decimal digits. */
static inline void put_digits(char *at, int64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--, value /= 10) at[i] = '0' + value % 10;
}

/* Read exactly `digits` decimal digits; -1 if there are others among them. */
static inline int64_t get_digits(const char *at, int digits) {
    int64_t value = 0;
    for (int i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9') return -1;
        value = value * 10 + (at[i] - '0');
    }
    return value;
}

static inline char *find(const char *in, size_t length, const char *what) {
    return memmem(in, length, what, strlen(what));
}

/* Value of a header in a NUL-terminated head, or NULL. `name` comes as "\r\nname:". */
static inline const char *header(const char *head, const char *name) {
    const char *at = strcasestr(head, name);
    if (!at) return NULL;
    at += strlen(name);
    while (*at == ' ') at++;
    return at;
}

static inline struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static inline void set_nodelay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Allow as many descriptors as the hard limit does. */
static inline void raise_file_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

#endif
