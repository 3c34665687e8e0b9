//! What a process has freed is not copied with its children: alone in its process, so that nobody else
//! allocates.

use tenbin_metal::spawn::{Spawner, footprint};

#[test]
fn a_spawner_gives_back_what_was_freed() {
    const PIECES: usize = 16_384;
    let resident = || footprint(std::process::id()).unwrap().resident.0;
    let mut pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| vec![1; 4096]).collect();
    // The last one stays, and holds up the end of the heap; what lies before it is freed and kept.
    let last = pieces.pop();
    drop(pieces);
    let kept = resident();
    let spawner = Spawner::new().unwrap();
    let left = resident();
    let freed = (PIECES * 4096) as u64;
    assert!(kept - left > freed / 2, "{kept} B were resident and {left} B are");
    drop((last, spawner));
}
