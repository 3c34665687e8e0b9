/* Calls a function of a shared library with many inputs and says what came of each.
 *
 * Two processes. The supervisor never loads the library: it reads the inputs from its standard input and starts a
 * worker, which does; whatever becomes of the worker, the supervisor says so on its standard output and starts
 * another one behind the input at which the last one ended. A contract's `call` follows behind this text.
 *
 * Input: for each case the word `size` and so many bytes, the first of which is 1 where the guard page is to lie in
 * front of what is guarded and 0 where behind. Output: records of five words (case, kind, detail, printed, size) and
 * `size` bytes. All words have 32 bits and the machine's order.
 *
 * Nothing lies at an address of chance, so that a library which reads what it must not reads the same each time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAYBE_UNUSED __attribute__((unused))

enum kind { RETURNED, EXITED, SIGNALLED, LATE, TRESPASSED, LOADED, UNLOADABLE, NO_SYMBOL, UNREADY };
enum { NO_CASE = -1, MOST_LATE = 3, RESULTS = 200, BROKEN = 101 };

struct record {
    int32_t number, kind, detail, printed, size;
};

static unsigned char *cases;
static size_t cases_size;

/* The bytes of the case at hand, and of its outcome. */
static const unsigned char *taken;
static size_t left;
static unsigned char outcome[1 << 18];
static size_t given;

static void give_up(void)
{
    _exit(BROKEN);
}

MAYBE_UNUSED static void take_bytes(void *to, size_t n)
{
    if (n > left)
        give_up();
    memmove(to, taken, n);
    taken += n;
    left -= n;
}

MAYBE_UNUSED static int take(void)
{
    int32_t word;
    take_bytes(&word, sizeof word);
    return word;
}

MAYBE_UNUSED static void give_bytes(const void *from, size_t n)
{
    if (n > sizeof outcome - given)
        give_up();
    memmove(outcome + given, from, n);
    given += n;
}

MAYBE_UNUSED static void give(int word)
{
    int32_t plain = word;
    give_bytes(&plain, sizeof plain);
}

/* Memory between guard pages, so many on each side that no small step leads past them. */
enum { MOST_REGIONS = 8, GUARDS = 16, FILL = 0xA5 };
static struct region {
    const char *name;
    unsigned char *map, *inner, *begin;
    size_t whole, room, size;
} regions[MOST_REGIONS];
static int region_count;
static int guard_in_front;
static size_t page;

/* The same place for the same region of every case: 256 MiB apart, where nothing else is mapped on any machine. */
static void *mapped(int place, size_t size)
{
    void *wish = (void *)(((uintptr_t)1 << 36) + ((uintptr_t)place << 28));
    void *map = mmap(wish, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        give_up();
    return map;
}

/* `size` bytes that end at a guard page, or begin at one. `name` is said of whoever touches it. */
MAYBE_UNUSED static void *guarded(const char *name, size_t size)
{
    if (region_count == MOST_REGIONS)
        give_up();
    struct region *region = &regions[region_count];
    size_t room = size ? (size + page - 1) / page * page : page;
    region->name = name;
    region->size = size;
    region->room = room;
    region->whole = room + 2 * GUARDS * page;
    region->map = mapped(region_count++, region->whole);
    region->inner = region->map + GUARDS * page;
    if (mprotect(region->map, GUARDS * page, PROT_NONE) || mprotect(region->inner + room, GUARDS * page, PROT_NONE))
        give_up();
    region->begin = guard_in_front ? region->inner : region->inner + room - size;
    memset(region->inner, FILL, room);
    return region->begin;
}

/* Memory that is ours alone for the time of the case. */
MAYBE_UNUSED static void *kept(size_t size)
{
    static unsigned char memory[1 << 16];
    if (size > sizeof memory)
        give_up();
    return memory;
}

/* Whether nothing was written between what is guarded and the far side of its pages. */
MAYBE_UNUSED static int untouched(void)
{
    for (struct region *region = regions; region < regions + region_count; region++)
        for (unsigned char *at = region->inner; at < region->inner + region->room; at++)
            if ((at < region->begin || at >= region->begin + region->size) && *at != FILL)
                return 0;
    return 1;
}

static int results = -1, go_on = -1;
static int32_t number;
static pid_t self;

static void send_record(enum kind kind, int detail, int printed, const void *bytes, size_t size)
{
    struct record record = { number, (int32_t)kind, detail, printed, (int32_t)size };
    const void *parts[] = { &record, bytes };
    size_t sizes[] = { sizeof record, size };
    for (int part = 0; part < 2; part++)
        for (size_t done = 0; done < sizes[part];) {
            ssize_t wrote = write(results, (const char *)parts[part] + done, sizes[part] - done);
            if (wrote < 0 && errno == EINTR)
                continue;
            if (wrote <= 0)
                give_up();
            done += (size_t)wrote;
        }
}

/* A fault at a guard page is told by the name of what lies behind it; any other one ends the process as it would. */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    /* A copy of this process that the library made is heard of by nobody. */
    if (getpid() != self)
        _exit(0);
    /* One that was sent comes once: it has no address, and nothing would raise it again. */
    if (info->si_code <= 0) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    unsigned char *at = info->si_addr;
    for (struct region *region = regions; region < regions + region_count; region++) {
        if (at < region->map || at >= region->map + region->whole)
            continue;
        char said[64] = { 0 };
        strncat(said, at < region->inner ? "in front of " : "behind ", sizeof said - 1);
        strncat(said, region->name, sizeof said - 1 - strlen(said));
        send_record(TRESPASSED, 0, 0, said, strlen(said));
        _exit(0);
    }
    signal(signal_number, SIG_DFL);
}

