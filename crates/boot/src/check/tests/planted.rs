//! Boots with a fault that was put there, each beside one that differs in that alone and has none.

use super::super::program::Learned;
use super::super::{CheckLimits, Doing, Expectation, Extent, Finding, Refused, search_within};
use super::assembled::{Assembled, DATA, LIMITS};
use crate::answer::{BootAction, Fault, Hex, Writer};
use crate::axiomatic::Model;
use crate::isa::Register;

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Rvwmo];
const NONE: &[Fault] = &[];
const DEAD: &[Fault] = &[Fault::Dead];
const LIVELOCK: &[Fault] = &[Fault::Livelock];

/// Two harts: what hart 0 does, and what hart 1 does. s0 is the address of the memory, s2 that of the
/// software interrupts.
fn two(zero: &str, one: &str) -> String {
    format!(
        "lui s0,0x20\nlui s2,0x2000\nbnez a0,one\n{zero}\nj all_arrived\none: {one}\nj arrived
         all_arrived: j all_arrived\narrived: j arrived\nbad: j bad"
    )
}

fn findings(text: &str, memory: &[u8], model: Model) -> Vec<Finding> {
    let report =
        Assembled::of(text, memory).check(2, model).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(report.whole, "{text}");
    report.findings
}

fn faults(text: &str, memory: &[u8], model: Model) -> Vec<Fault> {
    findings(text, memory, model).iter().map(|finding| finding.fault).collect()
}

/// Checks what is found under each memory order; the words are 0 at first.
fn expect(name: &str, (zero, one): (&str, &str), expected: [&[Fault]; 3]) {
    for (model, expected) in MODELS.into_iter().zip(expected) {
        assert_eq!(faults(&two(zero, one), &[0; 32], model), expected, "{name}, {model}");
    }
}

#[test]
fn what_is_stored_before_the_goal_is_seen_in_the_end() {
    let wait = "wait: lw t1,0(s0)\nbeqz t1,wait\n";
    expect("stored", (wait, "li t0,1\nsw t0,0(s0)\n"), [NONE; 3]);
    expect("not stored", (wait, "li t0,1\nsw t0,4(s0)\n"), [DEAD; 3]);
    // The last of two stores to one word stays.
    expect("stored twice", (wait, "li t0,1\nsw t0,0(s0)\nsw zero,0(s0)\n"), [DEAD; 3]);
    // Hart 0 is at its goal long before memory sees what it stored: it was lost, if memory was not clear by
    // then.
    let clear = "primary: li t0,1\nsw t0,0x80(s0)\ncleared: li t0,0\n";
    expect("the boot hart's own", (clear, ""), [NONE; 3]);
    let lost: &[Fault] = &[Fault::LostStore];
    expect("stored by another", (clear, "li t0,1\nsw t0,0x88(s0)\n"), [lost; 3]);
}

#[test]
fn a_sleeping_hart_must_be_called() {
    let sleep = "csrsi mie,8\nsleep: wfi\nlw t1,4(s2)\nbeqz t1,sleep\n";
    let call = "li t0,1\nsw t0,4(s2)\n";
    expect("called", (call, sleep), [NONE; 3]);
    expect("somebody else is called", ("li t0,1\nsw t0,0(s2)\n", sleep), [DEAD; 3]);
    expect("not called", ("", sleep), [DEAD; 3]);
    // It may wake up by itself, and need not.
    expect("deaf", (call, &sleep.replace("csrsi mie,8\n", "")), [LIVELOCK; 3]);
    expect("not called, and asks nobody", ("", "csrsi mie,8\nwfi\n"), [LIVELOCK; 3]);
    // The call that is taken back may come before the hart asks for it. Out of order, the hart may even have
    // seen it before it falls asleep: then it would arrive, if only it woke up.
    let both: &[Fault] = &[Fault::Dead, Fault::Livelock];
    expect("called back", (&format!("{call}sw zero,4(s2)\n"), sleep), [DEAD, both, both]);
}

