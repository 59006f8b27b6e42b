//! The limit of memory, in a process of its own: the peak of a process is that of all its threads.

use jobcheck_inputs::attempt::attempt;
use jobcheck_inputs::{Signs, Target, targets};

#[test]
fn a_hunger_for_memory_is_a_failure() {
    fn hungry(_: &[u8]) -> Result<Signs, String> {
        // Written, so that the pages are there.
        let all = vec![1_u8; 600 << 20];
        Ok([format!("{}", all.iter().step_by(4096).map(|it| u64::from(*it)).sum::<u64>())].into())
    }
    let target = Target { run: hungry, ..targets::planted() };
    assert!(attempt(&target, b"").unwrap_err().what.contains("bytes of memory"));
}