/* The worker cannot begin: what it tried, and why that failed. No library is to blame, because none is loaded yet. */
static void unready(int to, const char *tried)
{
    results = to;
    number = NO_CASE;
    send_record(UNREADY, errno, 0, tried, strlen(tried));
    _exit(0);
}

static void bound(int resource, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0) {
        if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most)
            limit.rlim_max = most;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(resource, &limit);
    }
}

/* What the library may do to the machine. Files do not grow: whoever writes to one is told so and not killed. */
static void bound_all(void)
{
    signal(SIGXFSZ, SIG_IGN);
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_FSIZE, 0);
    bound(RLIMIT_AS, (rlim_t)512 << 20);
    bound(RLIMIT_CPU, 3600);
    bound(RLIMIT_NPROC, 4096);
}

static void call(void *function);

/* Waits until the supervisor has counted what was printed. */
static void wait_until_counted(void)
{
    char word;
    ssize_t some;
    do
        some = read(go_on, &word, 1);
    while (some < 0 && errno == EINTR);
    if (some != 1)
        give_up();
}

/* Loads the library and calls it with the cases from `first` on. Does not return. */
static void work(const char *library, int32_t first, int to, int from, int print)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        unready(to, "open /dev/null");
    results = fcntl(to, F_DUPFD_CLOEXEC, RESULTS);
    if (results >= 0)
        go_on = fcntl(from, F_DUPFD_CLOEXEC, RESULTS);
    if (results < 0 || go_on < 0) {
        /* That the number of a file is beyond its limit is EINVAL. */
        errno = errno == EINVAL ? EMFILE : errno;
        unready(to, "open files with numbers above 200");
    }
    dup2(nothing, 0);
    dup2(print, 1);
    dup2(print, 2);
    self = getpid();
    bound_all();
    number = NO_CASE;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        send_record(UNLOADABLE, 0, 0, why, strlen(why));
        _exit(0);
    }
    void *function = dlsym(handle, SYMBOL);
    if (!function) {
        send_record(NO_SYMBOL, 0, 0, NULL, 0);
        _exit(0);
    }
    static unsigned char stack[1 << 16];
    stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    fflush(NULL);
    send_record(LOADED, 0, 0, NULL, 0);
    wait_until_counted();
    size_t at = 0;
    for (int32_t i = 0; at + 4 <= cases_size; i++) {
        uint32_t size;
        memcpy(&size, cases + at, sizeof size);
        at += sizeof size;
        if (i >= first && size >= 1 && size <= cases_size - at) {
            number = i;
            guard_in_front = cases[at];
            taken = cases + at + 1;
            left = size - 1;
            given = 0;
            region_count = 0;
            call(function);
            /* A copy of this process that the library made ends here, unheard. */
            if (getpid() != self)
                _exit(0);
            int count = region_count;
            region_count = 0;
            for (struct region *region = regions; region < regions + count; region++)
                munmap(region->map, region->whole);
            fflush(NULL);
            send_record(RETURNED, 0, 0, outcome, given);
            wait_until_counted();
        }
        at += size;
    }
    _exit(0);
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What a worker has sent and the supervisor has not passed on yet. */
static unsigned char heard[sizeof(struct record) + sizeof outcome];
static size_t heard_size;

