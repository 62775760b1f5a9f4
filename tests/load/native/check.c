/* The check that is the same at every door: each token once and in order, and an end that says so.
 *
 * chat                      "content":"<tokens>" in lines, [DONE]
 * ndjson, sse, websocket    "type":"text",…"text":"<tokens>", then "type":"finished"
 * text                      nothing but tokens
 * grpc                      the same tokens in protobuf, see grpc.c
 */
#include "loadgen.h"

static void take_token(worker *w, int64_t index, int64_t stamp) {
    if (index >= expected) {
        w->why = "unknown token";
    } else if (w->seen[index]) {
        w->doubled++;
    } else {
        w->seen[index] = 1;
        w->count++;
        if (index != w->next) w->disordered = true;
        w->next = index + 1;
        w->found++;
        note_token(w->now_us - stamp);
    }
}

/* Take the tokens that `at` begins with; returns their length in bytes. */
size_t take_tokens(worker *w, const char *at, size_t length) {
    size_t used = 0;
    for (; length - used >= TOKEN_LENGTH; used += TOKEN_LENGTH) {
        const char *token = at + used;
        int64_t index = get_digits(token, INDEX_DIGITS), stamp = get_digits(token + INDEX_DIGITS + 1, STAMP_DIGITS);
        if (index < 0 || stamp < 0 || token[INDEX_DIGITS] != ':' || token[TOKEN_LENGTH - 1] != ' ') break;
        take_token(w, index, stamp);
    }
    return used;
}

/* A JSON string, `at` behind its opening quote: tokens and nothing else. */
static outcome take_string(worker *w, const char *at, size_t length) {
    size_t used = take_tokens(w, at, length);
    if (w->why) return BROKEN;
    return used < length && at[used] == '"' ? MORE : broken(w, "text that is no token");
}

static bool starts(const char *at, const char *end, const char *with) {
    size_t length = strlen(with);
    return (size_t)(end - at) >= length && !memcmp(at, with, length);
}

/* One native event as JSON. */
outcome take_event(worker *w, const char *at, size_t length) {
    const char *end = at + length, *type = find(at, length, "\"type\":\"");
    if (!type) return broken(w, "event without type");
    type += 8;
    if (starts(type, end, "text\"")) {
        const char *text = find(type, end - type, "\"text\":\"");
        return text ? take_string(w, text + 8, end - text - 8) : broken(w, "text event without text");
    }
    if (starts(type, end, "finished\"")) w->saw_end = true;
    else if (starts(type, end, "failed\"")) return broken(w, "event failed");
    else if (starts(type, end, "error\"")) return broken(w, "event error");
    else if (starts(type, end, "come_back\"")) return broken(w, "event come_back");
    else if (starts(type, end, "lost\"")) return broken(w, "event lost");
    return MORE;
}

static outcome chat_line(worker *w, const char *at, size_t length) {
    const char *end = at + length;
    if (length < 7 || memcmp(at, "data: ", 6)) return MORE;
    if (starts(at, end, "data: [DONE]")) w->saw_end = true;
    if (starts(at, end, "data: {\"error\"")) return broken(w, "error event");
    const char *text = find(at, length, "\"content\":");
    if (!text) return MORE;
    for (text += 10; text < end && *text == ' ';) text++;
    return text < end && *text == '"' ? take_string(w, text + 1, end - text - 1) : MORE;
}

static outcome event_line(worker *w, const char *at, size_t length) {
    if (length > 6 && !memcmp(at, "data: ", 6)) return take_event(w, at + 6, length - 6); /* SSE */
    return length && *at == '{' ? take_event(w, at, length) : MORE;                       /* NDJSON */
}

static outcome check_lines(worker *w, outcome (*take_line)(worker *, const char *, size_t)) {
    char *at = w->text, *end = w->text + w->text_len, *stop;
    outcome result = MORE;
    while (result == MORE && (stop = memchr(at, '\n', end - at))) {
        result = take_line(w, at, stop - at);
        at = stop + 1;
    }
    use_text(w, at - w->text);
    return result;
}

outcome check_chat(worker *w) { return check_lines(w, chat_line); }

outcome check_events(worker *w) { return check_lines(w, event_line); }

/* Plain text has no last event: the terminating chunk is its end. */
outcome check_plain(worker *w) {
    use_text(w, take_tokens(w, w->text, w->text_len));
    if (w->why) return BROKEN;
    if (w->text_len >= TOKEN_LENGTH) return broken(w, "text that is no token");
    w->saw_end = w->text_len == 0;
    return MORE;
}
