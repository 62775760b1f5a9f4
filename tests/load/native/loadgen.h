/* What the parts of the load generator share: a worker, a door, the check of tokens, the summary. */
#ifndef LOADGEN_H
#define LOADGEN_H

#include "common.h"

#define IN_SIZE 65536
#define TEXT_SIZE (IN_SIZE + 16384)

typedef enum { MORE, DONE, BROKEN } outcome; /* BROKEN: worker.why says why */

/* One client: owns a connection, runs one stream at a time over it. */
typedef struct {
    int fd;
    enum { IDLE, CONNECTING, STREAMING } state;
    int64_t start_us;   /* when the worker's first stream may begin */
    size_t in_len;      /* bytes read and not yet used */
    bool close_after;   /* the server ends the connection after this stream */

    /* the stream under way */
    uint8_t *seen;      /* by token index */
    int count, next, doubled, found; /* distinct tokens, next index, repeats, tokens of this read */
    bool disordered, saw_end;
    const char *why;
    char status[16];    /* room for a `why` that names a status */
    int64_t began_us, last_us, now_us;
    size_t text_len;    /* decoded, not yet checked: an incomplete line or message */

    /* HTTP/1.1 */
    bool in_body, chunk_end;
    size_t left;        /* bytes left of the chunk being read */
    /* WebSocket */
    bool upgraded;
    /* HTTP/2 */
    uint32_t stream_id;
    size_t taken, stream_taken; /* DATA bytes not yet given back to the connection's and stream's window */

    char in[IN_SIZE];
    char text[TEXT_SIZE];
} worker;

/* One way to ask for a stream. Each of the three may end it. */
typedef struct {
    const char *name;
    outcome (*open)(worker *);    /* the connection was made: say hello and start */
    outcome (*start)(worker *);   /* start a stream on a connection that had one before */
    outcome (*receive)(worker *); /* use up what is in worker.in */
} door;

extern const door *const doors[];
extern const door chat_door, ndjson_door, sse_door, text_door, websocket_door, grpc_door;

/* What the request file holds: a whole HTTP/1.1 request, a WebSocket text message or a gRPC message. */
extern char *request;
extern size_t request_len;
extern int port, expected;

outcome broken(worker *w, const char *why);
outcome send_all(worker *w, const void *data, size_t length);
bool add_text(worker *w, const char *data, size_t length);
void use_input(worker *w, size_t used);
void use_text(worker *w, size_t used);

/* check.c: each token once and in order, and an end that says so */
size_t take_tokens(worker *w, const char *at, size_t length);
outcome take_event(worker *w, const char *at, size_t length);
outcome check_chat(worker *w);
outcome check_events(worker *w);
outcome check_plain(worker *w);

/* summary.c */
void note_token(int64_t latency_us);
void note_arrival(worker *w);
void note_stream(worker *w, const char *error);
void note_cut_off(worker *w);
void print_summary(double wall_s);

#endif
