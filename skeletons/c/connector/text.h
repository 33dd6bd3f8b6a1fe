/* Pieces of text, and buffers to build them in. Nothing is ever freed: the module runs anew for each call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *at;
    size_t size;
} text;

typedef struct {
    char *at;
    size_t size, room;
} buffer;

text text_of(const char *string);
bool same(text one, const char *other);
text contents(const buffer *from);

void add(buffer *to, text piece);
void add_string(buffer *to, const char *string);
void add_number(buffer *to, int number);
void add_path_segment(buffer *to, text segment); /* percent-encoded */

/* Exactly one JSON object, well formed and in UTF-8? */
bool is_object(text document);
/* The value of a member of a valid object, as it is written there. */
bool member(text object, const char *key, text *value);
/* The text that a JSON string stands for; false if the value is not a string. */
bool decoded(text value, text *into);
/* Adds text as a JSON string. Bytes that are not UTF-8 become U+FFFD. */
void add_json(buffer *to, text piece);
