#include "text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

text text_of(const char *string) { return (text){string, strlen(string)}; }

bool same(text one, const char *other) { return one.size == strlen(other) && memcmp(one.at, other, one.size) == 0; }

text contents(const buffer *from) { return (text){from->at, from->size}; }

void add(buffer *to, text piece) {
    if (to->size + piece.size > to->room) {
        to->room = 2 * (to->size + piece.size) + 64;
        to->at = realloc(to->at, to->room);
        if (to->at == NULL) abort();
    }
    if (piece.size > 0) memcpy(to->at + to->size, piece.at, piece.size);
    to->size += piece.size;
}

void add_string(buffer *to, const char *string) { add(to, text_of(string)); }

void add_number(buffer *to, int number) {
    char digits[12];
    size_t at = sizeof digits;
    unsigned left = number < 0 ? 0U - (unsigned)number : (unsigned)number;
    do digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0) digits[--at] = '-';
    add(to, (text){digits + at, sizeof digits - at});
}

static void add_hex(buffer *to, unsigned char byte) {
    const char *digits = "0123456789ABCDEF";
    add(to, (text){&digits[byte >> 4], 1});
    add(to, (text){&digits[byte & 15], 1});
}

void add_path_segment(buffer *to, text segment) {
    for (size_t at = 0; at < segment.size; at++) {
        unsigned char byte = (unsigned char)segment.at[at];
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (letter || (byte != 0 && strchr("-._~", byte) != NULL)) {
            add(to, (text){segment.at + at, 1});
        } else {
            add_string(to, "%");
            add_hex(to, byte);
        }
    }
}

/* The length of the UTF-8 sequence at the start of some bytes, 0 if it is not valid. */
static size_t sequence(const char *at, size_t left) {
    const unsigned char *byte = (const unsigned char *)at;
    size_t size = byte[0] < 0x80 ? 1 : byte[0] >= 0xF0 ? 4 : byte[0] >= 0xE0 ? 3 : 2;
    if (size == 1) return 1;
    if (byte[0] < 0xC2 || byte[0] > 0xF4 || size > left) return 0;
    for (size_t i = 1; i < size; i++)
        if ((byte[i] & 0xC0) != 0x80) return 0;
    bool overlong = (byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xF0 && byte[1] < 0x90);
    bool surrogate = byte[0] == 0xED && byte[1] > 0x9F;
    return overlong || surrogate || (byte[0] == 0xF4 && byte[1] > 0x8F) ? 0 : size;
}

/* Each function below moves `at` behind what it reads and returns false if that is not there. */
typedef struct {
    const char *at, *end;
} reader;

static void skip_space(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) in->at++;
}

static bool skip(reader *in, char character) {
    if (in->at == in->end || *in->at != character) return false;
    in->at++;
    return true;
}

static bool skip_word(reader *in, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(in->end - in->at) < size || memcmp(in->at, word, size) != 0) return false;
    in->at += size;
    return true;
}

static bool hex4(reader *in, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, in->at++) {
        if (in->at == in->end) return false;
        char digit = *in->at;
        if (digit >= '0' && digit <= '9') *code = *code * 16 + (uint32_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f') *code = *code * 16 + (uint32_t)(digit - 'a' + 10);
        else if (digit >= 'A' && digit <= 'F') *code = *code * 16 + (uint32_t)(digit - 'A' + 10);
        else return false;
    }
    return true;
}

static void add_code(buffer *to, uint32_t code) {
    char bytes[4];
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size; i-- > 1; code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(first[size - 1] | code);
    add(to, (text){bytes, size});
}

