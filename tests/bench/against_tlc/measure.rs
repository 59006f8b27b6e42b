//! What one search took.

/// What one search found, and what it took.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Different states.
    pub states: u64,
    /// Steps that led to them, to known ones too.
    pub steps: u64,
    /// Steps to the farthest state.
    pub depth: u64,
    /// Seconds from the start of the process to that of the search.
    pub start: f64,
    /// Seconds of the search.
    pub seconds: f64,
    /// Bytes in memory that hold what is known of the states.
    pub bytes: u64,
    /// The most bytes of memory that the process had; `None` where the system does not say.
    pub peak: Option<u64>,
    /// The most bytes that it had on disk.
    pub disk: u64,
}

impl Measured {
    /// Its figures, as the table has them.
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

/// The one whose search took the middle time.
///
/// # Panics
///
/// If there is none.
pub fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let middle = runs.len() / 2;
    runs.swap_remove(middle)
}

/// The most memory that a process had, in bytes, where the system says so; `self` is this process.
pub fn peak_memory(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
