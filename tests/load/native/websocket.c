/* The WebSocket door (RFC 6455): one socket a worker, reused for all its streams. The request file holds the
 * text message that starts a stream; it is masked as every client's frame must be. */
#include "loadgen.h"

#define UPGRADE                                                                                     \
    "GET /v1/streams HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                    \
    "Sec-WebSocket-Protocol: polystream.v1\r\n\r\n"
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" /* the answer to that key, from the RFC's example */

enum { TEXT = 1, CLOSE = 8, PING = 9, PONG = 10 };

static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};

static outcome send_frame(worker *w, int opcode, const char *payload, size_t length) {
    static uint8_t frame[IN_SIZE + 8];
    size_t at = 0;
    frame[at++] = 0x80 | opcode;
    if (length < 126) {
        frame[at++] = 0x80 | length;
    } else {
        frame[at++] = 0x80 | 126;
        frame[at++] = length >> 8;
        frame[at++] = length;
    }
    memcpy(frame + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < length; i++) frame[at++] = payload[i] ^ mask[i % 4];
    return send_all(w, frame, at);
}

static outcome open_socket(worker *w) {
    char head[512];
    return send_all(w, head, snprintf(head, sizeof head, UPGRADE, port));
}

static outcome start(worker *w) { return send_frame(w, TEXT, request, request_len); }

static outcome finish_upgrade(worker *w) {
    char *end = find(w->in, w->in_len, "\r\n\r\n");
    if (!end) return MORE;
    end[2] = 0;
    if (strncmp(w->in, "HTTP/1.1 101", 12)) {
        snprintf(w->status, sizeof w->status, "status %.3s", w->in + 9);
        return broken(w, w->status);
    }
    const char *accepted = header(w->in, "\r\nsec-websocket-accept:");
    if (!accepted || strncmp(accepted, ACCEPT, strlen(ACCEPT))) return broken(w, "wrong accept key");
    use_input(w, end + 4 - w->in);
    w->upgraded = true;
    return start(w);
}

static outcome take_frame(worker *w, int first, const char *payload, size_t length) {
    switch (first) {
    case 0x80 | TEXT: return take_event(w, payload, length);
    case 0x80 | PING: return send_frame(w, PONG, payload, length);
    case 0x80 | PONG: return MORE;
    case 0x80 | CLOSE: {
        int code = length < 2 ? 1005 : (uint8_t)payload[0] << 8 | (uint8_t)payload[1];
        snprintf(w->status, sizeof w->status, "closed %d", code % 10000);
        return broken(w, w->status);
    }
    default: return broken(w, "unexpected frame"); /* binary, compressed or in pieces */
    }
}

static outcome receive(worker *w) {
    outcome result = w->upgraded ? MORE : finish_upgrade(w);
    if (!w->upgraded || result == BROKEN) return result;
    size_t at = 0;
    while (result == MORE && w->in_len - at >= 2) {
        const uint8_t *frame = (uint8_t *)w->in + at;
        size_t head = 2, length = frame[1];
        if (length > 126) return broken(w, "frame masked or too long");
        if (length == 126) {
            head = 4;
            if (w->in_len - at < head) break;
            length = frame[2] << 8 | frame[3];
        }
        if (w->in_len - at < head + length) break;
        result = take_frame(w, frame[0], w->in + at + head, length);
        at += head + length;
    }
    use_input(w, at);
    return result == MORE && w->saw_end ? DONE : result;
}

const door websocket_door = {"websocket", open_socket, start, receive};
