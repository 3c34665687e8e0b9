//! The libraries and programs that the tests of `blame` examine, as C text.

/// What every one of them begins with: the structure, and a check of the input that the specification asks
/// for.
const COMMON: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
struct person { char *name; int age; };
static int wrong(struct person *a[], int len)
{
    if (len < 1) return 1;
    for (int i = 0; i < len; i++) if (a[i]->age < 0) return 1;
    return 0;
}
static inline void insertion(struct person *a[], int len)
{
    for (int i = 1; i < len; i++)
        for (int j = i; j > 0 && a[j - 1]->age > a[j]->age; j--) {
            struct person *moved = a[j]; a[j] = a[j - 1]; a[j - 1] = moved;
        }
}
"#;

/// A library whose `sort` has this body.
pub fn sort(body: &str) -> String {
    format!("{COMMON}int sort(struct person *a[], int len)\n{{\n{body}\n}}\n")
}

pub const STABLE: &str = "if (wrong(a, len)) return 1; insertion(a, len); return 0;";

/// Selection: equal persons overtake each other.
pub const UNSTABLE: &str = "
    if (wrong(a, len)) return 1;
    for (int i = 0; i < len; i++) {
        int least = i;
        for (int j = i + 1; j < len; j++) if (a[j]->age < a[least]->age) least = j;
        struct person *moved = a[i]; a[i] = a[least]; a[least] = moved;
    }
    return 0;";

pub const DESCENDING: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len);
    for (int i = 0; i < len / 2; i++) {
        struct person *moved = a[i]; a[i] = a[len - 1 - i]; a[len - 1 - i] = moved;
    }
    return 0;";

pub const DROPS: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len);
    if (len % 2) a[len - 1] = NULL;
    return 0;";

pub const CRASHES: &str = "
    if (len == 0) abort();
    if (wrong(a, len)) return 1; insertion(a, len); return 0;";

pub const SLEEPS: &str = "(void)wrong(a, len); (void)insertion; for (;;) pause();";

/// One element too many: the last bound is wrong.
pub const SCRIBBLES: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len);
    if (len > 1) ((struct person *volatile *)a)[len] = a[0];
    return 0;";

pub const SCRIBBLES_IN_FRONT: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len);
    ((struct person *volatile *)a)[-1] = a[0];
    return 0;";

pub const REJUVENATES: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len);
    if (len == 3) a[2]->age = a[1]->age;
    return 0;";

pub const PRINTS: &str = "
    printf(\"sorting %d\\n\", len);
    if (wrong(a, len)) return 1; insertion(a, len); return 0;";

pub const EXITS: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len);
    if (len > 1) exit(0);
    return 0;";

/// Ends its whole process group.
pub const KILLS: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    if (len > 1) kill(0, SIGKILL);
    return 0;";

pub const CLOSES: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    for (int file = 0; len > 1 && file < 1024; file++) close(file);
    return 0;";

pub const DAEMON: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    if (len == 2 && fork() == 0) { setsid(); for (;;) pause(); }
    return 0;";

pub const WRONG_STATUS: &str = "if (wrong(a, len)) return 1; insertion(a, len); return len > 1 ? 1 : 0;";

/// Fails only where it was called before in the same process.
pub const REMEMBERS: &str = "
    static int calls;
    if (wrong(a, len)) return 1;
    if (++calls % 2) insertion(a, len);
    return 0;";

/// Sorts no more than eight: too large for the cases that are tried one by one.
pub const EIGHT: &str = "
    if (wrong(a, len)) return 1;
    insertion(a, len < 8 ? len : 8);
    return 0;";

/// A program that sorts two good arrays and one with an age of −10, and says what it was told.
pub const CALLER: &str = r#"
#include <stdio.h>
struct person { char *name; int age; };
int sort(struct person *a[], int len);
int main(int argc, char **argv)
{
    struct person one = {"one", 3}, two = {"two", 1}, three = {"three", argc > 1 ? -10 : 10};
    struct person *good[] = {&one, &two}, *asked[] = {&one, &three, &two};
    int first = sort(good, 2), second = sort(asked, 3), third = sort(good, 2);
    printf("%s says %d %d %d\n", argv[0], first, second, third);
    return second ? 7 : 0;
}
"#;

/// A program that passes an array with nobody in its second place.
pub const NOBODY: &str = r#"
struct person { char *name; int age; };
int sort(struct person *a[], int len);
int main(void)
{
    struct person one = {"one", 3}, *asked[] = {&one, 0};
    return sort(asked, 2);
}
"#;

/// A program that copies its own bytes one place to the right, from a length that no compiler knows.
pub const OVERLAPS: &str = r#"
#include <string.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    static char text[64] = "abcdefgh";
    memcpy(text + 32, text, 4 + (size_t)argc);
    memcpy(text + 1, text, 4 + (size_t)argc);
    return argv == NULL;
}
"#;

/// A library whose `memcpy` has this body; `to`, `from` and `n` are its arguments.
pub fn memcpy(body: &str) -> String {
    format!(
        "#include <stddef.h>\nvoid *memcpy(void *restrict to, const void *restrict from, size_t n)\n{{\n\
         volatile unsigned char *t = to; const volatile unsigned char *f = from;\n{body}\nreturn to;\n}}\n"
    )
}

