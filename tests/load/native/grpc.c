/* The gRPC door: HTTP/2 with prior knowledge (RFC 9113), one stream at a time on each worker's connection.
 * The request file holds the StartRequest. Headers are sent as literals without indexing; the answer's are
 * not decoded: END_STREAM tells trailers, and the Finished message tells that all went well. */
#include "loadgen.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FRAME_HEAD 9
#define WINDOW 0x100000 /* ours, for the connection and for each stream */

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4, PADDED = 8 };
enum { SETTING_PUSH = 2, SETTING_WINDOW = 4 };

static uint32_t get32(const uint8_t *at) { return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]; }

static uint8_t *put32(uint8_t *at, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = value >> shift;
    return at;
}

/* Write a frame's head; returns where its payload goes. */
static uint8_t *put_frame(uint8_t *at, size_t length, int type, int flags, uint32_t stream) {
    *at++ = length >> 16;
    *at++ = length >> 8;
    *at++ = length;
    *at++ = type;
    *at++ = flags;
    return put32(at, stream);
}

/* ---- what we send ---- */

/* Both strings are shorter than 127 bytes, so that their lengths take one byte. */
static uint8_t *put_header(uint8_t *at, const char *name, const char *value) {
    *at++ = 0; /* literal, not indexed, new name */
    for (const char *text = name; text; text = text == name ? value : NULL) {
        size_t length = strlen(text);
        *at++ = length;
        memcpy(at, text, length);
        at += length;
    }
    return at;
}

static uint8_t *put_headers(uint8_t *at, uint32_t stream) {
    char authority[32];
    snprintf(authority, sizeof authority, "127.0.0.1:%d", port);
    uint8_t *block = at + FRAME_HEAD, *end = block;
    end = put_header(end, ":method", "POST");
    end = put_header(end, ":scheme", "http");
    end = put_header(end, ":path", "/polystream.v1.Streams/Start");
    end = put_header(end, ":authority", authority);
    end = put_header(end, "content-type", "application/grpc");
    end = put_header(end, "te", "trailers");
    end = put_header(end, "user-agent", "loadgen");
    put_frame(at, end - block, HEADERS, END_HEADERS, stream);
    return end;
}

static uint8_t *put_request(uint8_t *at, worker *w) {
    w->stream_id = w->stream_id ? w->stream_id + 2 : 1;
    w->stream_taken = 0;
    at = put_headers(at, w->stream_id);
    at = put_frame(at, request_len + 5, DATA, END_STREAM, w->stream_id);
    *at++ = 0; /* not compressed */
    at = put32(at, request_len);
    memcpy(at, request, request_len);
    return at + request_len;
}

static uint8_t out[IN_SIZE + 1024];

static outcome start(worker *w) { return send_all(w, out, put_request(out, w) - out); }

static outcome open_connection(worker *w) {
    uint8_t *at = out;
    memcpy(at, PREFACE, strlen(PREFACE));
    at = put_frame(at + strlen(PREFACE), 12, SETTINGS, 0, 0);
    *at++ = 0, *at++ = SETTING_PUSH;
    at = put32(at, 0);
    *at++ = 0, *at++ = SETTING_WINDOW;
    at = put32(at, WINDOW);
    at = put32(put_frame(at, 4, WINDOW_UPDATE, 0, 0), WINDOW - 65535);
    return send_all(w, out, put_request(at, w) - out);
}

static outcome give_back(worker *w, size_t *taken, uint32_t stream) {
    uint8_t frame[FRAME_HEAD + 4];
    put32(put_frame(frame, 4, WINDOW_UPDATE, 0, stream), *taken);
    *taken = 0;
    return send_all(w, frame, sizeof frame);
}

static outcome keep_windows_open(worker *w, size_t length) {
    w->taken += length;
    w->stream_taken += length;
    if (w->taken > WINDOW / 2 && give_back(w, &w->taken, 0) == BROKEN) return BROKEN;
    return w->stream_taken > WINDOW / 2 ? give_back(w, &w->stream_taken, w->stream_id) : MORE;
}

/* ---- protobuf: Event { seq = 1; oneof { … Text text = 3 { text = 1 } … Finished finished = 8; … } } ---- */

enum { EVENT_TEXT = 3, EVENT_FINISHED = 8, EVENT_FAILED = 9, EVENT_COME_BACK = 15, EVENT_LOST = 16, TEXT_TEXT = 1 };

static const uint8_t *varint(const uint8_t *at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
        *value |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80)) return at;
    }
    return NULL;
}

