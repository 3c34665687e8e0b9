/* Stands before a function in a program's own calls: reports each call, then forwards it.
 *
 * Loaded by LD_PRELOAD. Reports go to the file that $TENBIN_BLAME_LOG names, each by one write to its end, so that
 * threads and children do not mix: four words (kind, process, number of the call, size) and `size` bytes. The
 * function forwarded to is that of $TENBIN_BLAME_LIBRARY, or the next one that the loader knows. A contract's own
 * definition of the function follows behind this text.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAYBE_UNUSED __attribute__((unused))

enum report { WATCHING, CALLED, CALLED_AND_WATCHED, CAME_BACK, TOO_MANY, NOT_FOUND };
enum { MOST_CALLS = 200000, LOG = 200 };

static const char *log_path, *library_path;
static int log_file = -1;
static volatile int ready;
static uint32_t calls;

/* Whether this thread is inside of a report: what that calls itself is not reported. */
static _Thread_local int inside __attribute__((tls_model("initial-exec")));
static _Thread_local int saved_errno __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned char *record __attribute__((tls_model("initial-exec")));
static _Thread_local size_t record_room __attribute__((tls_model("initial-exec")));
static _Thread_local size_t record_size __attribute__((tls_model("initial-exec")));

enum { HEAD = 16 };

static int enter(void)
{
    if (inside || !ready)
        return 0;
    inside = 1;
    saved_errno = errno;
    return 1;
}

static void leave(void)
{
    errno = saved_errno;
    inside = 0;
}

MAYBE_UNUSED static void *pages(size_t size)
{
    void *map = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

MAYBE_UNUSED static void unmap(void *map, size_t size)
{
    if (map)
        munmap(map, size ? size : 1);
}

/* Copies from memory that may not be there; 0 where it is not. */
MAYBE_UNUSED static int peek(void *to, const void *from, size_t size)
{
    struct iovec here = { to, size }, there = { (void *)(uintptr_t)from, size };
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Begins a report of at most `size` bytes. */
static void open_record(size_t size)
{
    static _Thread_local unsigned char small[256] __attribute__((tls_model("initial-exec")));
    record_room = HEAD + size;
    record_size = HEAD;
    record = record_room <= sizeof small ? small : pages(record_room);
}

static void put(const void *from, size_t size)
{
    if (!record || size > record_room - record_size)
        return;
    for (size_t i = 0; i < size; i++)
        ((volatile unsigned char *)record)[record_size + i] = ((const unsigned char *)from)[i];
    record_size += size;
}

MAYBE_UNUSED static void give(int word)
{
    int32_t plain = word;
    put(&plain, sizeof plain);
}

static void close_record(enum report kind, uint32_t number)
{
    if (!record)
        return;
    uint32_t head[] = { (uint32_t)kind, (uint32_t)getpid(), number, (uint32_t)(record_size - HEAD) };
    size_t size = record_size, room = record_room;
    record_size = 0;
    put(head, sizeof head);
    /* A program may close what it did not open. */
    if (write(log_file, record, size) != (ssize_t)size) {
        int fresh = open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fresh >= 0 && write(fresh, record, size) == (ssize_t)size)
            log_file = fresh;
    }
    if (room > 256)
        unmap(record, room);
    record = NULL;
}

/* Reports the call that was described; `watched` says that its return will be reported too. */
static uint32_t called(int watched)
{
    uint32_t number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (number <= MOST_CALLS)
        close_record(watched ? CALLED_AND_WATCHED : CALLED, number);
    else if (number == MOST_CALLS + 1) {
        record_size = HEAD;
        close_record(TOO_MANY, number);
    } else if (record && record_room > 256)
        unmap(record, record_room);
    return number;
}

MAYBE_UNUSED static void returned_from(uint32_t number)
{
    if (number <= MOST_CALLS)
        close_record(CAME_BACK, number);
    else if (record && record_room > 256)
        unmap(record, record_room);
}

static void *found;

static void find(void)
{
    void *handle = library_path ? dlopen(library_path, RTLD_NOW | RTLD_LOCAL) : RTLD_NEXT;
    found = handle ? dlsym(handle, SYMBOL) : NULL;
}

/* A program that never calls it need not have it; one that does cannot go on without. */
static void *next_function(void)
{
    if (!found)
        find();
    if (!found) {
        open_record(0);
        close_record(NOT_FOUND, 0);
        _exit(127);
    }
    return found;
}

__attribute__((constructor)) static void begin(void)
{
    log_path = getenv("TENBIN_BLAME_LOG");
    library_path = getenv("TENBIN_BLAME_LIBRARY");
    if (!log_path)
        return;
    int file = open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    log_file = fcntl(file, F_DUPFD_CLOEXEC, LOG);
    if (log_file < 0)
        log_file = file;
    else
        close(file);
    open_record(0);
    close_record(WATCHING, 0);
    find();
    ready = 1;
}
