//! The module `oneshot_timer` in guests of two kernels: it goes off, refuses wrong parameters, and goes at
//! any time.
//!
//! Ignored unless `cargo xtask test guests` asks for them, as all tests that boot a guest. How late the timer
//! is, is shown and not judged: an emulated machine says nothing of that.

mod archive;

use tenbin_model::Architecture;
use tenbin_reach::{Module, Suite};

/// Runs in the guest. Its loops are bounded, so it ends whatever the module does.
const SCRIPT: &str = r#"
module=/modules/oneshot_timer.ko
parameters=/sys/module/oneshot_timer/parameters

for wrong in secs=0 secs=3601 secs=99999 secs=-1 secs=x late_ns=1; do
	if insmod $module $wrong 2>/dev/null; then
		echo "taken $wrong"
		rmmod oneshot_timer
	else
		echo "refused $wrong"
	fi
done

insmod $module && echo "loaded for $(cat $parameters/secs)"
cat $parameters/late_ns 2>/dev/null || echo "no lateness yet"
rmmod oneshot_timer && echo "removed early"

insmod $module secs=2 && echo "loaded for $(cat $parameters/secs)"
polls=0
while [ $polls -lt 120 ] && ! dmesg | grep -q ' 2 secs passed\.$'; do
	sleep 1
	polls=$((polls + 1))
done
echo "late $(cat $parameters/late_ns)"
rmmod oneshot_timer && echo "removed late"

# Close to the moment at which it goes off, on either side.
for round in 1 2 3; do
	insmod $module secs=1 && sleep 1 && rmmod oneshot_timer && echo "removed at the moment"
done
[ -d /sys/module/oneshot_timer ] || echo "gone"
dmesg -r
"#;

/// What the script says before the kernel's log, but for the lateness.
const EXPECTED: &[&str] = &[
    "refused secs=0",
    "refused secs=3601",
    "refused secs=99999",
    "refused secs=-1",
    "refused secs=x",
    "refused late_ns=1",
    "loaded for 10",
    "no lateness yet",
    "removed early",
    "loaded for 2",
    "removed late",
    "removed at the moment",
    "removed at the moment",
    "removed at the moment",
    "gone",
];

/// How a kernel begins to complain.
const COMPLAINTS: &[&str] =
    &["BUG:", "WARNING:", "Oops", "Call Trace", "general protection", "Unable to handle"];

/// Loads and removes it in every way, and gives how many nanoseconds late a timer of two seconds was.
fn works(architecture: Architecture, suite: Suite) -> i64 {
    let mut guest = archive::guest(architecture, suite, &[Module::OneshotTimer], ["sh", "-c", SCRIPT]);
    guest.cpus = 2;
    let outcome = guest.run().expect("the guest answers");
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let (log, messages): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('<'));
    let (late, messages): (Vec<&str>, Vec<&str>) =
        messages.into_iter().partition(|line| line.starts_with("late "));
    assert_eq!(messages, EXPECTED, "{text}");

    let [late] = &late[..] else { panic!("it was read once: {late:?}") };
    let nanoseconds = late["late ".len()..].parse::<i64>().expect("it is a number");

    let has = |level: &str, words: &str| {
        log.iter().filter(|line| line.starts_with(level) && line.ends_with(words)).count()
    };
    assert_eq!(has("<1>", "] 2 secs passed."), 1, "{text}");
    let second = format!(
        "] oneshot_timer: late by {nanoseconds} ns; the timer wheel rounds such a delay up by as much as 32 ms"
    );
    assert_eq!(has("<6>", &second), 1, "{text}");
    assert!(has("<6>", "] oneshot_timer: deleted before it went off") >= 1, "{text}");
    assert!(has("<3>", "] oneshot_timer: secs=99999 is not in 1 to 3600") >= 1, "{text}");
    // Every timer of a second went off or was deleted: none is lost, none does both.
    let (went, deleted) = (has("<1>", "] 1 secs passed."), has("<6>", "deleted before it went off") - 1);
    assert_eq!(went + deleted, 3, "{text}");
    for line in &log {
        assert!(!COMPLAINTS.iter().any(|words| line.contains(words)), "{line}");
    }
    nanoseconds
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_timer_goes_off_in_linux_6_1_on_x86_64() {
    let late = works(Architecture::X86_64, Suite::Bookworm);
    println!("late by {late} ns, by the clock of an emulated machine");
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_timer_goes_off_in_linux_6_12_on_riscv64() {
    let Some((riscv64, trixie)) = archive::riscv64() else { return };
    let late = works(riscv64, trixie);
    println!("late by {late} ns, by the clock of an emulated machine");
}