/* Reads what follows a backslash. A surrogate counts only as half of a pair. */
static bool read_escape(reader *in, buffer *into) {
    const char *letters = "\"\\/bfnrt", *meanings = "\"\\/\b\f\n\r\t";
    if (in->at == in->end) return false;
    const char *found = *in->at ? strchr(letters, *in->at) : NULL;
    if (found != NULL) {
        in->at++;
        if (into != NULL) add(into, (text){&meanings[found - letters], 1});
        return true;
    }
    uint32_t code, low;
    if (!skip(in, 'u') || !hex4(in, &code)) return false;
    if (code >= 0xD800 && code <= 0xDFFF) {
        if (code > 0xDBFF || !skip_word(in, "\\u") || !hex4(in, &low) || low < 0xDC00 || low > 0xDFFF) return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (into != NULL) add_code(into, code);
    return true;
}

static bool read_string(reader *in, buffer *into) {
    if (!skip(in, '"')) return false;
    while (in->at < in->end && *in->at != '"') {
        if (skip(in, '\\')) {
            if (!read_escape(in, into)) return false;
            continue;
        }
        size_t size = (unsigned char)*in->at < 0x20 ? 0 : sequence(in->at, (size_t)(in->end - in->at));
        if (size == 0) return false;
        if (into != NULL) add(into, (text){in->at, size});
        in->at += size;
    }
    return skip(in, '"');
}

static bool skip_digits(reader *in) {
    const char *from = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
    return in->at > from;
}

static bool skip_number(reader *in) {
    skip(in, '-');
    if (!skip(in, '0') && !skip_digits(in)) return false;
    if (skip(in, '.') && !skip_digits(in)) return false;
    if (skip(in, 'e') || skip(in, 'E')) {
        if (!skip(in, '+')) skip(in, '-');
        return skip_digits(in);
    }
    return true;
}

static bool skip_value(reader *in, int depth);

static bool skip_members(reader *in, int depth, char close, bool keys) {
    in->at++;
    skip_space(in);
    if (skip(in, close)) return true;
    do {
        skip_space(in);
        if (keys) {
            if (!read_string(in, NULL)) return false;
            skip_space(in);
            if (!skip(in, ':')) return false;
            skip_space(in);
        }
        if (!skip_value(in, depth + 1)) return false;
        skip_space(in);
    } while (skip(in, ','));
    return skip(in, close);
}

static bool skip_value(reader *in, int depth) {
    if (in->at == in->end || depth > DEEPEST) return false;
    switch (*in->at) {
        case '{': return skip_members(in, depth, '}', true);
        case '[': return skip_members(in, depth, ']', false);
        case '"': return read_string(in, NULL);
        case 't': return skip_word(in, "true");
        case 'f': return skip_word(in, "false");
        case 'n': return skip_word(in, "null");
        default: return skip_number(in);
    }
}

bool is_object(text document) {
    reader in = {document.at, document.at + document.size};
    skip_space(&in);
    if (in.at == in.end || *in.at != '{' || !skip_value(&in, 0)) return false;
    skip_space(&in);
    return in.at == in.end;
}

bool member(text object, const char *key, text *value) {
    reader in = {object.at, object.at + object.size};
    skip_space(&in);
    skip(&in, '{');
    do {
        buffer name = {0};
        skip_space(&in);
        if (!read_string(&in, &name)) return false;
        skip_space(&in);
        skip(&in, ':');
        skip_space(&in);
        const char *from = in.at;
        if (!skip_value(&in, 0)) return false;
        if (same(contents(&name), key)) {
            *value = (text){from, (size_t)(in.at - from)};
            return true;
        }
        skip_space(&in);
    } while (skip(&in, ','));
    return false;
}

bool decoded(text value, text *into) {
    reader in = {value.at, value.at + value.size};
    buffer letters = {0};
    if (!read_string(&in, &letters)) return false;
    *into = contents(&letters);
    return true;
}

void add_json(buffer *to, text piece) {
    add_string(to, "\"");
    for (size_t at = 0, size; at < piece.size; at += size) {
        unsigned char byte = (unsigned char)piece.at[at];
        size = sequence(piece.at + at, piece.size - at);
        if (size == 0) {
            size = 1;
            add_string(to, "\xEF\xBF\xBD");
        } else if (byte < 0x20) {
            add_string(to, "\\u00");
            add_hex(to, byte);
        } else {
            if (byte == '"' || byte == '\\') add_string(to, "\\");
            add(to, (text){piece.at + at, size});
        }
    }
    add_string(to, "\"");
}