#[test]
fn fences_order_devices_only_where_they_name_them() {
    let tell = |fence: &str| format!("li t0,1\nsw t0,0(s0)\n{fence}\nsw t0,4(s2)\n");
    let ask = |fence: &str| format!("ask: lw t1,4(s2)\nbeqz t1,ask\n{fence}\nlw t2,0(s0)\nbeqz t2,bad\n");
    for (before, after, sound) in [
        ("fence w,o", "fence i,r", true),
        ("fence iorw,iorw", "fence iorw,iorw", true),
        ("fence w,o", "fence r,r", false),
        ("fence rw,rw", "fence i,r", false),
        ("fence w,w", "fence i,r", false),
        ("fence o,w", "fence i,r", false),
    ] {
        let expected = [NONE, NONE, if sound { NONE } else { DEAD }];
        expect(&format!("{before}, {after}"), (&tell(before), &ask(after)), expected);
    }
}

#[test]
fn a_fence_of_memory_lets_loads_of_devices_pass() {
    let ring = "li t0,1\nsw t0,4(s2)\nfence o,w\nsw t0,0(s0)\n";
    let look =
        |fence: &str| format!("lw t1,0(s0)\n{fence}\nlw t2,4(s2)\nbeqz t1,go\nbeqz t2,bad\ngo: li t1,0\n");
    for (fence, sound) in
        [("fence r,i", true), ("fence ir,ir", true), ("fence rw,rw", false), ("fence r,r", false)]
    {
        let expected = [NONE, NONE, if sound { NONE } else { DEAD }];
        expect(fence, (ring, &look(fence)), expected);
    }
}

#[test]
fn undetermined_bytes_may_hold_what_code_looks_for() {
    for (load, bytes) in [("lbu", 1), ("lb", 1), ("lhu", 2), ("lh", 2), ("lw", 4), ("lwu", 4), ("ld", 8)] {
        for (test, number) in [
            ("li t1,77\nbeq t0,t1,bad", 77),
            ("addi t0,t0,-77\nbeqz t0,bad", 77),
            ("xori t0,t0,77\nseqz t0,t0\nbnez t0,bad", 77),
            ("bnez t0,go\nj bad\ngo: li t0,0", 0),
        ] {
            let code = two(&format!("{load} t0,16(s0)\n{test}"), "");
            for model in MODELS {
                let findings = findings(&code, &[], model);
                assert_eq!(findings.len(), 1, "{load}, {test}, {model}");
                assert_eq!(findings[0].fault, Fault::Dead);
                let garbage = &findings[0].trace.garbage;
                assert_eq!(garbage.len(), 1);
                assert_eq!((garbage[0].address, garbage[0].bytes), (Hex(DATA + 16), bytes), "{load}, {test}");
                assert_eq!(garbage[0].value, Hex(number), "{load}, {test}");
                let read = findings[0].trace.steps.iter().find_map(|step| match step.action {
                    BootAction::Read { address, value, from, .. } => Some((address, value, from)),
                    _ => None,
                });
                assert_eq!(read, Some((Hex(DATA + 16), Hex(number), Writer::Garbage)));
                // Where the file says what they hold, they hold that.
                assert_eq!(faults(&code, &[1; 32], model), NONE, "{load}, {test}, {model}");
            }
        }
    }
}

#[test]
fn undetermined_bytes_are_the_same_at_every_look() {
    for code in [
        "lw t0,16(s0)\nlw t1,16(s0)\nbne t0,t1,bad",
        "lbu t0,16(s0)\nlw t1,16(s0)\nandi t1,t1,255\nbne t0,t1,bad",
        "ld t0,16(s0)\nlhu t1,18(s0)\nsrli t0,t0,16\nslli t0,t0,48\nsrli t0,t0,48\nbne t0,t1,bad",
    ] {
        for model in MODELS {
            assert_eq!(faults(&two(code, ""), &[], model), NONE, "{code}, {model}");
        }
    }
    // Neighbours know nothing of one another.
    let code = "lbu t0,16(s0)\nlbu t1,17(s0)\nbeq t0,t1,bad";
    assert_eq!(faults(&two(code, ""), &[], Model::Sc), DEAD);
    let code = "lbu t0,16(s0)\nlbu t1,17(s0)\nbne t0,t1,bad";
    assert_eq!(faults(&two(code, ""), &[], Model::Sc), DEAD);
}