/* Counts what is printed, and drops it: no more at a time than a pipe holds, so that a flood ends at its deadline. */
static int32_t drained(int from)
{
    char part[1 << 16];
    int32_t bytes = 0;
    for (int i = 0; i < 16; i++) {
        ssize_t some = read(from, part, sizeof part);
        if (some <= 0)
            break;
        bytes += (int32_t)some;
    }
    return bytes;
}

/* What the call at hand has printed. A flood of it is not counted further. */
static int32_t printed_so_far;

static void count_printed(int from)
{
    int32_t more = drained(from);
    printed_so_far = printed_so_far > INT32_MAX - more ? INT32_MAX : printed_so_far + more;
}

/* Passes on what is whole and about the case `next` or none; gives the number of cases it was about, and whether a
 * record ended the worker. A record about another case is not the worker's. */
static int pass_on(int32_t next, int print, int go, int *loaded, int *ended)
{
    int passed = 0;
    struct record record;
    while (heard_size >= sizeof record) {
        memcpy(&record, heard, sizeof record);
        if (record.size < 0 || (size_t)record.size > sizeof heard - sizeof record) {
            heard_size = 0;
            break;
        }
        size_t whole = sizeof record + (size_t)record.size;
        if (heard_size < whole)
            break;
        int expected = record.number == (*loaded ? next + passed : NO_CASE);
        int waits = record.kind == RETURNED || record.kind == LOADED;
        if (expected && waits) {
            count_printed(print);
            record.printed = record.kind == RETURNED ? printed_so_far : 0;
            printed_so_far = 0;
            memcpy(heard, &record, sizeof record);
        }
        if (expected && fwrite(heard, 1, whole, stdout) != whole)
            exit(BROKEN);
        heard_size -= whole;
        memmove(heard, heard + whole, heard_size);
        if (!expected)
            continue;
        /* That nobody waits any more is noticed by the worker's end. */
        if (waits && write(go, "", 1) < 0 && errno != EPIPE && errno != EAGAIN)
            exit(BROKEN);
        *loaded |= record.kind == LOADED;
        *ended |= record.kind == TRESPASSED || record.kind == UNLOADABLE || record.kind == NO_SYMBOL
            || record.kind == UNREADY;
        passed += record.number != NO_CASE;
    }
    /* What is known is said at once: the library may reach for this process too. */
    fflush(stdout);
    return passed;
}

/* The supervisor cannot go on: what it tried, and why that failed. */
static void stuck(const char *tried)
{
    struct record record = { NO_CASE, UNREADY, errno, 0, (int32_t)strlen(tried) };
    int said = fwrite(&record, sizeof record, 1, stdout) == 1 && fwrite(tried, strlen(tried), 1, stdout) == 1;
    exit(said && !fflush(stdout) ? 0 : BROKEN);
}

static void tell(int32_t about, enum kind kind, int detail)
{
    struct record record = { about, (int32_t)kind, detail, 0, 0 };
    if (fwrite(&record, sizeof record, 1, stdout) != 1 || fflush(stdout))
        exit(BROKEN);
}

/* Ends what the library has started: its group, and whatever left that and came to this process as an orphan. */
static void end_what_is_left(pid_t worker)
{
    kill(-worker, SIGKILL);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (;;) {
        FILE *children = fopen(path, "re");
        int child, any = 0;
        while (children && fscanf(children, "%d", &child) == 1) {
            any = 1;
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
        }
        if (children)
            fclose(children);
        if (!any)
            return;
    }
}

