//! What is said of machines that are made up, each as a table of what it states.

use super::*;

fn flaws(list: &[(&str, &str)]) -> Observed<Vec<(String, String)>> {
    Observed::Known(list.iter().map(|&(name, state)| (name.into(), state.into())).collect())
}

#[test]
fn a_clock_source_is_read_in_the_vdso_or_not() {
    for (name, words) in [
        ("tsc", "`tsc`, which the vDSO reads itself."),
        ("kvm-clock", "reads itself if the hypervisor keeps it steady."),
        ("arch_sys_counter", "reads itself."),
        ("hpet", "which no vDSO is known to read"),
        ("jiffies", "which no vDSO is known to read"),
    ] {
        let sentence = clock_source(&Observed::Known(name.into()), true).sentence;
        assert!(sentence.contains(words), "{sentence}");
    }
    let unseen = clock_source(&Observed::NotObservable("no such file".into()), true);
    assert!(unseen.sentence.contains("cannot be seen") && unseen.evidence == "no such file");
    let alone = clock_source(&Observed::Known("tsc".into()), false).sentence;
    assert_eq!(alone, "The kernel keeps time by `tsc`.");
}

#[test]
fn mitigations_count_where_they_work_at_each_system_call() {
    let cases = [
        (flaws(&[]), "No mitigation that works at each system call is on."),
        (flaws(&[("meltdown", "Not affected"), ("mds", "Vulnerable")]), "No mitigation that works"),
        // Worked around elsewhere: in the way that page tables are written.
        (flaws(&[("l1tf", "Mitigation: PTE Inversion")]), "No mitigation that works"),
        (flaws(&[("meltdown", "Mitigation: PTI\n")]), "One mitigation works"),
        (
            flaws(&[
                ("retbleed", "Mitigation: untrained return thunk"),
                ("tsa", "Mitigation: Clear CPU buffers"),
            ]),
            "2 mitigations",
        ),
        (Observed::NotObservable("no such folder".into()), "cannot be seen"),
    ];
    for (state, words) in cases {
        let Finding { sentence, evidence, .. } = mitigations(&state);
        assert!(sentence.contains(words), "{sentence}");
        assert!(!evidence.is_empty() && !evidence.contains('\n'), "{evidence}");
    }
    let pti = mitigations(&flaws(&[("meltdown", "Mitigation: PTI")]));
    assert_eq!(pti.evidence, "meltdown: page tables are switched (Mitigation: PTI)");
}

#[test]
fn filters_and_tracers_are_said() {
    let seen = |seccomp, tracer| Ok(Watchers { seccomp, tracer });
    let cases = [
        (
            seen(Some(Seccomp::Off), Some(0)),
            "No seccomp filter looks at system calls; nobody traces this process.",
        ),
        (
            seen(Some(Seccomp::Filters(Some(1))), Some(0)),
            "A seccomp filter looks at each system call, and is in its price; nobody traces this process.",
        ),
        (seen(Some(Seccomp::Filters(Some(3))), Some(0)), "3 seccomp filters look"),
        (seen(Some(Seccomp::Filters(None)), Some(81)), "process 81 traces this one"),
        (seen(None, None), "The kernel does not say whether seccomp filters system calls"),
        (Err("permission denied".into()), "cannot be seen"),
    ];
    for (watchers, words) in cases {
        let sentence = watched(&watchers).sentence;
        assert!(sentence.contains(words), "{sentence}");
    }
}

#[test]
fn what_is_absent_is_counted_and_named() {
    assert_eq!(left_out(&[]), None);
    let (none, way) = (Absent::NotOffered, Absent::NoWay);
    let one = left_out(&[("time in the vDSO", &none)]).unwrap();
    assert_eq!(one.sentence, "One rung is missing here and was left out.");
    assert!(one.evidence.starts_with("time in the vDSO: the vDSO does not offer it under LINUX_"), "{one:?}");
    let three = left_out(&[("a", &way), ("b", &none), ("c", &way)]).unwrap();
    assert!(three.sentence.starts_with("3 rungs"), "{three:?}");
    let reason = "this architecture has no such call";
    assert!(three.evidence.starts_with(&format!("a, c: {reason}; b: the vDSO")), "{three:?}");
}

#[test]
fn what_is_below_the_kernel_is_said() {
    let machine = |virtualisation, wsl| Machine { virtualisation, wsl, ..Machine::unobserved("a test") };
    let unknown = || Observed::NotObservable("a test".into());
    assert_eq!(below(&machine(Virtualisation::None, unknown())), None);
    let guest = below(&machine(Virtualisation::Hypervisor("KVM".into()), unknown())).unwrap();
    assert!(guest.sentence.contains("guest") && guest.evidence == "KVM");
    let windows = below(&machine(Virtualisation::None, Observed::Known(Wsl::One))).unwrap();
    assert!(windows.sentence.starts_with("Windows"));
}

#[test]
fn of_an_emulated_cpu_nothing_is_said_that_is_the_emulators() {
    let count = |virtualisation| {
        let machine = Machine { virtualisation, ..Machine::unobserved("a test") };
        findings(&machine, &Err(NoVdso::NotGiven), &[], &Err("a test".into())).len()
    };
    assert_eq!(count(Virtualisation::Emulated("an emulator".into())), 1);
    assert_eq!(count(Virtualisation::None), 4);
}