#[test]
fn what_is_computed_of_garbage_is_tried_or_told() {
    enum Must {
        Finding,
        Partly,
        Never,
        Refuses,
    }
    use Must::{Finding, Never, Partly, Refuses};
    for (code, must) in [
        ("ld t0,16(s0)\nli t1,3\nsub t0,t0,t1\nli t2,5\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nli t1,3\nsub t0,t1,t0\nli t2,5\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nxori t0,t0,9\nli t2,5\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\naddi t0,t0,9\nli t2,5\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nslti t1,t0,-5\nbnez t1,bad", Finding),
        ("ld t0,16(s0)\nli t1,198\nbeq t0,t1,bad", Finding),
        ("addi t3,s0,16\nli t1,1\namoadd.d t4,t1,(t3)\nld t0,16(s0)\nli t2,7\nbeq t0,t2,bad", Finding),
        ("sb zero,16(s0)\nlw t0,16(s0)\nli t1,0x100\nbeq t0,t1,bad", Finding),
        ("ld t0,16(s0)\naddiw t1,t0,0\nbnez t1,go\nbnez t0,bad\ngo: li t0,0", Finding),
        ("ld t0,16(s0)\nsd t0,24(s0)\nlhu t1,26(s0)\nli t2,0x123\nbeq t1,t2,bad", Partly),
        ("ld t0,16(s0)\nslli t0,t0,1\nli t2,10\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nsrli t0,t0,56\nli t2,0xa5\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nsrai t0,t0,56\nli t2,-9\nbeq t0,t2,bad", Finding),
        ("lw t0,16(s0)\nsrliw t0,t0,24\nli t2,0xa5\nbeq t0,t2,bad", Finding),
        ("lw t0,16(s0)\nslliw t0,t0,8\nlui t2,0x12\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nandi t0,t0,0x70\nli t2,0x30\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nori t0,t0,1\nli t2,7\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nxori t0,t0,-1\nsrli t0,t0,60\nli t2,9\nbeq t0,t2,bad", Finding),
        ("ld t0,16(s0)\nslli t1,t0,1\nadd t1,t1,t0\nli t2,333\nbeq t1,t2,bad", Partly),
        // Two looks at the parts of one number.
        (
            "ld t0,16(s0)\nsrli t1,t0,56\nli t2,0xa5\nbne t1,t2,go\nandi t1,t0,255\nli t2,0x17\nbeq t1,t2,bad\ngo: li t0,0",
            Finding,
        ),
        ("ld t0,16(s0)\nsrli t1,t0,8\nslli t1,t1,8\nlui t2,0x12\nbeq t1,t2,bad", Finding),
        ("ld t0,16(s0)\nadd t1,t0,t0\nli t2,334\nbeq t1,t2,bad", Partly),
        ("ld t0,16(s0)\nsrli t1,t0,8\nandi t2,t0,255\nbeq t1,t2,bad", Partly),
        ("ld t0,16(s0)\nandi t1,t0,1\nli t2,2\nbeq t1,t2,bad", Never),
        ("addi t3,s0,16\nli t1,1\namoor.d t4,t1,(t3)\nld t0,16(s0)\nli t2,7\nbeq t0,t2,bad", Finding),
        (
            "ld t0,16(s0)\nld t1,24(s0)\nbne t0,t1,go\nli t2,3\nbltu t2,t0,more\nj go\nmore: li t2,-1\nbne t0,t2,bad\ngo: li t0,0",
            Finding,
        ),
        (
            "ld t0,16(s0)\nld t1,24(s0)\nbeq t0,t1,go\nli t2,3\nbltu t0,t2,go\nbltu t1,t2,go\nli t2,-1\nbeq t0,t2,go\nbne t1,t2,bad\ngo: li t0,0",
            Finding,
        ),
        ("ld t0,16(s0)\nli t1,100\nbltu t0,t1,go\ngo: li t0,0", Partly),
        ("andi t1,t6,1\nbnez t1,bad", Partly),
        ("beqz t6,bad", Refuses),
        ("csrr t0,mscratch\nbnez t0,bad", Refuses),
    ] {
        for model in MODELS {
            let report = Assembled::of(&two(code, ""), &[]).check(2, model);
            match (&must, report) {
                (Finding, Ok(report)) => assert_eq!(report.findings.len(), 1, "{code}, {model}"),
                (Partly, Ok(report)) => assert!(report.partly, "{code}, {model}"),
                (Never, Ok(report)) => {
                    assert_eq!((report.findings.len(), report.partly), (0, false), "{code}, {model}");
                }
                (Refuses, Err(Refused::Unset { .. } | Refused::UnsetControl { .. })) => {}
                (_, other) => panic!("{code}, {model}: {other:?}"),
            }
        }
    }
    // One comparison does not hide what another one looks for.
    let word = "lw t3,0(s0)\nli t2,77\n";
    for code in [
        format!("ld t0,16(s0)\nld t1,24(s0)\nbeq t0,t1,go\n{word}beq t0,t2,bad\ngo: li t0,0"),
        format!("lw t0,16(s0)\nlw t1,24(s0)\nbeq t0,t1,go\n{word}beq t0,t2,bad\ngo: li t0,0"),
        format!("ld t0,16(s0)\nld t1,24(s0)\nxor t4,t0,t1\nbeqz t4,go\n{word}beq t1,t2,bad\ngo: li t0,0"),
        format!("ld t0,16(s0)\nld t1,16(s0)\nsub t3,t0,t1\nbnez t3,bad\n{word}beq t0,t2,bad"),
        format!("lw t0,16(s0)\nlw t1,16(s0)\n{word}addi t1,t1,-77\nbeqz t1,bad"),
    ] {
        for model in MODELS {
            let report = Assembled::of(&two(&code, ""), &[0; 16]).check(2, model).unwrap();
            assert_eq!((report.findings.len(), report.partly), (1, false), "{code}, {model}");
        }
    }
    // Whatever byte stands for all that are like no other, the code may ask for that one too, or for a number
    // that ends in it.
    for byte in (64..128).filter(|&byte| byte != 77) {
        for code in [
            format!("lbu t0,16(s0)\nli t1,{byte}\nbeq t0,t1,go\nli t1,77\nbeq t0,t1,bad\ngo: li t0,0"),
            format!(
                "ld t5,32(s0)\nli t1,{}\nbeq t5,t1,go\nlbu t0,16(s0)\nli t1,77\nbeq t0,t1,bad\ngo: li t0,0",
                256 + byte
            ),
        ] {
            let seen = faults(&two(&code, ""), &[0; 16], Model::Sc);
            assert_eq!(seen, DEAD, "{code}");
        }
        let copied = format!(
            "ld t5,32(s0)\nli t1,{}\nbeq t5,t1,go\nld t0,16(s0)\nsd t0,24(s0)\nlbu t1,26(s0)\nli t2,18\nbeq t1,t2,bad\ngo: li t0,0",
            256 + byte
        );
        assert!(Assembled::of(&two(&copied, ""), &[0; 16]).check(2, Model::Sc).unwrap().partly, "{copied}");
    }
    // A sum of garbage that must be less than much.
    let mut table = [0; 120];
    table[50] = 1;
    let code = "ld t0,120(s0)\nadd t0,t0,s0\naddi t1,s0,100\nbltu t0,s0,go\nbgeu t0,t1,go\nlbu t4,0(t0)\nbnez t4,bad\ngo: li t0,0";
    assert!(Assembled::of(&two(code, ""), &table).check(2, Model::Sc).unwrap().partly);
    // What follows from no garbage is not told of.
    let code = two(
        "again: ld t0,16(s0)\nld t1,16(s0)\nbne t0,t1,again\nli t0,198\naddi t0,t0,1\nslli t0,t0,3\nld t1,16(s0)\nbeqz t1,go\ngo: li t0,0",
        "",
    );
    for model in MODELS {
        assert!(!Assembled::of(&code, &[]).check(2, model).unwrap().partly, "{model}");
    }
}

