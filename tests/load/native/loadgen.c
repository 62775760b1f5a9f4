/* Load generator: N concurrent streams through one door, M streams in all, every token checked.
 *
 *   loadgen DOOR PORT TOKENS CONCURRENCY STREAMS SECONDS SPREAD_US REQUEST_FILE
 *
 * DOOR is chat, ndjson, sse, text, websocket or grpc; REQUEST_FILE holds what starts a stream there (see
 * loadgen.h). Each of N workers owns a connection and starts the next stream on it when one has ended,
 * until M streams were started or SECONDS are over (then 5 s are left for the streams under way).
 * Workers start spread over SPREAD_US, so that tokens do not come in bursts. Prints one JSON object.
 */
#include "loadgen.h"

#define DRAIN_US 5000000
#define MAX_REFUSED 10 /* streams that a worker begins in vain without reading a byte between */

char *request;
size_t request_len;
int port, expected;

static const door *the_door;
static int epoll_fd, active;
static int64_t streams_left, stop_us;

const door *const doors[] = {&chat_door, &ndjson_door, &sse_door, &text_door, &websocket_door, &grpc_door, NULL};

/* ---- what doors call ---- */

outcome broken(worker *w, const char *why) {
    w->why = why;
    return BROKEN;
}

/* All that is sent is small: a short send does not happen on loopback. */
outcome send_all(worker *w, const void *data, size_t length) {
    return send(w->fd, data, length, MSG_NOSIGNAL) == (ssize_t)length ? MORE : broken(w, "send");
}

/* Add to what is to be checked; false if there is no room, because a line or message is far too long. */
bool add_text(worker *w, const char *data, size_t length) {
    if (w->text_len + length > TEXT_SIZE) return false;
    memcpy(w->text + w->text_len, data, length);
    w->text_len += length;
    return true;
}

void use_input(worker *w, size_t used) {
    w->in_len -= used;
    memmove(w->in, w->in + used, w->in_len);
}

void use_text(worker *w, size_t used) {
    w->text_len -= used;
    memmove(w->text, w->text + used, w->text_len);
}

/* ---- one stream's life ---- */

static void drop_connection(worker *w) {
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
}

static outcome dial(worker *w) {
    w->in_len = 0;
    w->close_after = w->upgraded = false;
    w->stream_id = w->taken = w->stream_taken = 0;
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (w->fd < 0) die("socket");
    set_nodelay(w->fd);
    struct sockaddr_in address = loopback(port);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = w};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->fd, &event);
    w->state = CONNECTING;
    if (connect(w->fd, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) return broken(w, "connect");
    return MORE;
}

static outcome begin(worker *w) {
    streams_left--;
    active++;
    memset(w->seen, 0, expected);
    w->count = w->next = w->doubled = w->found = 0;
    w->disordered = w->saw_end = w->in_body = w->chunk_end = false;
    w->why = NULL;
    w->text_len = w->left = 0;
    w->began_us = w->last_us = now_us();
    if (w->fd < 0) return dial(w);
    w->state = STREAMING;
    return the_door->start(w);
}

/* Book a stream that is over; then begin the worker's next one, if any is left. */
static void settle(worker *w, outcome result) {
    for (int tries = 0; result != MORE; tries++) {
        const char *error = result == BROKEN ? w->why : w->saw_end ? NULL : "no end";
        note_stream(w, error);
        active--;
        w->state = IDLE;
        if (error || w->close_after) drop_connection(w);
        if (!streams_left || now_us() > stop_us || tries == MAX_REFUSED) {
            drop_connection(w);
            return;
        }
        result = begin(w);
    }
}

static void read_worker(worker *w) {
    while (w->state == STREAMING) {
        int fd = w->fd;
        size_t space = IN_SIZE - w->in_len;
        ssize_t got = space ? recv(fd, w->in + w->in_len, space, 0) : 0;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            settle(w, broken(w, space ? "connection lost" : "frame too long"));
            return;
        }
        w->in_len += got;
        w->now_us = now_us();
        outcome result = the_door->receive(w);
        note_arrival(w);
        settle(w, result);
        if (w->fd != fd || (size_t)got < space) return; /* edge-triggered: a short read emptied the socket */
    }
}

static void serve(worker *w, uint32_t events) {
    if (w->state == CONNECTING && events & (EPOLLOUT | EPOLLERR)) {
        w->state = STREAMING;
        settle(w, events & EPOLLERR ? broken(w, "connect") : the_door->open(w));
    }
    read_worker(w);
}

/* ---- the run ---- */

static void load_request(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    request = malloc(IN_SIZE);
    request_len = fread(request, 1, IN_SIZE, file);
    fclose(file);
}

static worker *make_workers(int count, int64_t start_us, int64_t spread_us) {
    worker *workers = calloc(count, sizeof *workers);
    if (!workers) die("calloc");
    for (int i = 0; i < count; i++) {
        workers[i].fd = -1;
        workers[i].state = IDLE;
        workers[i].seen = malloc(expected + 1);
        workers[i].start_us = start_us + spread_us * i / count;
    }
    return workers;
}

static void run(worker *workers, int concurrency) {
    int started = 0;
    struct epoll_event events[256];
    while (started < concurrency || active) {
        int64_t now = now_us();
        for (; started < concurrency && workers[started].start_us <= now; started++)
            if (streams_left) settle(&workers[started], begin(&workers[started]));
        if (now > stop_us + DRAIN_US) break;
        int count = epoll_wait(epoll_fd, events, 256, started < concurrency ? 1 : 100);
        for (int i = 0; i < count; i++) serve(events[i].data.ptr, events[i].events);
    }
    for (int i = 0; i < started; i++)
        if (workers[i].state != IDLE) note_cut_off(&workers[i]);
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fprintf(stderr, "usage: loadgen DOOR PORT TOKENS CONCURRENCY STREAMS SECONDS SPREAD_US REQUEST_FILE\n");
        return 2;
    }
    for (const door *const *d = doors; *d; d++)
        if (!strcmp((*d)->name, argv[1])) the_door = *d;
    if (!the_door) {
        fprintf(stderr, "no such door: %s\n", argv[1]);
        return 2;
    }
    port = atoi(argv[2]);
    expected = atoi(argv[3]);
    int concurrency = atoi(argv[4]);
    streams_left = atol(argv[5]);
    load_request(argv[8]);
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int64_t start = now_us();
    stop_us = start + atof(argv[6]) * 1e6;
    run(make_workers(concurrency, start, atol(argv[7])), concurrency);
    print_summary((now_us() - start) / 1e6);
    return 0;
}
