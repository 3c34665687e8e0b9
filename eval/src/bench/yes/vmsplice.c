// The diary's third way: lines are copied into one of two buffers of 256 KiB, and each full buffer's pages are given
// to the pipe. What runs over the end of one begins the other.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CHUNK = 64 * 4096 };

static char buffers[2][CHUNK + 4096] __attribute__((aligned(4096)));
static char lines[2048] __attribute__((aligned(4096)));

static int give(char *from) {
    struct iovec rest = {from, CHUNK};
    while (rest.iov_len > 0) {
        ssize_t given = vmsplice(STDOUT_FILENO, &rest, 1, 0);
        if (given < 0)
            return 0;
        rest.iov_base = (char *)rest.iov_base + given;
        rest.iov_len -= (size_t)given;
    }
    return 1;
}

int main(int count, char *words[]) {
    const char *line = count > 1 ? words[1] : "y";
    size_t length = strlen(line), filled = 0, at = 0;
    int now = 0;
    fcntl(STDOUT_FILENO, F_SETPIPE_SZ, CHUNK);
    while (filled + length + 1 < sizeof lines - 1) {
        memcpy(lines + filled, line, length);
        lines[filled + length] = '\n';
        filled += length + 1;
    }
    if (filled == 0)
        return 2;
    for (;;) {
        memcpy(buffers[now] + at, lines, filled);
        at += filled;
        if (at >= CHUNK) {
            if (!give(buffers[now]))
                return 1;
            at -= CHUNK;
            memcpy(buffers[1 - now], buffers[now] + CHUNK, at);
            now = 1 - now;
        }
    }
}