#[test]
fn somebody_must_boot() {
    let ends = "all_arrived: j all_arrived\narrived: j arrived";
    for (code, expected) in [
        (format!("j arrived\n{ends}"), DEAD),
        (format!("bnez a0,arrived\nj all_arrived\n{ends}"), NONE),
        (format!("bnez a0,arrived\nprimary: j all_arrived\n{ends}"), NONE),
        (format!("bnez a0,arrived\nprimary: j arrived\n{ends}"), DEAD),
        (format!("bnez a0,all_arrived\nprimary: j all_arrived\n{ends}"), DEAD),
    ] {
        for model in MODELS {
            assert_eq!(faults(&code, &[0; 32], model), expected, "{code}, {model}");
        }
    }
}

/// A message: hart 1 sees the flag, and reads behind `between` what was written before it.
fn behind(between: &str) -> Assembled {
    let tell = "li t0,1\nsw t0,0(s0)\nfence w,w\nsw t0,8(s0)";
    let ask = format!("lw t1,8(s0)\nbeqz t1,go\n{between}\nlw t2,0(s0)\nbeqz t2,bad\ngo: li t0,0");
    Assembled::of(&two(tell, &ask), &[0; 32])
}

/// Volume I, "CSR Access Ordering": accesses to memory are in no order with those to control and status
/// registers, but where a dependency or a fence makes one. One that changes what an access to memory does
/// comes before it.
#[test]
fn a_control_register_orders_no_loads() {
    for between in [
        "csrw mscratch,zero",
        "csrw mie,zero",
        "csrci mstatus,8",
        "csrr t0,misa",
        "csrr t0,mhartid",
        "csrw mscratch,t1\ncsrr t5,mepc",
        "fence r,o\ncsrw mscratch,t1",
        "fence r,o\ncsrw mscratch,zero\nfence i,r",
        "csrw mscratch,t1\nfence i,r",
    ] {
        let report = behind(between).check(2, Model::Rvwmo).unwrap();
        assert_eq!(report.findings.len(), 1, "{between}");
        assert_eq!(report.findings[0].fault, Fault::Dead, "{between}");
    }
    for between in [
        // What was read goes through the register into the address.
        "csrw mscratch,t1\ncsrr t5,mscratch\nandi t5,t5,0\nadd s0,s0,t5",
        "csrrw t5,mscratch,t1\ncsrr t5,mscratch\nandi t5,t5,0\nadd s0,s0,t5",
        "fence r,r",
        "fence r,o\ncsrw mscratch,zero\nfence o,r",
        "csrw mscratch,t1\nfence o,r",
        "fence r,i\ncsrr t5,mie\nfence i,r",
    ] {
        let report = behind(between).check(2, Model::Rvwmo).unwrap();
        assert_eq!((report.findings, report.held), (vec![], vec![]), "{between}");
    }
}

