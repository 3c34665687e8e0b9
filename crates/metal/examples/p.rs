use std::process::Command; use std::time::Duration;
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let t = std::time::Instant::now();
    let mut p = tenbin_metal::profiler::Profiler::attach().unwrap();
    eprintln!("attached in {:?} {:?}", t.elapsed(), p.no_faults);
    let mut c = Command::new(&words[0]); c.args(&words[1..]);
    let (end, o) = p.run(c, Duration::from_secs(600)).unwrap();
    let ms = |n: u64| n as f64 / 1e6;
    eprintln!("{end:?} wall {} run {:?} queued {} began {} lost {} switches {}", ms(o.wall), o.running.iter().take(4).map(|n| ms(*n)).collect::<Vec<_>>(), ms(o.queued), o.began, o.lost, o.switches);
    let sum = o.running.iter().sum::<u64>() + o.queued + o.stood.iter().map(|s| s.1).sum::<u64>();
    eprintln!("course sums to {} of {}; stood {:?}", ms(sum), ms(o.wall), o.stood.iter().map(|s| (s.0, ms(s.1))).collect::<Vec<_>>());
    let mut rows = o.rows.clone(); rows.sort_by_key(|r| std::cmp::Reverse(r.spent.total()));
    for r in rows.iter().take(14) { eprintln!("{:?} n {} err {} on {:.3} q {:.3} b {:.3} max {:.3} fl {} {:?}", r.doing, r.count, r.errors, ms(r.spent.on_cpu), ms(r.spent.queued), ms(r.spent.blocked), ms(r.longest), r.in_flight, r.wakers.iter().take(3).collect::<Vec<_>>()); }
    for t in o.threads.iter().take(6) { let s = t.user+t.kernel+t.faults+t.interrupts+t.queued+t.blocked; eprintln!("{} {} {} wall {:.3} sum {:.3} user {:.3} kernel {:.3} faults {:.3} irq {:.3} q {:.3} b {:.3}", t.process, t.thread, t.name, ms(t.wall), ms(s), ms(t.user), ms(t.kernel), ms(t.faults), ms(t.interrupts), ms(t.queued), ms(t.blocked)); }
}
