use super::{Quantifier, Test};
use crate::axiomatic::{self, Limits, Model};
use crate::isa::{Instruction, Width};
use crate::operational;

const WHOLE: &str = "RISCV A+B\n\"PodWW Rfe (* no comment *)\"\nCycle=Rfe PodWW\nOrig=a=b
(* a comment (* and one in it *)
 of two lines *)
{
uint64_t x; int y=-1; uint64_t 1:x9; int* 0:x7;
0:x5=x; 0:a0=0x10; 1:x6=y; [z]=y;
}
 P0           | P1            ;
 sw x5,0(x6)  | L: lw.aq x5,(x6) ;
 fence w,w    | LC00:         ;
 li x7,100000 | beqz x5,LC00  ;
              | j L           ;
locations [x; 0:x7;]
filter (~(x=2))
~exists (0:x5=x /\\ (1:x5=1 \\/ not y=-1) /\\ [z]=y)
";

#[test]
fn a_test_that_has_everything_is_read() {
    let test = Test::read(WHOLE).unwrap();
    assert_eq!(test.name, "A+B");
    let names = test.places.iter().map(|place| place.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["x", "y", "z"]);
    assert_eq!(test.initial(test.places[1].address, Width::Word), 0xffff_ffff);
    assert_eq!(test.places[2].initial, test.places[1].address);
    assert_eq!(test.threads[0].registers[5], test.places[0].address);
    assert_eq!(test.threads[0].registers[10], 16);
    assert_eq!(test.question.quantifier, Quantifier::NotExists);
    let observed = test.observed.iter().map(|&each| test.observable(each)).collect::<Vec<_>>();
    assert_eq!(observed, ["x", "0:x7", "0:x5", "1:x5", "y", "z"]);
    let program = &test.threads[1].program;
    assert_eq!((program.len(), test.threads[0].program.len()), (3, 3));
    assert!(program[0].acquire && !program[0].release);
    let Instruction::Branch { offset: 0, .. } = program[1].instruction else { panic!("{:?}", program[1]) };
    let Instruction::Jal { offset: -8, .. } = program[2].instruction else { panic!("{:?}", program[2]) };
    assert_eq!(test.value(test.places[1].address), "y");
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let body = "{ 0:x5=x; }\n P0 ;\n lw x6,0(x5) ;\nexists (0:x6=0)";
    let table = [
        (format!("X86 t\n{body}"), 1, "RISCV"),
        (format!("RISCV\n{body}"), 1, "no name"),
        ("RISCV t\n P0 ;".to_owned(), 1, "braces"),
        (format!("RISCV t\n{}", body.replace("P0 ;", "P0 (* ;")), 3, "never closed"),
        (format!("RISCV t\n(* free {}", body.replace("P0 ;", "P0 (* ;")), 3, "never closed"),
        (format!("RISCV t\n{}", body.replace(" (0:x6=0)", "")), 5, "the condition is missing"),
        (format!("RISCV t\n{}", body.replace("exists (0:x6=0)", "~exists\n")), 6, "the condition is missing"),
        (format!("RISCV t\n{}", body.replace("exists (0:x6=0)", "forall")), 5, "the condition is missing"),
        ("\0\0\0".to_owned(), 1, "no text"),
        ("hello".to_owned(), 1, "RISCV"),
        (format!("RISCV t\n{}", body.replace("lw ", "lx ")), 4, "lx"),
        (format!("RISCV t\n{}", body.replace("lw x6,0(x5)", "beqz x6,L")), 4, "label `L`"),
        (format!("RISCV t\n{}", body.replace("0:x6=0", "0:x66=0")), 5, "x66"),
        (format!("RISCV t\n{}", body.replace("0:x6=0", "3:x6=0")), 5, "hart 3"),
        (format!("RISCV t\n{}", body.replace("(0:x6=0)", "(0:x6=0")), 5, "`)`"),
        (format!("RISCV t\n{}", body.replace("P0", "P1")), 3, "P0"),
        (format!("RISCV t\n{}", body.replace("lw x6,0(x5)", "nop | nop")), 4, "2 cells"),
        (format!("RISCV t\n{}", body.replace("0:x5=x", "0:x5=0x5a3c0000")), 2, "range"),
        (format!("RISCV t\n{}", body.replace("0:x5=x", "int x[2]")), 2, "arrays"),
    ];
    for (text, line, reason) in table {
        let error = Test::read(&text).unwrap_err();
        assert!(error.line == line && error.reason.contains(reason), "{error}\n{text}");
    }
}

