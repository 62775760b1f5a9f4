/* Mock OpenAI-compatible upstream: one thread, epoll, pre-serialised chunks.
 *
 *   upstream PORT
 *
 * POST .../chat/completions     always a stream
 * POST /__shape                 "TOKENS DELAY_US FIRST_US" sets the default shape of an answer
 * GET  .../models and others    what gateways probe for
 *
 * A model named mock-t100-d20000-f50000 overrides the shape for one request: 100 tokens, 20000 us
 * between tokens, 50000 us before the first. A delay of 0 means: as fast as the peer takes them.
 * Each token carries its index and the time it was written, so that a load generator on the same
 * machine can check order and completeness and compute each token's one-way latency.
 */
#include "common.h"

#define MAX_FD 65536
#define IN_SIZE 65536
#define SLOTS 65536 /* timer wheel: one slot per ms */
#define BURST 16    /* tokens per turn of an unpaced stream */
#define LIFE_S 600  /* ends itself, should nobody end it; longer than any peer is measured */

#define CHUNK_HEAD                                                                                     \
    "data: {\"id\":\"chatcmpl-CKxyzABCDEFGHIJKLMNOPQRSTUVW\",\"object\":\"chat.completion.chunk\","     \
    "\"created\":1760000000,\"model\":\"mock-model\",\"service_tier\":\"default\","                      \
    "\"system_fingerprint\":\"fp_0123456789\",\"choices\":["
#define DELTA(delta, finish) "{\"index\":0,\"delta\":{" delta "},\"logprobs\":null,\"finish_reason\":" finish "}"
#define TEXT_MARK "00000:0000000000000 "

static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    "x-request-id: req_mock\r\ntransfer-encoding: chunked\r\n\r\n";

typedef struct conn {
    int fd;
    struct conn *next, *prev; /* in its wheel slot */
    size_t in_len;
    char *out; /* what the socket did not take */
    size_t out_len, out_size;
    bool usage;
    int tokens, index;
    int64_t delay_us, due_us;
    char *in; /* IN_SIZE bytes */
} conn;

static conn *conns[MAX_FD];
static conn wheel[SLOTS]; /* list heads */
static int64_t wheel_ms;
static int epoll_fd;
static int64_t shape_tokens = 100, shape_delay_us = 20000, shape_first_us = 20000;

static char token_frame[1024];
static size_t token_len, text_at;

/* Append `payload` to `at` as one HTTP/1.1 chunk; returns its end. */
static char *frame(char *at, const char *payload) {
    return at + sprintf(at, "%zx\r\n%s\r\n", strlen(payload), payload);
}

static void build_token_frame(void) {
    token_len = frame(token_frame, CHUNK_HEAD DELTA("\"content\":\"" TEXT_MARK "\"", "null") "]}\n\n") - token_frame;
    text_at = find(token_frame, token_len, TEXT_MARK) - token_frame;
}

/* ---- timer wheel ---- */

static void unlink_conn(conn *c) {
    if (!c->next) return;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->next = c->prev = NULL;
}

static void schedule(conn *c) {
    int64_t ms = c->due_us / 1000;
    if (ms <= wheel_ms) ms = wheel_ms + 1;
    if (ms > wheel_ms + SLOTS - 1) ms = wheel_ms + SLOTS - 1;
    conn *head = &wheel[ms % SLOTS];
    c->next = head;
    c->prev = head->prev;
    head->prev->next = c;
    head->prev = c;
}

/* ---- output ---- */

static void watch(conn *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = c->fd};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
}

static void close_conn(conn *c) {
    unlink_conn(c);
    conns[c->fd] = NULL;
    close(c->fd);
    free(c->out);
    free(c->in);
    free(c);
}

/* Send now or keep for later; false if the peer is gone (the connection is closed by the read side). */
static bool put(conn *c, const char *data, size_t length) {
    ssize_t sent = 0;
    if (!c->out_len) {
        sent = send(c->fd, data, length, MSG_NOSIGNAL);
        if (sent == (ssize_t)length) return true;
        if (sent < 0) {
            if (errno != EAGAIN) return false;
            sent = 0;
        }
        watch(c, EPOLLIN | EPOLLOUT);
    }
    size_t rest = length - sent;
    if (c->out_len + rest > c->out_size) {
        c->out_size = (c->out_len + rest) * 2;
        c->out = realloc(c->out, c->out_size);
    }
    memcpy(c->out + c->out_len, data + sent, rest);
    c->out_len += rest;
    return true;
}

static void flush(conn *c) {
    ssize_t sent = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
    if (sent <= 0) return;
    memmove(c->out, c->out + sent, c->out_len - sent);
    c->out_len -= sent;
    if (!c->out_len) watch(c, EPOLLIN);
}

static void put_json(conn *c, const char *body) {
    char answer[1024];
    int length = snprintf(answer, sizeof answer,
                          "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
                          strlen(body), body);
    put(c, answer, length);
}

/* ---- answers ---- */

static bool put_token(conn *c) {
    char *text = token_frame + text_at;
    put_digits(text, c->index++, INDEX_DIGITS);
    put_digits(text + INDEX_DIGITS + 1, now_us(), STAMP_DIGITS);
    return put(c, token_frame, token_len);
}

