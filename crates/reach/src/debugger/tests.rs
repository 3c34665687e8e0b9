//! The protocol, held against a peer that says what it is told to say.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(600);

/// What a peer answers to the packets of [`Debugger::new`].
const GREETING: [(&str, &[&str]); 3] = [
    (
        "qSupported:multiprocess+;vContSupported+",
        &["PacketSize=1000;qXfer:features:read+;vContSupported+;multiprocess+"],
    ),
    ("vCont?", &["vCont;c;C;s;S"]),
    ("qXfer:features:read:target.xml:0,ffb", &["l<target/>"]),
];

/// Bytes until a whole packet has come, and its payload. `None` at the end of the stream.
fn packet_from(stream: &mut UnixStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        match packet::received(&bytes) {
            Received::Packet(payload, _) => return Some(String::from_utf8(payload).unwrap()),
            Received::Acknowledged => {
                bytes.remove(0);
            }
            Received::Broken(_) if bytes == [3] => return Some("^C".to_owned()),
            Received::Part => {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap() == 0 {
                    return None;
                }
                bytes.push(byte[0]);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Has `use_it` speak to a peer that expects these packets in this order, and answers each with these.
fn with_peer<T>(script: &[(&str, &[&str])], use_it: impl FnOnce(Result<Debugger, Trouble>) -> T) -> T {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            for (expected, answers) in script {
                assert_eq!(packet_from(&mut theirs).as_deref(), Some(*expected));
                theirs.write_all(b"+").unwrap();
                for answer in *answers {
                    theirs.write_all(&packet::framed(answer.as_bytes())).unwrap();
                }
            }
            // Whoever closes a socket that has something for him resets it.
            let _ = packet_from(&mut theirs);
        });
        use_it(Debugger::new(ours, Instant::now() + LONG))
    })
}

/// After the greeting.
fn greeted<T>(script: &[(&str, &[&str])], use_it: impl FnOnce(&mut Debugger) -> T) -> T {
    let script = [&GREETING, script].concat();
    with_peer(&script, |debugger| use_it(&mut debugger.unwrap()))
}

#[test]
fn questions_and_answers_are_as_the_protocol_has_them() {
    greeted(
        &[
            ("Hgp1.2", &["OK"]),
            ("p20", &["0010000000000000"]),
            ("pa", &["ffffffffffffffff"]),
            ("vCont;s:p1.2", &["T05thread:p01.02;"]),
            ("P20=0000008000000000", &["OK"]),
            ("m80001000,4", &["01020304"]),
            ("m1,8", &["E14"]),
            ("M80001000,2:cdab", &["OK"]),
            ("m80001000,2", &["cdab"]),
            ("M0,8:0100000000000000", &["E14"]),
            ("M10,1:01", &["OK"]),
            // A place that takes a write and does not keep it.
            ("m10,1", &["00"]),
            ("Z0,8000004c,2", &["OK"]),
            ("z0,8000004c,2", &["OK"]),
            ("qRcmd,7175697420", &["O372e", "O320a", "OK"]),
        ],
        |debugger| {
            assert_eq!(debugger.pc(1), Ok(0x1000));
            assert_eq!(debugger.register(1, 10), Ok(u64::MAX));
            assert_eq!(debugger.step(1), Ok(()));
            assert_eq!(debugger.set_pc(1, 0x8000_0000), Ok(()));
            assert_eq!(debugger.memory(0x8000_1000, 4), Ok(Some(0x0403_0201)));
            assert_eq!(debugger.memory(1, 8), Ok(None));
            assert_eq!(debugger.set_memory(0x8000_1000, 2, 0x9999_abcd), Ok(true));
            assert_eq!(debugger.set_memory(0, 8, 1), Ok(false));
            assert_eq!(debugger.set_memory(16, 1, 1), Ok(false));
            assert_eq!(debugger.set_breakpoint(0x8000_004c), Ok(()));
            assert_eq!(debugger.clear_breakpoint(0x8000_004c), Ok(()));
            assert_eq!(debugger.monitor("quit "), Ok("7.2\n".to_owned()));
        },
    );
}

#[test]
fn a_run_ends_at_a_breakpoint_or_when_its_time_is_over() {
    greeted(
        &[
            ("vCont;c:p1.1;c:p1.b", &["T05thread:p01.0b;"]),
            ("vCont;c:p1.1", &[]),
            ("^C", &["T02thread:p01.01;"]),
        ],
        |debugger| {
            assert_eq!(debugger.run(&[0, 10], LONG), Ok(Some(10)));
            assert_eq!(debugger.run(&[0], Duration::from_millis(1)), Ok(None));
        },
    );
}

#[test]
fn what_cannot_be_meant_is_said() {
    type Ask = fn(&mut Debugger) -> Result<(), Trouble>;
    let asks: [(&str, &str, Ask); 6] = [
        // Another hart stepped.
        ("vCont;s:p1.2", "T05thread:p01.01;", |it| it.step(1)),
        ("vCont;s:p1.2", "W00", |it| it.step(1)),
        ("vCont;c:p1.1", "X09", |it| it.run(&[0], LONG).map(|_| ())),
        ("m0,8", "0102", |it| it.memory(0, 8).map(|_| ())),
        ("Z0,0,2", "", |it| it.set_breakpoint(0)),
        ("qRcmd,78", "E22", |it| it.monitor("x").map(|_| ())),
    ];
    for (packet, answer, ask) in asks {
        let trouble = greeted(&[(packet, &[answer])], |debugger| ask(debugger).unwrap_err());
        assert!(
            matches!(&trouble, Trouble::Unexpected(what) if what.contains(answer)),
            "{packet}: {trouble}"
        );
    }
}

#[test]
fn a_peer_that_cannot_do_what_is_needed_is_refused() {
    let no_processes = [(GREETING[0].0, ["PacketSize=1000"].as_slice())];
    let no_steps = [GREETING[0], ("vCont?", ["vCont;c;C"].as_slice())];
    for script in [no_processes.as_slice(), &no_steps] {
        let refused = with_peer(script, |debugger| debugger.map(|_| ()));
        assert!(matches!(refused, Err(Trouble::Unexpected(_))), "{refused:?}");
    }
}

#[test]
fn a_peer_that_is_gone_or_says_nothing_keeps_nobody() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    assert_eq!(Debugger::new(ours, Instant::now() + LONG).map(|_| ()), Err(Trouble::Gone));
    // The end of all waiting comes although the other end is there.
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let late = Debugger::new(ours, Instant::now() + Duration::from_millis(1)).map(|_| ());
    assert!(matches!(late, Err(Trouble::Late(_))), "{late:?}");
}
