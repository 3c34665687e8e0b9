use super::*;
use crate::rehearsal::{refused, usage};

fn question(commands: &[&str]) -> Question {
    Question { commands: commands.iter().map(|&command| command.into()).collect(), ..Question::default() }
}

fn names(weighing: &Weighing) -> Vec<&str> {
    let measured = weighing.descriptor.variants.iter().filter(|variant| variant.name != FAILING);
    measured.map(|variant| variant.name.as_str()).collect()
}

/// The pairs that are weighed, by their places.
fn pairs(weighing: &Weighing) -> Vec<(u32, u32)> {
    weighing.arrangement.comparisons.iter().map(|pair| (pair.left.0, pair.right.0)).collect()
}

#[test]
fn four_commands_make_all_pairs_and_more_go_against_the_first() {
    let read = |count: usize| question(&vec!["true"; count]).read().unwrap();
    assert_eq!(pairs(&read(2)), [(0, 1)]);
    assert_eq!(pairs(&read(3)), [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(pairs(&read(5)), [(0, 1), (0, 2), (0, 3), (0, 4)]);
    assert_eq!(names(&read(2)), ["true (1)", "true (2)"]);
}

#[test]
fn a_reference_is_one_command_that_all_are_weighed_against() {
    let lists = vec![("n".to_owned(), "1,2,3".to_owned())];
    let asked = Question {
        reference: Some("sleep 0".into()),
        reference_name: Some("nothing".into()),
        parameters: Parameters { lists, ..Parameters::default() },
        ..question(&["sleep {n}"])
    };
    let weighing = asked.read().unwrap();
    assert_eq!(names(&weighing), ["nothing", "sleep 1", "sleep 2", "sleep 3"]);
    assert_eq!(pairs(&weighing), [(0, 1), (0, 2), (0, 3)]);
}

#[test]
fn what_commands_are_weighed_above_is_run_and_not_compared() {
    // A list with one for each command has none for it.
    let prepare = vec!["true".into(), "false".into()];
    let asked = Question { above: Some("sleep 0".into()), prepare, ..question(&["sleep 1", "sleep 2"]) };
    let weighing = asked.read().unwrap();
    assert_eq!(names(&weighing), ["sleep 1", "sleep 2", "sleep 0"]);
    assert_eq!(pairs(&weighing), [(0, 1)]);
    assert_eq!(above::below(&weighing.descriptor, &weighing.arrangement), Some(VariantIndex(2)));
}

#[test]
fn two_commands_with_a_parameter_are_weighed_value_by_value() {
    let scan = Some(["n", "1", "3"].map(String::from));
    let parameters = Parameters { scan, ..Parameters::default() };
    let asked = Question { parameters, ..question(&["sleep 0.{n}", "sleep 0.2"]) };
    let weighing = asked.read().unwrap();
    assert_eq!(
        names(&weighing),
        [
            "sleep 0.1",
            "sleep 0.2 (n = 1)",
            "sleep 0.2",
            "sleep 0.2 (n = 2)",
            "sleep 0.3",
            "sleep 0.2 (n = 3)"
        ]
    );
    assert_eq!(pairs(&weighing), [(0, 1), (2, 3), (4, 5)]);
    assert_eq!(weighing.descriptor.variants[2].parameters, [("n".to_owned(), "2".to_owned())]);
}

#[test]
fn runs_are_blocks_and_above_another_command_two_runs_are_one() {
    let blocks = |least_runs, most_runs, above: Option<&str>| {
        let above = above.map(String::from);
        let asked = Question { least_runs, most_runs, above, ..question(&["true", "true"]) };
        let arrangement = asked.read().unwrap().arrangement;
        (arrangement.least_blocks, arrangement.most_blocks, arrangement.half_block)
    };
    assert_eq!(blocks(None, None, None), (0, Arrangement::UNBOUNDED_BLOCKS, false));
    assert_eq!(blocks(Some(5), Some(5), None), (5, 5, false));
    assert_eq!(blocks(Some(10), Some(100), None), (10, 100, false));
    assert_eq!(blocks(Some(5), Some(5), Some("true")), (3, 3, true));
    assert_eq!(blocks(Some(10), Some(100), Some("true")), (5, 50, false));
}

#[test]
fn a_shell_reads_all_commands_or_none() {
    let start = |asked: Question| asked.read().unwrap().descriptor.parameters[0].default.clone();
    assert!(start(question(&["true", "sleep 0"])).contains("without a shell"));
    assert!(start(question(&["true", "true | true"])).contains("`sh -c`"));
    assert!(
        start(Question { shell: Shell::Never, ..question(&["true", "true '|'"]) })
            .contains("without a shell")
    );
}

#[test]
fn wrong_input_is_a_usage_error_that_names_the_word() {
    let three = || ["a", "b", "c"].map(String::from).to_vec();
    let two = || question(&["true", "true"]);
    let output = |path: &str| Question { outputs: vec![Output::File(path.into())], ..two() };
    for (asked, wrong) in [
        (question(&["true"]), "one command alone"),
        (question(&["true", "no-such-program"]), "`no-such-program`: command not found"),
        (question(&["true", "true 'a"]), "true 'a"),
        (question(&["true", ""]), "a command is empty"),
        (Question { prepare: three(), ..two() }, "--prepare"),
        (Question { outputs: vec![Output::Null; 3], ..two() }, "--output"),
        (Question { names: three(), ..two() }, "--command-name"),
        (Question { input: Some("/nowhere".into()), ..two() }, "--input /nowhere"),
        (output("/proc/no/file"), "--output /proc/no/file: there is no such folder"),
        (output("/proc/nothing"), "--output /proc/nothing: "),
        (Question { least_runs: Some(3), most_runs: Some(2), ..two() }, "--min-runs 3"),
    ] {
        let message = usage(asked.read().map(drop));
        assert!(message.contains(wrong), "{wrong}: {message}");
    }
    assert!(matches!(Output::named("elsewhere"), Err(Unfit::Usage(_))));
    assert_eq!(Output::named("./elsewhere").unwrap(), Output::File("./elsewhere".into()));
}

#[test]
fn a_command_that_only_some_of_its_places_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| Place { name: name.into(), folder: folder.path().join(name) };
    for name in ["one", "other"] {
        fs::create_dir(place(name).folder).unwrap();
    }
    let asked = Question { places: vec![place("one"), place("other")], ..question(&["./bench", "./bench"]) };
    assert!(usage(asked.read().map(drop)).contains("command not found"));
    std::os::unix::fs::symlink("/bin/true", place("one").folder.join("bench")).unwrap();
    let reached = refused(asked.read().map(drop)).reached;
    assert!(reached.starts_with("at other, `./bench`: command not found"), "{reached}");
    std::os::unix::fs::symlink("/bin/true", place("other").folder.join("bench")).unwrap();
    assert_eq!(names(&asked.read().unwrap()), ["one", "other"]);
    // One that is nowhere is spelt wrongly, whatever else its parameter makes of it.
    let parameters = Parameters { lists: vec![("n".into(), "bench,bnech".into())], ..Parameters::default() };
    let places = vec![place("one"), place("other")];
    let asked = Question { parameters, places, ..question(&["./{n}", "./{n}"]) };
    assert!(usage(asked.read().map(drop)).contains("./bnech"));
    // Nothing is made by looking whether an output can be.
    let output = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("target"), &output).unwrap();
    let asked = Question { outputs: vec![Output::File(output.clone())], ..question(&["true", "true"]) };
    assert!(asked.read().is_ok() && output.is_symlink() && !output.exists());
}

#[test]
fn revisions_over_a_parameter_are_told_apart() {
    let place = |name: &str| Place { name: name.into(), folder: "/".into() };
    let parameters = Parameters { lists: vec![("n".into(), "1,2".into())], ..Parameters::default() };
    let asked = Question { parameters, ..question(&["true {n}", "true {n}"]) };
    let title = |asked: &Question, column: u64| {
        let descriptor = asked.read().unwrap().descriptor;
        descriptor.parameter(&analysis::typed(column)).unwrap().to_owned()
    };
    assert_eq!([title(&asked, 0), title(&asked, 1)], ["true {n} (1)", "true {n} (2)"]);
    let asked = Question { places: vec![place("v1"), place("v2")], ..asked };
    assert_eq!([title(&asked, 0), title(&asked, 1)], ["v1", "v2"]);
}
