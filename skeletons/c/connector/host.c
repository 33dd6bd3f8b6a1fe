#include "host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMPORT(name) __attribute__((import_module("aileron_host"), import_name(name)))

IMPORT("http_request") int32_t http_request(const char *request, size_t size);
IMPORT("http_response_status") int32_t http_response_status(void);
IMPORT("http_response_size") int32_t http_response_size(void);
IMPORT("http_response_read") int32_t http_response_read(char *into, size_t size);
IMPORT("log") void host_log(const char *level, size_t level_size, const char *message, size_t size);

static const char api[] = "Notes API";

static void write_all(int file, text piece) {
    while (piece.size > 0) {
        ssize_t written = write(file, piece.at, piece.size);
        if (written <= 0) exit(1);
        piece = (text){piece.at + written, piece.size - (size_t)written};
    }
}

noreturn void stop(const char *why) {
    write_all(STDERR_FILENO, text_of(why));
    exit(1);
}

static noreturn void fail(const char *class, text message) {
    buffer out = {0};
    add_string(&out, "{\"error\":{\"class\":");
    add_json(&out, text_of(class));
    add_string(&out, ",\"message\":");
    add_json(&out, message);
    add_string(&out, "}}");
    write_all(STDOUT_FILENO, contents(&out));
    exit(0);
}

noreturn void wrong(call c, const char *name, const char *why) {
    buffer message = {0};
    add(&message, c.op);
    add_string(&message, ": ");
    add_string(&message, name);
    add_string(&message, why);
    fail("connector_runtime_error", contents(&message));
}

call read_call(void) {
    buffer input = {0};
    char part[4096];
    ssize_t size;
    while ((size = read(STDIN_FILENO, part, sizeof part)) > 0) add(&input, (text){part, (size_t)size});
    text document = contents(&input), op, args;
    if (size < 0 || !is_object(document) || !member(document, "op", &op) || !member(document, "args", &args))
        stop("standard input is not a call");
    call c = {.args = args};
    if (!decoded(op, &c.op) || !is_object(args)) stop("standard input is not a call");
    return c;
}

text required(call c, const char *name) {
    text value, found;
    if (!member(c.args, name, &value) || !decoded(value, &found)) wrong(c, name, " is required");
    for (size_t at = 0; at < found.size; at++)
        if (strchr(" \t\r\n", found.at[at]) == NULL) return found;
    wrong(c, name, " is required");
}

/* The body of the last response. The memory belongs to the module: the host only copies into it. */
static text response(void) {
    int32_t size = http_response_size();
    if (size <= 0) return text_of("");
    char *body = malloc((size_t)size);
    if (body == NULL) stop("out of memory");
    int32_t read = http_response_read(body, (size_t)size);
    return (text){body, read > 0 ? (size_t)read : 0};
}

static text request(call c, const char *method, text place, text body) {
    text base = required(c, "base_url");
    buffer url = {0}, out = {0};
    if (base.at[base.size - 1] == '/') base.size--;
    add(&url, base);
    add(&url, place);
    add_string(&out, "{\"credential\":\"api_key\",\"method\":"); /* the kind in the manifest; the host adds the key */
    add_json(&out, text_of(method));
    add_string(&out, ",\"url\":");
    add_json(&out, contents(&url));
    add_string(&out, ",\"headers\":{\"Accept\":\"application/json\"");
    if (body.size > 0) {
        add_string(&out, ",\"Content-Type\":\"application/json\"},\"body\":");
        add_json(&out, body);
        add_string(&out, "}");
    } else {
        add_string(&out, "}}");
    }
    return contents(&out);
}

noreturn void send_and_answer(call c, const char *method, text place, text body) {
    text sent = request(c, method, place, body);
    int32_t code = http_request(sent.at, sent.size);
    if (code != 0) wrong(c, "http_request", " failed"); /* the host reports its own reason instead */
    int32_t status = http_response_status();
    text answer = response();

    buffer line = {0};
    add_string(&line, method);
    add_string(&line, " ");
    add(&line, place);
    add_string(&line, ": ");
    add_number(&line, status);
    host_log("info", strlen("info"), line.at, line.size);

    buffer out = {0};
    if (status < 200 || status > 299) {
        add_string(&out, api);
        add_string(&out, " returned ");
        add_number(&out, status);
        add_string(&out, ": ");
        add(&out, answer);
        fail("external_api_error", contents(&out));
    }
    if (answer.size == 0) answer = text_of("{}");
    if (!is_object(answer)) {
        add_string(&out, api);
        add_string(&out, " did not answer with a JSON object");
        fail("external_api_error", contents(&out));
    }
    add_string(&out, "{\"output\":");
    add(&out, answer);
    add_string(&out, "}");
    write_all(STDOUT_FILENO, contents(&out));
    exit(0);
}