static void put_tail(conn *c) {
    char tail[2048], payload[1024], *end = frame(tail, CHUNK_HEAD DELTA("", "\"stop\"") "]}\n\n");
    if (c->usage) {
        sprintf(payload, CHUNK_HEAD "],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n",
                c->tokens, 20 + c->tokens);
        end = frame(end, payload);
    }
    end = frame(end, "data: [DONE]\n\n");
    end += sprintf(end, "0\r\n\r\n");
    put(c, tail, end - tail);
}

/* One turn of a stream that is due. The schedule never drifts: each due time follows from the last. */
static void step(conn *c) {
    unlink_conn(c);
    int burst = c->delay_us ? 1 : BURST;
    if (c->delay_us || c->out_len < 65536)
        while (burst-- && c->index < c->tokens)
            if (!put_token(c)) return;
    if (c->index >= c->tokens) {
        put_tail(c);
        return;
    }
    c->due_us += c->delay_us;
    schedule(c);
}

static bool has_true(const char *body, size_t length, const char *key) {
    char *at = find(body, length, key);
    if (!at) return false;
    at += strlen(key);
    while (*at == ' ' || *at == ':') at++;
    return !strncmp(at, "true", 4);
}

static void start_answer(conn *c, const char *body, size_t length) {
    int64_t tokens = shape_tokens, delay_us = shape_delay_us, first_us = shape_first_us;
    const char *name = find(body, length, "\"mock-t");
    if (name) sscanf(name, "\"mock-t%ld-d%ld-f%ld", &tokens, &delay_us, &first_us);
    c->tokens = tokens;
    c->index = 0;
    c->delay_us = delay_us;
    c->usage = has_true(body, length, "\"include_usage\"");
    c->due_us = now_us() + first_us;
    char head[1024];
    memcpy(head, STREAM_HEAD, sizeof STREAM_HEAD - 1);
    char *end = frame(head + sizeof STREAM_HEAD - 1,
                      CHUNK_HEAD DELTA("\"role\":\"assistant\",\"content\":\"\",\"refusal\":null", "null") "]}\n\n");
    put(c, head, end - head);
    if (first_us || delay_us) schedule(c);
    else step(c);
}

static void handle(conn *c, const char *head, const char *body, size_t length) {
    const char *start = strchr(head, ' ');
    if (!start++) {
        put(c, "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", 47);
        return;
    }
    size_t path = strcspn(start, " ?");
    const char *end = start + path;
    if (path >= 17 && !strncmp(end - 17, "/chat/completions", 17)) {
        start_answer(c, body, length);
    } else if (path == 8 && !strncmp(end - 8, "/__shape", 8)) {
        sscanf(body, "%ld %ld %ld", &shape_tokens, &shape_delay_us, &shape_first_us);
        put_json(c, "{\"ok\":true}");
    } else if (path >= 7 && !strncmp(end - 7, "/models", 7)) {
        put_json(c, "{\"object\":\"list\",\"data\":[{\"id\":\"mock-model\",\"object\":\"model\",\"created\":1760000000,"
                    "\"owned_by\":\"mock\",\"max_model_len\":8192}]}");
    } else {
        put_json(c, "{\"status\":\"ok\"}");
    }
}

/* ---- input ---- */

/* Take one whole request off the input; false if there is none. */
static bool take_request(conn *c) {
    c->in[c->in_len] = 0;
    char *end = find(c->in, c->in_len, "\r\n\r\n");
    if (!end) return false;
    end[2] = 0; /* the head becomes a string */
    char *body = end + 4;
    size_t have = c->in + c->in_len - body;
    const char *value = header(c->in, "\r\ncontent-length:");
    size_t length = value ? strtoul(value, NULL, 10) : 0;
    if (have < length) {
        end[2] = '\r';
        return false;
    }
    char after = body[length];
    body[length] = 0;
    handle(c, c->in, body, length);
    body[length] = after;
    c->in_len = have - length;
    memmove(c->in, body + length, c->in_len);
    return true;
}

static void read_conn(conn *c) {
    ssize_t got = recv(c->fd, c->in + c->in_len, IN_SIZE - 1 - c->in_len, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close_conn(c);
        return;
    }
    if (got > 0) c->in_len += got;
    while (take_request(c)) {}
}

static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (fd >= MAX_FD) {
            close(fd);
            continue;
        }
        set_nodelay(fd);
        conn *c = calloc(1, sizeof *c);
        c->in = malloc(IN_SIZE);
        c->fd = fd;
        conns[fd] = c;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static void run_wheel(void) {
    int64_t target = now_us() / 1000;
    while (wheel_ms < target) {
        conn *head = &wheel[++wheel_ms % SLOTS], *last = head->prev;
        if (head->next == head) continue;
        bool more = true;
        while (more && head->next != head) { /* what step() adds goes to later slots */
            more = head->next != last;
            step(head->next);
        }
    }
}

static int listen_on(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = loopback(port);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) die("listen");
    return listener;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: upstream PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    alarm(LIFE_S);
    raise_file_limit();
    build_token_frame();
    for (int i = 0; i < SLOTS; i++) wheel[i].next = wheel[i].prev = &wheel[i];
    wheel_ms = now_us() / 1000;

    int listener = listen_on(atoi(argv[1]));
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll_fd, events, 256, 1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                accept_all(listener);
                continue;
            }
            if (conns[fd] && events[i].events & EPOLLOUT) flush(conns[fd]);
            if (conns[fd] && events[i].events & ~EPOLLOUT) read_conn(conns[fd]);
        }
        run_wheel();
    }
}
