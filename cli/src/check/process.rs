//! What the operating system says of this process.

/// The bytes of memory that this process uses now; `None` where there is no `/proc`.
pub fn memory() -> Option<u64> {
    line_of_status("VmRSS:")
}

/// The most bytes of memory that this process has used.
pub fn peak_memory() -> Option<u64> {
    line_of_status("VmHWM:")
}

fn line_of_status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
