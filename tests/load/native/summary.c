/* What a run has seen, as one JSON object. */
#include "loadgen.h"

#define KINDS 16

typedef struct {
    int64_t *values;
    size_t count, size;
} series;

static series ttft, latency, gap, total;
static int64_t tokens, reads, streams_ok, lost, doubled, cut_off;
static struct { char kind[64]; int count; } errors[KINDS];

static void append(series *s, int64_t value) {
    if (s->count == s->size) {
        s->size = s->size ? s->size * 2 : 65536;
        s->values = realloc(s->values, s->size * sizeof *s->values);
        if (!s->values) die("realloc");
    }
    s->values[s->count++] = value;
}

static void count_error(const char *kind) {
    for (int i = 0; i < KINDS; i++) {
        if (errors[i].count && strcmp(errors[i].kind, kind)) continue;
        snprintf(errors[i].kind, sizeof errors[i].kind, "%s", kind);
        errors[i].count++;
        return;
    }
}

void note_token(int64_t latency_us) {
    tokens++;
    append(&latency, latency_us);
}

/* After each read: time to the stream's first token, or the gap between two reads that brought tokens. */
void note_arrival(worker *w) {
    if (!w->found) return;
    if (w->count == w->found) append(&ttft, w->now_us - w->began_us);
    else append(&gap, w->now_us - w->last_us);
    w->last_us = w->now_us;
    w->found = 0;
    reads++;
}

/* A stream is over. Tokens that a broken stream did not bring are lost. */
void note_stream(worker *w, const char *error) {
    lost += expected - w->count;
    doubled += w->doubled;
    if (!error && w->doubled) error = "token twice";
    if (!error && w->count < expected) error = "token missing";
    if (!error && w->disordered) error = "token out of order";
    if (error) {
        count_error(error);
        return;
    }
    streams_ok++;
    append(&total, now_us() - w->began_us);
}

/* Under way when the time was over: its missing tokens may yet come, so they are not called lost. */
void note_cut_off(worker *w) {
    cut_off++;
    doubled += w->doubled;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_series(const char *name, series *s) {
    if (!s->count) {
        printf(",\"%s\":null", name);
        return;
    }
    qsort(s->values, s->count, sizeof *s->values, compare);
    size_t last = s->count - 1;
    printf(",\"%s\":{\"p50\":%ld,\"p95\":%ld,\"p99\":%ld,\"max\":%ld}", name, s->values[last / 2],
           s->values[(size_t)(last * 0.95)], s->values[(size_t)(last * 0.99)], s->values[last]);
}

void print_summary(double wall_s) {
    printf("{\"wall_s\":%.3f,\"streams_ok\":%ld,\"tokens\":%ld,\"tokens_per_s\":%.1f,\"tokens_per_read\":%.3f,"
           "\"lost\":%ld,\"doubled\":%ld,\"cut_off\":%ld,\"errors\":{", wall_s, streams_ok, tokens,
           tokens / wall_s, reads ? (double)tokens / reads : 0, lost, doubled, cut_off);
    for (int i = 0; i < KINDS && errors[i].count; i++)
        printf("%s\"%s\":%d", i ? "," : "", errors[i].kind, errors[i].count);
    printf("}");
    print_series("ttft_us", &ttft);
    print_series("latency_us", &latency);
    print_series("gap_us", &gap);
    print_series("total_us", &total);
    printf("}\n");
}
