// SPDX-License-Identifier: Apache-2.0
/* What the stand-ins for the driver's libraries are told by the environment. */
#pragma once

#include <stdlib.h>
#include <string.h>

static inline long number(const char* name, long standard) {
    const char* text = getenv(name);
    return text ? atol(text) : standard;
}

/* What a function is to return by FAKE_CUDA_FAIL (function:result[:after n calls], more of them behind commas; the
   calls of one library are counted together); 0 if it is to do its work. */
static inline int outcome(const char* function) {
    static int calls;
    const size_t length = strlen(function);
    for (const char* plan = getenv("FAKE_CUDA_FAIL"); plan; plan = strchr(plan, ',')) {
        if (*plan == ',') ++plan;
        if (strncmp(plan, function, length) != 0 || plan[length] != ':') continue;
        char* rest = NULL;
        const int result = (int)strtol(plan + length + 1, &rest, 10);
        return *rest == ':' && __sync_fetch_and_add(&calls, 1) < atol(rest + 1) ? 0 : result;
    }
    return 0;
}
