use super::export::Kind;
use super::*;
use tenbin_model::schema::Schema;
use tenbin_model::stacks::{Stack, Thread};

/// Two threads: 60 samples in `one` and 40 in `two`, a wait of 2 s in `main`, a queue, and what has no stack.
fn stacks() -> Stacks {
    let frame = |function: &str, module: &str, line: Option<u32>| Frame {
        function: function.into(),
        module: module.into(),
        source: line.map(|_| "spin.c".into()),
        line,
    };
    let sample = |at, thread, stack, state, time, count| Sample {
        at: Picoseconds::from_millis(at),
        thread,
        stack,
        state,
        time: Picoseconds::from_millis(time),
        count,
        waker: (state == State::Blocked).then(|| "an interrupt".into()),
    };
    let mut samples = Vec::new();
    for number in 0..100 {
        let stack = if number % 5 < 3 { 1 } else { 2 };
        samples.push(sample(number + 1, 0, Some(stack), State::OnCpu, 1, 1));
    }
    samples.push(sample(2100, 0, Some(4), State::Blocked, 2000, 1));
    samples.push(sample(2103, 0, Some(4), State::Queued, 3, 1));
    samples.push(sample(50, 1, None, State::OnCpu, 10, 10));
    let thread = |thread| Thread { process: 7, thread, name: "spin".into() };
    Stacks {
        schema: Schema::new(),
        command: vec!["./spin".into()],
        wall: Picoseconds::from_millis(2103),
        period: Picoseconds::from_millis(1),
        frames: vec![
            frame("main", "/tmp/spin", Some(20)),
            frame("one", "/tmp/spin", Some(5)),
            frame("two", "/tmp/spin", Some(9)),
            frame("__x64_sys_clock_nanosleep", Frame::KERNEL, None),
        ],
        stacks: [(None, 0), (Some(0), 1), (Some(0), 2), (Some(0), 0), (Some(0), 3)]
            .map(|(parent, frame)| Stack { parent, frame })
            .into(),
        threads: vec![thread(7), thread(8)],
        samples,
        ..Stacks::default()
    }
}

#[test]
fn the_answer_names_the_hottest_function_and_the_longest_wait() {
    let text = document(&stacks()).text(110);
    insta::assert_snapshot!(text, @"
    Of 110 samples on a CPU, 54.5 % (44.8 % to 64.1 %) in `one (spin.c:5)`, 36.4 % (27.4 % to 46.1 %) in `two
    (spin.c:9)`. `./spin` took 2.10 s, its 2 threads together: 110 ms on a CPU, 3.00 ms queued for one, 2.00 s
    blocked.

      on a CPU in     samples  itself  with what it called  of
      one (spin.c:5)       60  54.5 %               54.5 %  spin
      two (spin.c:9)       40  36.4 %               36.4 %  spin
      main                  0     0 %               90.9 %  spin

      blocked in       from  times  blocked  share  woken most by
      clock_nanosleep  main      1   2.00 s  100 %  an interrupt
    ");
}

#[test]
fn stacks_without_frame_pointers_are_named_as_such() {
    let mut stacks = stacks();
    assert_eq!(shallow(&stacks), None);
    stacks.frames[0].function = "walked_no_further".into();
    assert!(shallow(&stacks).unwrap().starts_with("100 of 100 stacks"));
}

#[test]
fn places_that_lead_nowhere_are_refused() {
    assert_eq!(stacks().check(), Ok(()));
    let mut circle = stacks();
    circle.stacks[0].parent = Some(1);
    assert!(circle.check().is_err());
    let mut lost = stacks();
    lost.samples[0].thread = 2;
    assert!(lost.check().is_err());
}

#[test]
fn folded_stacks_sum_to_the_times() {
    let folded = String::from_utf8(Kind::Folded.written(&stacks())).unwrap();
    assert_eq!(
        folded,
        "spin;[unknown] 10000000\n\
         spin;main;__x64_sys_clock_nanosleep_[k];[blocked] 2000000000\n\
         spin;main;__x64_sys_clock_nanosleep_[k];[queued] 3000000\n\
         spin;main;one 60000000\n\
         spin;main;two 40000000\n"
    );
}

#[test]
fn tables_of_the_firefox_profiler_have_their_lengths() {
    let profile: serde_json::Value = serde_json::from_slice(&Kind::Firefox.written(&stacks())).unwrap();
    for thread in profile["threads"].as_array().unwrap() {
        for table in ["frameTable", "funcTable", "stackTable", "samples", "resourceTable"] {
            let table = thread[table].as_object().unwrap();
            let length = table["length"].as_u64().unwrap() as usize;
            for (name, column) in table.iter().filter(|(_, column)| column.is_array()) {
                assert_eq!(column.as_array().unwrap().len(), length, "{name}");
            }
        }
    }
    let weights = profile["threads"][0]["samples"]["weight"].as_array().unwrap();
    assert_eq!(weights.iter().map(|weight| weight.as_f64().unwrap()).sum::<f64>(), 2103.0);
}

#[test]
fn a_kind_that_is_none_is_refused_by_name() {
    assert_eq!("pprof".parse(), Ok(Kind::Pprof));
    let refusal = "svg".parse::<Kind>().unwrap_err();
    assert_eq!(refusal, "`svg` is no kind of file here; use folded, speedscope, pprof, firefox or perfetto");
}

#[test]
fn code_of_a_file_without_names_is_one_row() {
    let mut stacks = stacks();
    for (frame, place) in stacks.frames[1..3].iter_mut().zip(["spin+0x1149", "spin+0x1160"]) {
        frame.function = place.into();
    }
    let sums = Sums::of(&stacks);
    assert_eq!((sums.functions[0].name().as_str(), sums.functions[0].own), ("spin (no name)", 100));
    let text = document(&stacks).text(200);
    assert!(text.contains("`spin` has no names for") && text.contains("it was stripped"), "{text}");
    // A name that begins as its file's does is a name.
    stacks.frames[1].function = "spinning".into();
    assert_eq!(Sums::of(&stacks).functions[0].name(), "spinning (spin.c:5)");
}
