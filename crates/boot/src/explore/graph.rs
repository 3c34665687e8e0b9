//! Strongly connected parts of a graph of states.
//!
//! Source: R. Tarjan, Depth-First Search and Linear Graph Algorithms, SIAM Journal on Computing 1(2), 1972,
//! without recursion.

/// Calls `part` with each strongly connected part of the graph of `count` nodes, those that can be reached
/// from a part before it. `edges(node, index)` is the node's successor of that number; `None` behind the last
/// one.
pub(super) fn parts(count: u32, edges: impl Fn(u32, usize) -> Option<u32>, mut part: impl FnMut(&[u32])) {
    const NEW: u32 = u32::MAX;
    const DONE: u32 = u32::MAX - 1;
    let size = count as usize;
    // The number of a node's first visit; and the least of those that it can get back to.
    let mut number = vec![NEW; size];
    let mut least = vec![0_u32; size];
    let mut open: Vec<u32> = Vec::new();
    let mut way: Vec<(u32, usize)> = Vec::new();
    let mut visits = 0;
    for root in 0..count {
        if number[root as usize] != NEW {
            continue;
        }
        way.push((root, 0));
        while let Some((node, index)) = way.pop() {
            let at = node as usize;
            if index == 0 {
                number[at] = visits;
                least[at] = visits;
                visits += 1;
                open.push(node);
            }
            if let Some(next) = edges(node, index) {
                way.push((node, index + 1));
                match number[next as usize] {
                    NEW => way.push((next, 0)),
                    DONE => {}
                    earlier => least[at] = least[at].min(earlier),
                }
                continue;
            }
            if least[at] == number[at] {
                let from = open.iter().rposition(|&each| each == node).unwrap_or(0);
                part(&open[from..]);
                for &each in &open[from..] {
                    number[each as usize] = DONE;
                }
                open.truncate(from);
            }
            if let Some(&(parent, _)) = way.last()
                && number[at] != DONE
            {
                least[parent as usize] = least[parent as usize].min(least[at]);
            }
        }
    }
}