#[test]
fn a_condition_that_is_printed_is_read_as_the_same() {
    let conditions = [
        r"0:x5=1",
        r"0:x5=1 /\ 1:x7=-1 /\ x=2",
        r"(0:x5=1 \/ 1:x7=0) /\ x=y",
        r"0:x5=1 /\ (1:x7=0 \/ ~(x=[y])) \/ 0:x6=1:x6",
        r"~(0:x5=1 \/ true) => false",
    ];
    for condition in conditions {
        let read = |condition: &str| {
            let text =
                format!("RISCV print\n{{ x=1; y=1; }}\n P0 | P1 ;\n nop | nop ;\nexists ({condition})");
            Test::read(&text).unwrap_or_else(|error| panic!("{condition}: {error}"))
        };
        let test = read(condition);
        let printed = test.proposition(&test.question.proposition);
        assert_eq!(read(&printed).question, test.question, "{condition}: {printed}");
    }
}

#[test]
fn too_deeply_nested_conditions_are_an_error() {
    let read =
        |condition: &str| Test::read(&format!("RISCV deep\n{{ x=1; }}\n P0 ;\n nop ;\nexists {condition}"));
    for (before, after) in [("(", ")"), ("~", ""), ("x=1 => ", "")] {
        let deep = |depth: usize| format!("{}x=1{}", before.repeat(depth), after.repeat(depth));
        assert!(read(&deep(100)).is_ok(), "{before}");
        let error = read(&deep(100_000)).unwrap_err();
        assert!(error.line == 5 && error.reason.contains("100 deep"), "{error}");
    }
}

/// What a test of one store ends with, and whether its condition is so.
fn one_store(state: &str, store: &str, condition: &str) -> Result<(String, bool), String> {
    let text = format!(
        "RISCV one\n{{ {state}; 0:x10=x; 0:x5=1; 0:x7=-1; }}\n P0 ;\n {store} ;\nexists ({condition})"
    );
    let test = Test::read(&text).map_err(|error| error.to_string())?;
    let by_axioms =
        axiomatic::outcomes(&test, Model::Rvwmo, Limits::default()).map_err(|error| error.to_string())?;
    let steps = operational::outcomes(&test, Model::Rvwmo, 8, Limits::default())
        .map_err(|error| error.to_string())?;
    assert_eq!((&by_axioms.states, &by_axioms.kinds), (&steps.states, &steps.kinds), "{text}");
    assert_eq!(by_axioms.states.len(), 1, "{text}");
    Ok((test.outcome(by_axioms.states.first().unwrap()), by_axioms.having(&test) == 1))
}

#[test]
fn a_location_is_compared_and_printed_as_its_type_has_it() {
    let cases = [
        ("uint16_t x", "sh x7,0(x10)", "x=0xffff", "x=65535;", true),
        ("uint16_t x", "sh x7,0(x10)", "x=-1", "x=65535;", true),
        ("uint16_t x", "sh x7,0(x10)", "x=0x7fff", "x=65535;", false),
        ("int16_t x", "sh x7,0(x10)", "x=0xffff", "x=-1;", true),
        ("uint8_t x=255", "lbu x6,0(x10)", "x=255", "x=255;", true),
        ("uint8_t x=255", "nop", "x=255", "x=255;", true),
        ("uint32_t x", "sw x7,0(x10)", "x=0xffffffff", "x=4294967295;", true),
        ("x=0", "sw x7,0(x10)", "x=0xffffffff", "x=-1;", true),
        ("x=0", "sd x7,0(x10)", "x=0xffffffff", "x=-1;", false),
        ("int64_t x", "sd x7,0(x10)", "x=0xffffffff", "x=-1;", false),
        ("uint64_t x", "sd x7,0(x10)", "x=-1", "x=18446744073709551615;", true),
        ("uint32_t x; int y=-1", "sw x7,0(x10)", "x=[y]", "x=4294967295; y=-1;", true),
        // Registers have 64 bits.
        ("uint32_t x=0x80000000", "lw x8,0(x10)", "0:x8=0x80000000", "0:x8=-2147483648;", false),
    ];
    for (state, store, condition, outcome, holds) in cases {
        let expected = Ok((outcome.to_owned(), holds));
        assert_eq!(one_store(state, store, condition), expected, "{state}; {store}; {condition}");
    }
}

