//! The result and the cost of one search.

/// The result and the cost of one search.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of different states.
    pub states: u64,
    /// The number of steps, including those to known states.
    pub steps: u64,
    /// The number of steps to the farthest state.
    pub depth: u64,
    /// The seconds from the start of the process to the start of the search.
    pub start: f64,
    /// The seconds of the search.
    pub seconds: f64,
    /// The bytes of memory that represent states.
    pub bytes: u64,
    /// The peak memory of the process in bytes. `None` if the system has no `/proc`.
    pub peak: Option<u64>,
    /// The maximum of bytes on disk.
    pub disk: u64,
}

impl Measured {
    /// The columns of the table.
    pub fn row(&self, base: &Measured) -> String {
        let megabytes = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
        format!(
            "{:>8} {:>8} {:>6.1} {:>8.2} {:>8.0} {:>6.1} {:>7} {:>8} {:>7}",
            self.states,
            self.steps,
            self.start,
            self.seconds,
            self.states as f64 / self.seconds,
            base.seconds / self.seconds,
            self.bytes / self.states.max(1),
            self.peak.map_or("-".to_owned(), megabytes),
            megabytes(self.disk),
        )
    }
}

/// The run with the median of the seconds.
///
/// # Panics
///
/// There is no run.
pub fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let middle = runs.len() / 2;
    runs.swap_remove(middle)
}
