// Makes as many additions as it is asked for, each of which needs the one before it, and ends with 0.

#include <errno.h>
#include <stdlib.h>

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    char *end;
    errno = 0;
    unsigned long long additions = strtoull(words[1], &end, 10);
    if (errno || end == words[1] || *end)
        return 2;
    unsigned long sum = 0;
    for (unsigned long long done = 0; done < additions; done++) {
        sum += 3;
        // The compiler may not know what the sum is now, so it cannot add once for all of them.
        __asm__ volatile("" : "+r"(sum));
    }
    return 0;
}