#[test]
fn what_is_not_followed_is_told_with_its_place() {
    for (between, full) in [
        ("here: csrw pmpaddr0,zero", false),
        ("lui t2,0x20\nhere: csrs mstatus,t2", false),
        ("li t0,600\nround: addi t0,t0,-1\nbnez t0,round", true),
    ] {
        let code = behind(between);
        let report = code.check(2, Model::Rvwmo).unwrap();
        assert_eq!(report.findings, [], "{between}");
        assert!(!report.held.is_empty(), "{between}");
        assert!(full || report.held == [code.at("here")], "{between}: {:?}", report.held);
    }
}

/// Rule 11 keeps stores behind an indirect jump, and no loads: the target may be guessed.
#[test]
fn a_load_may_pass_a_jump_that_is_not_known_yet() {
    let park = |jump: &str, target: &str| {
        let tell = "li t0,1\nsw t0,0(s0)\nla t0,there\nfence w,w\nsd t0,8(s0)";
        let tell = tell.replace("la t0,there", "lui t0,0x10\naddi t0,t0,0x100");
        let ask = format!("wait: ld t1,8(s0)\nbeqz t1,wait\n{jump}");
        let text = two(&tell, &ask);
        // The target stands at a place of its own.
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        let lines = lines - text.matches("la t0").count();
        let pad = "nop\n".repeat(64 - lines);
        Assembled::of(&format!("{text}\n{pad}there: {target}\nj arrived"), &[0; 32])
    };
    let look = "lw t2,0(s0)\nbeqz t2,bad";
    for (jump, target, models) in [
        ("jr t1", look, [NONE, NONE, DEAD]),
        ("jalr t1", look, [NONE, NONE, DEAD]),
        ("fence r,r\njr t1", look, [NONE; 3]),
        ("jr t1", &*format!("fence r,rw\n{look}"), [NONE; 3]),
        // What is returned to is behind the jump too.
        ("jr t1", "sw t1,16(s0)", [NONE; 3]),
    ] {
        let code = park(jump, target);
        assert_eq!(code.at("there"), 0x1_0100, "{jump}");
        for (model, expected) in MODELS.into_iter().zip(models) {
            let report = code.check(2, model).unwrap();
            let faults: Vec<_> = report.findings.iter().map(|each| each.fault).collect();
            assert_eq!(faults, expected, "{jump}, {target}, {model}");
        }
    }
    // A store stays behind.
    let store = park("lw t2,0(s0)\njr t1", "sw t1,16(s0)\nbeqz t2,bad");
    assert_eq!(store.check(2, Model::Tso).unwrap().findings, []);
}

