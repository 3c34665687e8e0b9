/* Stands before a function in a program's own calls: reports each call, then forwards it.
 *
 * Loaded by LD_PRELOAD. Reports go to the file that $TENBIN_BLAME_LOG names, each by one write to its end, so that
 * threads and children do not mix: seven words (kind, process, thread, number of the call, time in two words, size)
 * and `size` bytes. The time is that of CLOCK_MONOTONIC in milliseconds, its lower half first. The function forwarded to is that of $TENBIN_BLAME_LIBRARY, or the next one that the loader knows. A contract's own
 * definition of the function follows behind this text.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAYBE_UNUSED __attribute__((unused))

enum report { WATCHING, CALLED, CALLED_AND_WATCHED, CAME_BACK, TOO_MANY, NOT_FOUND, FAULTED };
enum { MOST_CALLS = 200000, MOST_BYTES = 256 << 20, LOG = 200 };

static const char *log_path, *library_path;
static int log_file = -1;
static volatile int ready;
static uint32_t calls;
static int full;

/* Whether this thread is inside of a report: what that calls itself is not reported. */
static _Thread_local int inside __attribute__((tls_model("initial-exec")));
static _Thread_local int saved_errno __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned char *record __attribute__((tls_model("initial-exec")));
static _Thread_local size_t record_room __attribute__((tls_model("initial-exec")));
static _Thread_local size_t record_size __attribute__((tls_model("initial-exec")));

/* The frame from which this thread is in the function, and the number of that call where its end is waited for. What
 * the function calls from there is its own affair and not the program's. Stacks grow down: a frame above that one
 * says that the function was left by a jump. */
static _Thread_local char *frame __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t awaited __attribute__((tls_model("initial-exec")));

enum { HEAD = 28 };

/* Part of whoever calls it: its frame is theirs. */
__attribute__((always_inline)) static inline int enter(void)
{
    if (inside || !ready || (frame && (char *)__builtin_frame_address(0) < frame))
        return 0;
    frame = NULL;
    inside = 1;
    saved_errno = errno;
    return 1;
}

static void leave(void)
{
    errno = saved_errno;
    inside = 0;
}

/* Between the report of a call and its return; `number` is 0 where nobody waits for that. */
#define FORWARDING(number) (awaited = (number), frame = (char *)__builtin_frame_address(0))
#define FORWARDED() (frame = NULL, awaited = 0)

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

/* Copies from memory that may not be there: 1 where it is, 0 where it is not, -1 where nobody may look. */
MAYBE_UNUSED static int peek(void *to, const void *from, size_t size)
{
    struct iovec here = { to, size }, there = { (void *)(uintptr_t)from, size };
    ssize_t some = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (some == (ssize_t)size)
        return 1;
    return some >= 0 || errno == EFAULT ? 0 : -1;
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
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    uint32_t head[] = { (uint32_t)kind, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), number,
                        (uint32_t)time, (uint32_t)(time >> 32), (uint32_t)(record_size - HEAD) };
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

static int log_is_full(void)
{
    struct stat log;
    return fstat(log_file, &log) == 0 && log.st_size > MOST_BYTES;
}

/* Reports the call that was described; `watched` says that its return will be reported too. Gives its number; 0
 * where there were too many before it. */
static uint32_t called(int watched)
{
    uint32_t number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    int was_full = __atomic_load_n(&full, __ATOMIC_RELAXED);
    if (!was_full && number <= MOST_CALLS && !log_is_full()) {
        close_record(watched ? CALLED_AND_WATCHED : CALLED, number);
        return number;
    }
    if (!was_full && !__atomic_exchange_n(&full, 1, __ATOMIC_RELAXED)) {
        record_size = HEAD;
        close_record(TOO_MANY, number);
    } else {
        if (record && record_room > 256)
            unmap(record, record_room);
        record = NULL;
    }
    return 0;
}

MAYBE_UNUSED static void returned_from(uint32_t number)
{
    close_record(CAME_BACK, number);
}

/* A fault of this thread inside of the function is reported, then ends the process as it would have. */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    /* `abort` sends its signal to its own thread; any other that was sent says nothing of where it came. */
    int aborted = signal_number == SIGABRT && info->si_code == SI_TKILL && info->si_pid == getpid();
    if (awaited && !inside && (info->si_code > 0 || aborted)) {
        inside = 1;
        open_record(sizeof(int));
        give(signal_number);
        close_record(FAULTED, awaited);
    }
    signal(signal_number, SIG_DFL);
    if (info->si_code <= 0)
        raise(signal_number);
}

/* Where the program has no answer of its own to a fault. One that it sets later takes the place of this. */
static void watch_faults(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT };
    static unsigned char stack[1 << 16];
    stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&other, NULL);
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK }, was;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (sigaction(faults[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
            sigaction(faults[i], &action, NULL);
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
    watch_faults();
    ready = 1;
}