pub const FORWARD: &str = "for (size_t i = 0; i < n; i++) t[i] = f[i];";
pub const BACKWARD: &str = "for (size_t i = n; i > 0; i--) t[i - 1] = f[i - 1];";
pub const WORDS: &str = "for (size_t i = 0; i + 1 < n; i += 2) { t[i] = f[i]; t[i + 1] = f[i + 1]; }";

/// Writes more than a pipe holds, and tries again until all is written.
pub const VERBOSE: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    static char words[160000];
    for (size_t done = 0; len == 2 && done < sizeof words;) {
        ssize_t some = write(1, words + done, sizeof words - done);
        if (some > 0) done += (size_t)some;
    }
    return 0;";

/// Sends itself what a fault would send.
pub const RAISES: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    if (len == 2) raise(SIGSEGV);
    return 0;";

/// A copy of the process that faults just behind the array while the call itself returns as it must.
pub const FORKS: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    if (len == 2 && fork() == 0) { ((struct person *volatile *)a)[len] = a[0]; for (;;) pause(); }
    return 0;";

/// Leaves a process behind and ends the program that watches over it.
pub const PARRICIDE: &str = "
    if (wrong(a, len)) return 1; insertion(a, len);
    if (len == 2) { if (fork() == 0) { setsid(); for (;;) pause(); } kill(getppid(), SIGKILL); }
    return 0;";

/// Reads the age where the name is: what comes of it is for the addresses of names to say.
pub const SWAPPED: &str = "
    (void)wrong; (void)insertion;
    if (len < 1) return 1;
    struct swapped { int age; char *name; };
    for (int i = 0; i < len; i++) if (((struct swapped *)a[i])->age < 0) return 1;
    return 0;";

/// Wrong once for each file that is not there: never again.
pub fn once(mark: &str) -> String {
    format!(
        "if (wrong(a, len)) return 1; insertion(a, len); \
         return len == 2 && a[0]->age == 0 && a[1]->age == 1 && mknod(\"{mark}\", 0100600, 0) == 0;"
    )
}

/// Does not sort more than this many.
pub fn at_most(count: usize) -> String {
    format!("if (wrong(a, len)) return 1; insertion(a, len < {count} ? len : {count}); return 0;")
}

/// A program that sorts so many persons once, of whom none is missing.
pub const MANY: &str = r#"
#include <stdlib.h>
struct person { char *name; int age; };
int sort(struct person *a[], int len);
int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    struct person *persons = calloc((size_t)count, sizeof *persons), **a = calloc((size_t)count, sizeof *a);
    for (int i = 0; i < count; i++) {
        persons[i] = (struct person){"one", i};
        a[i] = &persons[i];
    }
    return sort(a, count);
}
"#;

/// A program that forbids itself to look into its own memory through the kernel, then makes one good call.
pub const SECLUDED: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
struct person { char *name; int age; };
int sort(struct person *a[], int len);
int main(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {4, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
        return 77;
    struct person one = {"one", 3}, two = {"two", 1}, *asked[] = {&one, &two};
    return sort(asked, 2);
}
"#;

/// A program that makes a good call which does not return. Another thread then does what the first argument
/// says: it touches nothing's memory (n), or has the process be sent a signal (t).
pub const DISTURBED: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
struct person { char *name; int age; };
int sort(struct person *a[], int len);
static char what;
static int inside[2];
static void *disturb(void *nothing)
{
    char word;
    (void)!read(inside[0], &word, 1);
    if (what == 'n') *(volatile int *)nothing = 1;
    if (what == 't') kill(getpid(), SIGTERM);
    return NULL;
}
int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1][0] : 0;
    if (pipe(inside)) return 77;
    pthread_t other;
    pthread_create(&other, NULL, disturb, NULL);
    struct person one = {"one", 3}, two = {"two", 1}, *asked[] = {&one, &two};
    dup2(inside[1], 150);
    return sort(asked, 2);
}
"#;

/// Says on file 150 that it was called, then stays.
pub const STAYS: &str =
    "(void)wrong(a, len); (void)insertion; (void)!write(150, \"x\", 1); for (;;) pause();";

/// Calls itself through the loader, by way of another function, in a way that is none of a caller's business.
pub const RECURSIVE: &str = "
    int part(struct person *a[], int len);
    if (wrong(a, len)) return 1;
    part(a, 0);
    insertion(a, len);
    return 0;
}
int part(struct person *a[], int len)
{
    return sort(a, len);";

/// A program that sends what a terminal would to all its group, in the middle of its work.
pub const INTERRUPTS: &str = r#"
#include <signal.h>
#include <unistd.h>
struct person { char *name; int age; };
int sort(struct person *a[], int len);
int main(void)
{
    struct person one = {"one", 3}, two = {"two", -1}, *asked[] = {&one, &two};
    sort(asked, 2);
    kill(0, SIGINT);
    for (;;) pause();
}
"#;
