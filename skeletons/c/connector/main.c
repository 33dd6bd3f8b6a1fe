/* The ops of the connector. What they have in common with every other connector is in host.c and text.c. */
#include "host.h"

/* The path of the note. Escaping keeps an id inside it, except for the two names that mean a folder. */
static buffer note_place(call c) {
    text id = required(c, "note_id");
    if (same(id, ".") || same(id, "..")) wrong(c, "note_id", " is not valid");
    buffer place = {0};
    add_string(&place, "/v1/notes/");
    add_path_segment(&place, id);
    return place;
}

/* Only reads, so previews may call it. */
static void get_note(call c) {
    buffer place = note_place(c);
    send_and_answer(c, "GET", contents(&place), text_of(""));
}

static void publish_note(call c) {
    buffer place = note_place(c), body = {0};
    add_string(&place, "/publish");
    add_string(&body, "{\"channel\":");
    add_json(&body, required(c, "channel"));
    add_string(&body, "}");
    send_and_answer(c, "POST", contents(&place), contents(&body));
}

int main(void) {
    call c = read_call();
    if (same(c.op, "get_note")) get_note(c);
    if (same(c.op, "publish_note")) publish_note(c);
    stop("unknown op");
}
