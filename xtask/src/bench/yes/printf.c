// The seed's first way to write lines: one printf for each.
#include <stdio.h>

int main(int count, char *words[]) {
    const char *line = count > 1 ? words[1] : "y";
    while (printf("%s\n", line) > 0)
        ;
    return 1;
}
