//! The memory of this process, as `/proc` reports it.

/// The bytes that this process uses now; `None` on a system without `/proc`.
pub fn used() -> Option<u64> {
    status_line("VmRSS:")
}

/// The most bytes that this process has used so far; `None` on a system without `/proc`.
pub fn peak() -> Option<u64> {
    status_line("VmHWM:")
}

/// The bytes that this process can use without swapping, and without being killed for its control group's limit; `None`
/// on a system without `/proc`.
pub fn available() -> Option<u64> {
    let free = line_of("/proc/meminfo", "MemAvailable:")?;
    let limit =
        std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|it| it.trim().parse().ok());
    Some(limit.map_or(free, |limit| free.min(limit)))
}

/// The limit of `--max-memory`: the given one, or three quarters of what is available now. `None` for no limit, on a
/// system without `/proc`.
pub fn limit(given: Option<u64>) -> Option<u64> {
    given.or_else(|| available().map(|bytes| bytes / 4 * 3))
}

/// A sentence about a limit that was reached.
pub fn reached(most: u64) -> String {
    format!("the limit of {} MB of memory was reached", most / 1_000_000)
}

/// Returns `true` if this process uses more than a limit.
pub fn is_above(most: Option<u64>) -> bool {
    most.is_some_and(|most| used().is_some_and(|used| used > most))
}

fn status_line(name: &str) -> Option<u64> {
    line_of("/proc/self/status", name)
}

fn line_of(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
