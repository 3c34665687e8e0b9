use super::{Quantifier, Test};
use crate::isa::{Instruction, Width};

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
    assert_eq!((test.name.as_str(), test.information("Orig")), ("A+B", Some("a=b")));
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
        (format!("RISCV t\n(* {body}"), 2, "never closed"),
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
fn conditions_that_stand_too_deep_in_each_other_are_an_error_and_no_crash() {
    let read =
        |condition: &str| Test::read(&format!("RISCV deep\n{{ x=1; }}\n P0 ;\n nop ;\nexists {condition}"));
    for (before, after) in [("(", ")"), ("~", ""), ("x=1 => ", "")] {
        let deep = |depth: usize| format!("{}x=1{}", before.repeat(depth), after.repeat(depth));
        assert!(read(&deep(100)).is_ok(), "{before}");
        let error = read(&deep(100_000)).unwrap_err();
        assert!(error.line == 5 && error.reason.contains("100 deep"), "{error}");
    }
}