/* One field: its number, and for a length-delimited one where its bytes are. NULL if it is malformed. */
static const uint8_t *field(const uint8_t *at, const uint8_t *end, int *number, const uint8_t **bytes, uint64_t *length) {
    uint64_t tag, ignored;
    if (!(at = varint(at, end, &tag))) return NULL;
    *number = tag >> 3;
    *bytes = NULL;
    *length = 0;
    switch (tag & 7) {
    case 0: return varint(at, end, &ignored);
    case 1: *length = 8; break;
    case 5: *length = 4; break;
    case 2:
        if (!(at = varint(at, end, length))) return NULL;
        *bytes = at;
        break;
    default: return NULL;
    }
    return *length <= (uint64_t)(end - at) ? at + *length : NULL;
}

static outcome take_text(worker *w, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        int number;
        const uint8_t *bytes;
        uint64_t length;
        if (!(at = field(at, end, &number, &bytes, &length))) return broken(w, "malformed message");
        if (number == TEXT_TEXT && take_tokens(w, (const char *)bytes, length) != length)
            return broken(w, "text that is no token");
    }
    return w->why ? BROKEN : MORE;
}

static outcome take_message(worker *w, const uint8_t *at, const uint8_t *end) {
    outcome result = MORE;
    while (at < end && result == MORE) {
        int number;
        const uint8_t *bytes;
        uint64_t length;
        if (!(at = field(at, end, &number, &bytes, &length))) return broken(w, "malformed message");
        if (number == EVENT_TEXT) result = take_text(w, bytes, bytes + length);
        else if (number == EVENT_FINISHED) w->saw_end = true;
        else if (number == EVENT_FAILED) result = broken(w, "event failed");
        else if (number == EVENT_COME_BACK) result = broken(w, "event come_back");
        else if (number == EVENT_LOST) result = broken(w, "event lost");
    }
    return result;
}

/* Messages may lie across frames, and many may share one: they are put together in worker.text. */
static outcome take_messages(worker *w) {
    size_t at = 0;
    while (w->text_len - at >= 5) {
        const uint8_t *head = (uint8_t *)w->text + at;
        size_t length = get32(head + 1);
        if (head[0]) return broken(w, "compressed message");
        if (w->text_len - at < 5 + length) break;
        if (take_message(w, head + 5, head + 5 + length) == BROKEN) return BROKEN;
        at += 5 + length;
    }
    use_text(w, at);
    return MORE;
}

/* ---- what we read ---- */

static outcome take_data(worker *w, int flags, const uint8_t *payload, size_t length) {
    size_t pad = flags & PADDED ? payload[0] + 1u : 0;
    if (pad > length) return broken(w, "malformed frame");
    const char *text = (const char *)payload + (flags & PADDED ? 1 : 0);
    if (!add_text(w, text, length - pad)) return broken(w, "message too long");
    if (take_messages(w) == BROKEN) return BROKEN;
    if (flags & END_STREAM) return DONE;
    return keep_windows_open(w, length);
}

static outcome answer(worker *w, int type, const uint8_t *payload, size_t length) {
    uint8_t frame[FRAME_HEAD + 8];
    memcpy(put_frame(frame, length, type, ACK, 0), payload, length);
    return send_all(w, frame, FRAME_HEAD + length);
}

static outcome take_frame(worker *w, int type, int flags, uint32_t stream, const uint8_t *payload, size_t length) {
    switch (type) {
    case SETTINGS: return flags & ACK ? MORE : answer(w, SETTINGS, payload, 0);
    case PING: return flags & ACK || length != 8 ? MORE : answer(w, PING, payload, 8);
    case GOAWAY:
        w->close_after = true;
        return length >= 8 && get32(payload) < w->stream_id ? broken(w, "goaway") : MORE;
    case DATA: return stream == w->stream_id ? take_data(w, flags, payload, length) : MORE;
    case HEADERS: return stream == w->stream_id && flags & END_STREAM ? DONE : MORE;
    case RST_STREAM: return stream == w->stream_id ? broken(w, "stream reset") : MORE;
    default: return MORE;
    }
}

/* Frames behind a stream's end are the connection's own: they are taken too, the next stream begins later. */
static outcome receive(worker *w) {
    size_t at = 0;
    outcome result = MORE;
    while (w->in_len - at >= FRAME_HEAD && result != BROKEN) {
        const uint8_t *frame = (uint8_t *)w->in + at;
        size_t length = (size_t)frame[0] << 16 | frame[1] << 8 | frame[2];
        if (w->in_len - at < FRAME_HEAD + length) break;
        uint32_t stream = get32(frame + 5) & 0x7fffffff;
        bool ended = result == DONE && (stream == w->stream_id);
        if (!ended) {
            outcome now = take_frame(w, frame[3], frame[4], stream, frame + FRAME_HEAD, length);
            if (now != MORE) result = now;
        }
        at += FRAME_HEAD + length;
    }
    use_input(w, at);
    return result;
}

const door grpc_door = {"grpc", open_connection, start, receive};
