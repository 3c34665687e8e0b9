use super::{Limits, Model, NoAnswer, Refusal, outcomes};
use crate::litmus::Test;

fn read(text: &str) -> Test {
    Test::read(text).unwrap()
}

fn states(test: &Test, model: Model) -> Vec<String> {
    let all = outcomes(test, model, Limits::default()).unwrap();
    all.states.iter().map(|state| test.outcome(state)).collect()
}

const MESSAGE: &str = "RISCV MP\n{ 0:x6=x; 0:x8=y; 0:x5=1; 1:x6=y; 1:x8=x; }
 P0 | P1 ;
 sw x5,0(x6) | lw x5,0(x6) ;
 sw x5,0(x8) | lw x7,0(x8) ;
exists (1:x5=1 /\\ 1:x7=0)";

#[test]
fn the_whole_set_is_found() {
    let test = read(MESSAGE);
    let strong = ["1:x5=0; 1:x7=0;", "1:x5=0; 1:x7=1;", "1:x5=1; 1:x7=1;"];
    assert_eq!(states(&test, Model::Sc), strong);
    assert_eq!(states(&test, Model::Tso), strong);
    assert_eq!(states(&test, Model::Rvwmo).len(), 4);
}

#[test]
fn a_store_conditional_may_fail_whenever_it_likes() {
    let text = "RISCV reserve\n{ 0:x6=x; 1:x6=x; }\n P0 | P1 ;
 lr.w x7,(x6) | lr.w x7,(x6) ;
 li x5,1 | li x5,2 ;
 sc.w x8,x5,(x6) | sc.w x8,x5,(x6) ;
locations [0:x7; 0:x8; 1:x7; 1:x8; x;]";
    let expected = [
        "0:x7=0; 0:x8=0; 1:x7=0; 1:x8=1; x=1;",
        "0:x7=0; 0:x8=0; 1:x7=1; 1:x8=0; x=2;",
        "0:x7=0; 0:x8=0; 1:x7=1; 1:x8=1; x=1;",
        "0:x7=0; 0:x8=1; 1:x7=0; 1:x8=0; x=2;",
        "0:x7=0; 0:x8=1; 1:x7=0; 1:x8=1; x=0;",
        "0:x7=2; 0:x8=0; 1:x7=0; 1:x8=0; x=1;",
        "0:x7=2; 0:x8=1; 1:x7=0; 1:x8=0; x=2;",
    ];
    assert_eq!(states(&read(text), Model::Rvwmo), expected);
    assert_eq!(states(&read(text), Model::Sc), expected);
}

#[test]
fn too_few_steps_give_no_set_at_all() {
    let test = read(MESSAGE);
    let whole = outcomes(&test, Model::Rvwmo, Limits::default()).unwrap();
    for steps in 0..whole.steps {
        let limits = Limits { steps, ..Limits::default() };
        assert_eq!(outcomes(&test, Model::Rvwmo, limits), Err(NoAnswer::NotFinished { steps }));
    }
    let limits = Limits { steps: whole.steps, ..Limits::default() };
    assert_eq!(outcomes(&test, Model::Rvwmo, limits), Ok(whole));
    let passed = || true;
    let limits = Limits { stop: Some(&passed), ..Limits::default() };
    assert_eq!(outcomes(&test, Model::Rvwmo, limits), Err(NoAnswer::NotFinished { steps: 0 }));
}

#[test]
fn a_loop_is_followed_so_often_and_the_answer_says_so() {
    let text =
        "RISCV wait\n{ 0:x6=x; 0:x5=1; 1:x6=x; }\n P0 | P1 ;\n sw x5,0(x6) | L: lw x7,0(x6) ;\n | beqz x7,L ;
exists (1:x7=0)";
    let test = read(text);
    let all = outcomes(&test, Model::Rvwmo, Limits::default()).unwrap();
    assert!(all.cut);
    assert_eq!((all.having(&test), all.states.len()), (0, 1));
}

#[test]
fn counters_that_feed_each_other_come_to_an_end() {
    let text = "RISCV count\n{ 0:x6=x; 1:x6=x; 2:x6=x; }\n P0 | P1 | P2 ;
 li x5,1 | li x5,1 | li x5,1 ;
 amoadd.w x7,x5,(x6) | amoadd.w x7,x5,(x6) | amoadd.w x7,x5,(x6) ;
forall (x=3)";
    let test = read(text);
    let all = outcomes(&test, Model::Rvwmo, Limits::default()).unwrap();
    assert_eq!(all.holds(&test), Some(true));
}

#[test]
fn addresses_are_values_too() {
    let text = "RISCV pointer\n{ 0:x6=p; 0:x7=y; 1:x6=p; p=x; x=1; y=2; }\n P0 | P1 ;
 sd x7,0(x6) | ld x5,0(x6) ;
 | lw x8,0(x5) ;
exists (1:x5=y /\\ 1:x8=1)";
    assert_eq!(states(&read(text), Model::Rvwmo), ["1:x5=y; 1:x8=2;", "1:x5=x; 1:x8=1;"]);
}