#[test]
fn an_access_to_a_part_of_a_location_leaves_the_rest() {
    let cases = [
        ("uint64_t x=0x100000005", "sw x5,0(x10)", "x=0x100000001", "x=4294967297;"),
        ("uint64_t x=0x100000005", "sw x5,4(x10)", "x=0x100000005", "x=4294967301;"),
        ("uint64_t x=0x100000005", "lw x6,0(x10)", "x=0x100000005", "x=4294967301;"),
        ("uint32_t x=0x1234", "sb x5,0(x10)", "x=0x1201", "x=4609;"),
        ("uint32_t x", "sh x5,2(x10)", "x=0x10000", "x=65536;"),
        ("x=0x100", "sb x7,0(x10)", "x=0x1ff", "x=511;"),
    ];
    for (state, store, condition, outcome) in cases {
        let expected = Ok((outcome.to_owned(), true));
        assert_eq!(one_store(state, store, condition), expected, "{state}; {store}");
    }
}

#[test]
fn an_access_that_does_not_fit_its_location_is_refused() {
    let cases = [
        ("int x", "sw x5,2(x10)", "hart 0 accesses 4 bytes at x+2, which is misaligned"),
        ("x=0", "sw x5,2(x10)", "misaligned"),
        ("x=0", "sw x5,4(x10)", "hart 0 accesses 4 bytes at x+4: the location is shorter"),
        ("int x", "sd x5,0(x10)", "hart 0 accesses 8 bytes at x: the location is shorter"),
        ("uint8_t x", "lh x6,0(x10)", "2 bytes at x: "),
        ("uint8_t x", "sb x5,1(x10)", "1 byte at x+1: "),
        ("x=0", "sw x5,8(x10)", "where there is no location"),
        ("uint8_t x=256", "nop", "256 does not fit into the 1 bytes of `x`"),
    ];
    for (state, store, refusal) in cases {
        let answer = one_store(state, store, "x=1");
        assert!(
            answer.as_ref().is_err_and(|reason| reason.contains(refusal)),
            "{state}; {store}: {answer:?}"
        );
    }
}

#[test]
fn free_text_before_the_braces_may_open_a_comment() {
    let test =
        Test::read("RISCV t\nfree (* text\n{ 0:x5=x; (* y=1; *) }\n P0 ;\n lw x6,0(x5) ;\nexists (0:x6=0)")
            .unwrap();
    assert_eq!((test.places.len(), test.threads[0].program.len()), (1, 1));
}

#[test]
fn a_jump_to_where_a_hart_has_no_instruction_is_refused() {
    let cases =
        [("jalr x0,0(x10)", "hart 0 jumps to x, where it has no instruction"), ("ret", "jumps to 0, where")];
    for (jump, refusal) in cases {
        let answer = one_store("x=0", jump, "x=0");
        assert!(answer.as_ref().is_err_and(|reason| reason.contains(refusal)), "{jump}: {answer:?}");
    }
    // A call comes back.
    let call = "RISCV call\n{ 0:x10=x; 0:x5=1; }\n P0 ;\n jal x1,L ;\n j E ;\n L: sw x5,0(x10) ;\n ret ;\n E: li x6,2 ;\nforall (x=1 /\\ 0:x6=2)";
    let test = Test::read(call).unwrap();
    let by_axioms = axiomatic::outcomes(&test, Model::Rvwmo, Limits::default()).unwrap();
    assert_eq!((by_axioms.cut, by_axioms.holds(&test)), (false, Some(true)));
}

#[test]
fn what_no_model_speaks_of_is_named_in_assembly() {
    let refusal = one_store("x=0", "csrr x5,mhartid", "x=0").unwrap_err();
    assert_eq!(refusal, "no memory model covers `csrr t0,mhartid`");
}
