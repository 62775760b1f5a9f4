/* HTTP/1.1 doors: the request as it stands in the file, and a chunked answer. Only a chunked body can say
 * that it is complete, so a body with a length, or until the connection closes, is an error here. */
#include "loadgen.h"

static outcome start(worker *w) { return send_all(w, request, request_len); }

static outcome read_head(worker *w, char *end) {
    end[2] = 0; /* the head becomes a string */
    if (strncmp(w->in, "HTTP/1.1 200", 12)) {
        snprintf(w->status, sizeof w->status, "status %.3s", w->in + 9);
        return broken(w, w->status);
    }
    const char *value = header(w->in, "\r\nconnection:");
    w->close_after = value && !strncasecmp(value, "close", 5);
    value = header(w->in, "\r\ntransfer-encoding:");
    if (!value || strncasecmp(value, "chunked", 7)) return broken(w, "body not chunked");
    w->in_body = true;
    use_input(w, end + 4 - w->in);
    return MORE;
}

/* Undo the chunked transfer coding as far as it has come. DONE after the terminating chunk. */
static outcome unchunk(worker *w) {
    size_t at = 0;
    outcome result = MORE;
    while (at < w->in_len && result == MORE) {
        if (w->left) {
            size_t take = w->in_len - at < w->left ? w->in_len - at : w->left;
            if (!add_text(w, w->in + at, take)) return broken(w, "line too long");
            at += take;
            w->left -= take;
            w->chunk_end = !w->left;
            continue;
        }
        size_t skip = w->chunk_end ? 2 : 0; /* the line end behind the last chunk */
        char *size = w->in + at + skip, *end = w->in + w->in_len;
        char *line = size < end ? find(size, end - size, "\r\n") : NULL;
        if (!line) break;
        w->left = strtoul(size, NULL, 16);
        if (!w->left) {
            if (end - line < 4) break;
            result = DONE;
            line += 2; /* no trailers */
        }
        w->chunk_end = false;
        at = line + 2 - w->in;
    }
    use_input(w, at);
    return result;
}

static outcome receive(worker *w, outcome (*check)(worker *)) {
    if (!w->in_body) {
        char *end = find(w->in, w->in_len, "\r\n\r\n");
        if (!end) return MORE;
        if (read_head(w, end) == BROKEN) return BROKEN;
    }
    outcome result = unchunk(w);
    return result == BROKEN || check(w) == BROKEN ? BROKEN : result;
}

static outcome receive_chat(worker *w) { return receive(w, check_chat); }
static outcome receive_events(worker *w) { return receive(w, check_events); }
static outcome receive_plain(worker *w) { return receive(w, check_plain); }

const door chat_door = {"chat", start, start, receive_chat};
const door ndjson_door = {"ndjson", start, start, receive_events};
const door sse_door = {"sse", start, start, receive_events};
const door text_door = {"text", start, start, receive_plain};