/* Lets a worker call from case `next` on. Gives the case to go on with; negative where the library is not loaded. */
static int32_t supervise(const char *library, int32_t next, int32_t count, int64_t within, int *late)
{
    int channel[2], print[2], go[2], loaded = 0, ended = 0, open = 1, printing = 1;
    pid_t supervisor = getpid();
    if (pipe2(channel, O_CLOEXEC) || pipe2(print, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
        stuck("make a pipe");
    /* Only here: whoever writes finds a pipe like any other, and waits until there is room. */
    if (fcntl(print[0], F_SETFL, O_NONBLOCK) || fcntl(go[1], F_SETFL, O_NONBLOCK))
        exit(BROKEN);
    printed_so_far = 0;
    fflush(stdout);
    pid_t worker = fork();
    if (worker < 0)
        stuck("start a process");
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != supervisor)
            _exit(BROKEN);
        close(channel[0]);
        close(print[0]);
        close(go[1]);
        signal(SIGPIPE, SIG_DFL);
        /* A group of its own: what the library does to its group does not reach the supervisor. */
        setpgid(0, 0);
        work(library, next, channel[1], go[0], print[1]);
    }
    setpgid(worker, worker);
    close(channel[1]);
    close(print[1]);
    close(go[0]);
    int end = (int)syscall(SYS_pidfd_open, worker, 0);
    if (end < 0) {
        int why = errno;
        kill(worker, SIGKILL);
        errno = why;
        stuck("watch a process (pidfd_open)");
    }
    heard_size = 0;
    /* Loading takes what it takes, within reason. */
    int64_t deadline = milliseconds() + (within > 60000 ? within : 60000);
    int waiting = 1;
    while (waiting) {
        struct pollfd watched[] = { { end, POLLIN, 0 }, { open ? channel[0] : -1, POLLIN, 0 },
                                    { printing ? print[0] : -1, POLLIN, 0 } };
        int64_t rest = deadline - milliseconds();
        int ready = rest > 0 ? poll(watched, 3, rest > 3600000 ? 3600000 : (int)rest) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready > 0 && watched[1].revents) {
            ssize_t some = read(channel[0], heard + heard_size, sizeof heard - heard_size);
            open = some > 0;
            heard_size += some > 0 ? (size_t)some : 0;
            int before = loaded, passed = pass_on(next, print[0], go[1], &loaded, &ended);
            next += passed;
            if (passed || loaded != before)
                deadline = milliseconds() + within;
            continue;
        }
        if (ready > 0 && watched[2].revents) {
            printing = !(watched[2].revents & (POLLHUP | POLLERR)) || (watched[2].revents & POLLIN);
            count_printed(print[0]);
            continue;
        }
        if (ready == 0 && milliseconds() < deadline)
            continue;
        waiting = 0;
        int status, was_late = ready == 0;
        if (was_late)
            kill(worker, SIGKILL);
        waitpid(worker, &status, 0);
        end_what_is_left(worker);
        int done = ended || (loaded && next == count);
        if (!done) {
            int32_t about = loaded ? next : NO_CASE;
            if (was_late)
                tell(about, LATE, 0);
            else if (WIFSIGNALED(status))
                tell(about, SIGNALLED, WTERMSIG(status));
            else
                tell(about, EXITED, WEXITSTATUS(status));
            *late += was_late;
            next++;
        }
    }
    close(end);
    close(channel[0]);
    close(print[0]);
    close(go[1]);
    return loaded ? next : -1;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return BROKEN;
    /* Where that is refused, addresses are of chance. It is asked once: a process begins with what it was given. */
    int was = personality(0xffffffff);
    if (was >= 0 && !(was & ADDR_NO_RANDOMIZE) && personality((unsigned long)was | ADDR_NO_RANDOMIZE) >= 0
        && (personality(0xffffffff) & ADDR_NO_RANDOMIZE))
        execv("/proc/self/exe", argv);
    signal(SIGPIPE, SIG_IGN);
    page = (size_t)sysconf(_SC_PAGESIZE);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    size_t room = 0;
    for (ssize_t some = 1; some > 0; cases_size += (size_t)some) {
        if (room - cases_size < 65536) {
            room = 2 * room + 65536;
            cases = realloc(cases, room);
            if (!cases)
                stuck("take memory for the inputs");
        }
        some = read(0, cases + cases_size, room - cases_size);
        if (some < 0)
            stuck("read the inputs");
    }
    int32_t count = 0, next = 0;
    for (size_t at = 0; at + 4 <= cases_size; count++) {
        uint32_t size;
        memcpy(&size, cases + at, sizeof size);
        at += sizeof size + size;
    }
    int late = 0;
    do
        next = supervise(argv[1], next, count, strtol(argv[2], NULL, 10), &late);
    while (next >= 0 && next < count && late < MOST_LATE);
    return fflush(stdout) ? BROKEN : 0;
}