/// Who does not know yet where it stores does not know either what its own words hold.
#[test]
fn a_store_to_somewhere_may_be_to_a_word_of_its_own() {
    let mut memory = [0; 16];
    memory[..8].copy_from_slice(&(DATA + 72).to_le_bytes());
    memory[8] = 5;
    let code =
        "ld t0,0(s0)\nli t1,8\nsd t1,0(t0)\nld t2,72(s0)\nadd t3,t2,s0\nld t4,0(t3)\nli t5,5\nbne t4,t5,bad";
    let memory = [&memory[..], &[0; 72]].concat();
    for model in MODELS {
        assert_eq!(faults(&two(code, ""), &memory, model), NONE, "{model}");
    }
}

#[test]
fn who_goes_astray_is_named() {
    for step in
        ["jr s0", "jr zero", "lw t0,0(zero)", "sw t0,0(zero)", "lw t0,1(s0)", "lui t0,0x10\nsw t0,0(t0)"]
    {
        for model in MODELS {
            let all = findings(&two("", step), &[0; 32], model);
            let faults: Vec<_> = all.iter().map(|each| (each.fault, each.culprit)).collect();
            assert_eq!(faults, [(Fault::Astray, Some(1))], "{step}, {model}");
        }
    }
}

#[test]
fn a_hart_that_goes_round_without_memory_is_dead() {
    let all = findings(&two("", "round: j round"), &[0; 32], Model::Rvwmo);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].fault, all[0].trace.ends[1].doing), (Fault::Dead, Doing::Loops));
}

/// What no other hart accesses is still what it waits for.
#[test]
fn a_hart_that_polls_what_nobody_writes_names_it() {
    for (load, bytes) in [("ld", 8), ("lw", 4)] {
        let all = findings(&two("", &format!("gate: {load} t0,16(s0)\nbeqz t0,gate")), &[0; 32], Model::Sc);
        let Doing::Waits { address, bytes: wide, value, .. } = all[0].trace.ends[1].doing else {
            panic!("{:?}", all[0].trace.ends);
        };
        assert_eq!((address, wide, value), (DATA + 16, bytes, 0), "{load}");
    }
    let alone = findings(&two("", "gate: ld t0,16(s0)\nbeqz t0,gate"), &[0; 32], Model::Sc);
    assert!(matches!(alone[0].trace.ends[1].doing, Doing::Waits { alone: true, .. }));
}

/// One hart that counts for long before it hangs: the run leads to where it hangs.
#[test]
fn a_hang_after_many_steps_is_shown_where_it_is() {
    let count = "li t1,1200\nagain: lw t0,16(s0)\naddi t0,t0,1\nsw t0,16(s0)\nbne t0,t1,again";
    let text = two(&format!("{count}\nstuck: lw t2,20(s0)\nbeqz t2,stuck"), "");
    let code = Assembled::of(&text, &[0; 32]);
    let report = code.check(1, Model::Sc).unwrap();
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert!(matches!(finding.trace.ends[0].doing, Doing::Waits { address, .. } if address == DATA + 20));
    assert_eq!(finding.trace.ends[0].pc, code.at("stuck"));
    assert!(finding.trace.steps.len() > 2000, "{}", finding.trace.steps.len());
}

/// Volume I, "Eventual Success of Store-Conditional Instructions".
#[test]
fn a_loop_that_need_not_succeed_is_told() {
    let lock = |between: &str, behind: &str| {
        format!(
            "addi t3,s0,8\nli t0,1\ntry: lr.w t1,(t3)\nbnez t1,try\n{between}\nsc.w t2,t0,(t3)\n{behind}\nbnez t2,try\nfence rw,w\nsw zero,8(s0)"
        )
    };
    let nops = "nop\n".repeat(13);
    for (between, behind, is_unconstrained) in [
        ("nop", "", false),
        ("add t5,t0,t1", "beqz t2,done\nj try\ndone: nop", false),
        (&nops, "", true),
        ("lw t4,16(s0)", "", true),
        ("sw t0,20(s0)", "", true),
        ("fence rw,rw", "", true),
        ("csrw mscratch,t0", "", true),
        ("nop", "lw t4,16(s0)", true),
    ] {
        let code = Assembled::of(&two(&lock(between, behind), ""), &[0; 32]);
        let report = code.check(2, Model::Sc).unwrap();
        assert_eq!(report.findings, [], "{between}, {behind}");
        let expected: &[u64] = if is_unconstrained { &[code.at("try")] } else { &[] };
        assert_eq!(report.retries, expected, "{between}, {behind}");
    }
    // Who does not try again hopes for nothing.
    let once = "addi t3,s0,8\nlr.w t1,(t3)\nlw t4,16(s0)\nsc.w t2,t0,(t3)";
    assert_eq!(Assembled::of(&two(once, ""), &[0; 32]).check(2, Model::Sc).unwrap().retries, [0; 0]);
}

