// SPDX-License-Identifier: Apache-2.0
// tritonserver takes keys by its command line only, which every user of the machine can read. `tricodec serve` preloads
// this library into it: before main() runs, each argument "--tricodec-secret" is replaced by a line of an inherited
// descriptor. The kernel shows the arguments as they were. Without the library tritonserver refuses the argument.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void take_secret_arguments(int argc, char** argv, char**) {
    const char* number = getenv("TRICODEC_SECRETS");
    FILE* lines = number == nullptr ? nullptr : fdopen(atoi(number), "r");
    if (lines == nullptr) return;
    for (int i = 1; i < argc; ++i) {
        char* line = nullptr;
        size_t capacity = 0;
        if (strcmp(argv[i], "--tricodec-secret") == 0 && getline(&line, &capacity, lines) > 0) {
            line[strcspn(line, "\n")] = '\0';
            argv[i] = line;  // for the life of the process
        }
    }
    fclose(lines);
    unsetenv("TRICODEC_SECRETS");
    // The processes of the models do not load this library.
    const char* preload = getenv("LD_PRELOAD");
    int library = -1;
    if (preload != nullptr && sscanf(preload, "/proc/self/fd/%d", &library) == 1) close(library);
    const char* rest = preload == nullptr ? nullptr : strchr(preload, ':');
    if (rest != nullptr) {
        setenv("LD_PRELOAD", rest + 1, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
}
