/* The connector's side of the ABI. One call arrives on standard input as {"op", "args"}, one answer leaves on standard
   output as {"output"} or {"error"}, and HTTP goes through the host. The module runs anew for each call. */
#pragma once

#include <stdnoreturn.h>

#include "text.h"

typedef struct {
    text op, args;
} call;

/* The call on standard input. */
call read_call(void);
/* An argument that must be a text and not blank. */
text required(call c, const char *name);
/* Sends one request to the API at base_url and answers with the object that comes back; `body` may be empty. */
noreturn void send_and_answer(call c, const char *method, text place, text body);
/* Says that the call cannot be carried out as asked. */
noreturn void wrong(call c, const char *name, const char *why);
/* Ends with exit code 1, which means that the module is broken: a failure of a call is an answer. */
noreturn void stop(const char *why);