#[test]
fn a_light_that_blinks_need_not_be_seen() {
    // Hart 0 blinks until it is told that it was seen.
    let blink = "li t0,1\nblink: sw t0,0(s0)\nsw zero,0(s0)\nlw t1,4(s0)\nbeqz t1,blink\n";
    let see = "see: lw t1,0(s0)\nbeqz t1,see\nli t0,1\nsw t0,4(s0)\n";
    expect("blinks", (blink, see), [LIVELOCK; 3]);
    expect("shines", (&blink.replace("sw zero,0(s0)\n", ""), see), [NONE; 3]);
}

#[test]
fn starting_has_its_rules() {
    let tell = "primary: li t0,1\ntell_all: sw t0,0(s0)\n";
    let wait = "wait: lw t1,0(s0)\nbeqz t1,wait\nstarted: li t0,0\n";
    expect("told", (tell, wait), [NONE; 3]);
    expect("early", (tell, "started: li t0,0\n"), [&[Fault::StartedEarly]; 3]);
    let twice = format!("{wait}bnez t2,go\nli t2,1\nj started\ngo: li t0,0\n");
    expect("twice", (tell, &format!("li t2,0\n{twice}")), [&[Fault::StartedTwice]; 3]);
    expect("two primaries", (tell, "j primary\n"), [&[Fault::StartedTwice]; 3]);
    let stack = "li sp,64\n";
    expect("one stack", (&format!("{tell}{stack}"), &format!("{wait}{stack}")), [&[Fault::SharedStack]; 3]);
    expect("two stacks", (&format!("{tell}{stack}"), &format!("{wait}li sp,128\n")), [NONE; 3]);
}

#[test]
fn a_register_must_hold_what_is_expected() {
    for (one, expected) in [("li a1,7", NONE), ("li a1,8", &[Fault::Stale]), ("", &[Fault::Stale])] {
        let code = Assembled::of(&two("", one), &[]);
        let register = Register::named("a1").unwrap();
        let mut question = code.question(2, Model::Rvwmo);
        question.expected = vec![Expectation { register, base: 5, step: 2 }];
        question.landmarks.all_arrived = vec![code.at("all_arrived")];
        let report = super::super::check(&question, LIMITS).unwrap();
        let of_one: Vec<_> = report.findings.iter().filter(|each| each.culprit == Some(1)).collect();
        assert_eq!(of_one.iter().map(|each| each.fault).collect::<Vec<_>>(), expected, "{one}");
    }
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    for (step, text) in [
        ("here: ecall", "`ecall` is not supported"),
        ("here: ebreak", "`ebreak` is not supported"),
        ("here: mret", "`mret` is not supported"),
        ("here: csrr t0,mcycle", "mcycle"),
        ("here: csrsi mstatus,8", "mstatus"),
        ("here: csrr t0,mip", "mip"),
        ("here: .word ffffffff", "at 0x10010: "),
    ] {
        for model in MODELS {
            let code = Assembled::of(&two("", step), &[]);
            let refused = code.check(2, model).unwrap_err();
            if let Refused::Unsupported { pc, .. } = &refused {
                assert_eq!(*pc, code.at("here"), "{step}");
            } else {
                assert!(matches!(refused, Refused::Fetch(_)), "{step}: {refused:?}");
            }
            assert!(refused.to_string().contains(text), "{step}: {refused}");
            // Nobody ever comes there.
            let code = Assembled::of(&two("", &format!("j arrived\n{step}")), &[]);
            assert_eq!(code.check(2, model).unwrap().findings, [], "{step}");
        }
    }
}

#[test]
fn what_changes_nothing_in_machine_mode_is_done() {
    for step in ["csrw mip,zero", "csrw mie,zero", "csrw mscratch,sp"] {
        let code = Assembled::of(&two("", step), &[]);
        assert_eq!(code.check(2, Model::Rvwmo).unwrap().findings, [], "{step}");
    }
}

