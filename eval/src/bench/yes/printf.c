// The diary's first way to write lines: one printf for each, its result unused as there, so that gcc -O3 makes puts of it.
// A reader that leaves ends it by SIGPIPE.
#include <stdio.h>

int main(int count, char *words[]) {
    const char *line = count > 1 ? words[1] : "y";
    for (;;)
        printf("%s\n", line);
}