#[test]
fn a_filter_leaves_executions_out() {
    let text = MESSAGE.replace("exists", "filter (1:x5=1) exists");
    assert_eq!(states(&read(&text), Model::Rvwmo), ["1:x5=1; 1:x7=0;", "1:x5=1; 1:x7=1;"]);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let mixed = MESSAGE.replace("lw x7,0(x8)", "ld x7,0(x8)");
    let refused = outcomes(&read(&mixed), Model::Rvwmo, Limits::default());
    assert_eq!(refused, Err(NoAnswer::Refused(Refusal::MixedSize { place: "x".to_owned() })));
    let reserved = MESSAGE.replace("lw x5,0(x6)", "lr.d x5,0(x6)").replace("lw x7,0(x8)", "sc.w x7,x5,0(x6)");
    let refused = outcomes(&read(&reserved), Model::Rvwmo, Limits::default());
    assert_eq!(refused, Err(NoAnswer::Refused(Refusal::MixedSize { place: "y".to_owned() })));
    let astray = MESSAGE.replace("1:x8=x;", "");
    let astray = format!("{astray} /\\ x=0");
    let refused = outcomes(&read(&astray), Model::Rvwmo, Limits::default());
    assert_eq!(refused, Err(NoAnswer::Refused(Refusal::Astray { thread: 1, address: 0 })));
    let called = MESSAGE.replace("lw x7,0(x8)", "ecall");
    let refused = outcomes(&read(&called), Model::Rvwmo, Limits::default());
    assert!(matches!(refused, Err(NoAnswer::Refused(Refusal::Unsupported(_)))), "{refused:?}");
}

#[test]
fn a_hart_with_too_many_paths_is_refused_in_time() {
    let mut rows = String::new();
    for number in 1..=10 {
        rows.push_str(&format!(" lw x7,0(x6) | li x5,{number} ;\n | sw x5,0(x6) ;\n"));
    }
    let text = format!("RISCV many\n{{ 0:x6=x; 1:x6=x; }}\n P0 | P1 ;\n{rows}exists (0:x7=1)");
    let refused = outcomes(&read(&text), Model::Sc, Limits::default());
    assert_eq!(refused, Err(NoAnswer::Refused(Refusal::TooManyPaths)));
}

#[test]
fn atomic_operations_on_one_word_are_put_in_order_in_few_steps() {
    let row = " amoadd.w x5,x7,(x6) | amoadd.w x5,x7,(x6) | amoadd.w x5,x7,(x6) ;\n";
    let next = row.replace("x5", "x8");
    let text = format!(
        "RISCV chain\n{{ 0:x6=x; 1:x6=x; 2:x6=x; 0:x7=1; 1:x7=1; 2:x7=1; }}\n P0 | P1 | P2 ;\n{row}{next}\
         locations [x; 0:x5; 0:x8; 1:x5; 1:x8; 2:x5; 2:x8;]"
    );
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    // Six operations of which the two of each hart keep their order: 6! / 2! / 2! / 2!.
    assert_eq!(outcomes(&read(&text), Model::Rvwmo, limits).unwrap().states.len(), 90);
}

#[test]
fn too_little_memory_gives_no_set_at_all() {
    let row = |cell: &dyn Fn(usize) -> String| (0..9).map(cell).collect::<Vec<_>>().join(" | ");
    let state = (0..9).map(|hart| format!("{hart}:x6=x; {hart}:x5={hart};")).collect::<String>();
    let (names, stores) = (row(&|hart| format!("P{hart}")), row(&|_| "sw x5,0(x6)".to_owned()));
    let test = read(&format!("RISCV many\n{{ {state} }}\n {names} ;\n {stores} ;\nexists (x=1)"));
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    let refused = outcomes(&test, Model::Rvwmo, limits);
    assert!(matches!(refused, Err(NoAnswer::Memory { bytes: 0x10_0000, .. })), "{refused:?}");
    let limits = Limits { bytes: 1 << 30, ..Limits::default() };
    assert_eq!(outcomes(&test, Model::Rvwmo, limits).unwrap().states.len(), 9);
    // Paths are held too.
    let loads =
        (0..8).map(|index| format!(" lw x{},0(x6) | li x5,{index} ;\n | sw x5,0(x6) ;\n", 10 + index));
    let text =
        format!("RISCV paths\n{{ 0:x6=x; 1:x6=x; }}\n P0 | P1 ;\n{}exists (x=1)", loads.collect::<String>());
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    let refused = outcomes(&read(&text), Model::Rvwmo, limits);
    assert!(matches!(refused, Err(NoAnswer::Memory { .. })), "{refused:?}");
}