#[test]
fn parts_of_a_shared_word_are_refused() {
    let reads = "lw t1,0(s0)\n";
    for (part, others, models) in [
        // What the load finds of it in memory, and what of the store.
        ("li t0,1\nsw t0,0(s0)\nld t1,0(s0)\n", reads, &[Model::Tso, Model::Rvwmo][..]),
        // Its bytes are reserved, so it may succeed.
        ("lr.d t1,(s0)\nsc.w t2,t1,(s0)\n", reads, &MODELS),
        ("again: lr.d t1,(s0)\nsc.w t2,t1,(s0)\nbnez t2,again\n", "", &MODELS),
    ] {
        for &model in models {
            let assembled = Assembled::of(&two(part, others), &[0; 32]);
            let refused = assembled.check(2, model).unwrap_err();
            assert_eq!(refused, Refused::Mixed { address: DATA }, "{model}: {part}");
        }
    }
}

/// Hart 1 reads 2, and only a walk takes it for possible that it reads the 1 that it stored before.
#[test]
fn what_only_a_walk_takes_for_possible_is_not_refused() {
    for unseen in ["addi t3,s0,8\nlr.d t1,(t3)\nsc.w t4,t1,(t3)", "lui t0,0x10\nsd zero,32(t0)"] {
        let one = format!(
            "li t0,1\nsw t0,0(s0)\nli t0,2\nsw t0,0(s0)\nlw t2,0(s0)\nli t1,1\nbeq t2,t1,unseen\nlw t3,8(s0)\nj arrived\nunseen: {unseen}"
        );
        let zero = "lw t1,8(s0)\nlw t1,0(s0)\nsw t1,40(s0)";
        let mut assembled = Assembled::of(&two(zero, &one), &[0; 32]);
        assembled.image.segments[0].writable = true;
        for model in MODELS {
            for reduces in [false, true] {
                let question = assembled.question(2, model);
                let mut learned = Learned::of(&question);
                let report = search_within(&question, LIMITS, &Extent::whole(reduces), &mut learned, &[]);
                let report = report.unwrap_or_else(|error| panic!("{model}, {reduces}, {unseen}: {error}"));
                assert_eq!(report.unwrap().findings, [], "{model}, {reduces}, {unseen}");
            }
        }
    }
}

#[test]
fn code_must_not_change() {
    for (offset, changes) in [(0, true), (7, true), (0x200, false)] {
        let mut code = Assembled::of(&two("", &format!("lui t0,0x10\nsb t0,{offset}(t0)")), &[]);
        code.image.segments[0].writable = true;
        code.image.segments[0].size = 0x400;
        let report = code.check(2, Model::Rvwmo);
        if changes {
            assert_eq!(report.unwrap_err(), Refused::Overwritten { address: 0x1_0000 + offset });
        } else {
            assert_eq!(report.unwrap().findings, []);
        }
    }
}

/// Two harts that count to so many, both in words that the other one reads.
fn long() -> String {
    let count = |name: &str, own: u8, other: u8| {
        format!(
            "li t0,0\nli t1,200\n{name}: addi t0,t0,1\nsw t0,{own}(s0)\nlw t2,{other}(s0)\nbne t0,t1,{name}\n"
        )
    };
    two(&count("up", 0, 8), &count("on", 8, 0))
}

#[test]
fn a_limit_that_is_reached_is_a_refusal_and_soon() {
    let code = Assembled::of(&long(), &[0; 32]);
    let question = code.question(2, Model::Rvwmo);
    let stop = |states: u64| states > 2000;
    for limits in
        [CheckLimits { bytes: 1 << 30, stop: Some(&stop) }, CheckLimits { bytes: 1 << 21, stop: Some(&stop) }]
    {
        let Refused::Stopped(effort) = super::super::check(&question, limits).unwrap_err() else {
            panic!("not stopped");
        };
        assert!((2000..20_000).contains(&effort.states), "{effort:?}");
    }
    for bytes in [0, 1 << 16, 1 << 20] {
        let limits = CheckLimits { bytes, ..LIMITS };
        let Refused::Memory(effort) = super::super::check(&question, limits).unwrap_err() else {
            panic!("not refused");
        };
        // A table may double at last.
        assert!(effort.bytes <= bytes.max(1 << 18) * 2, "{effort:?}");
    }
}
