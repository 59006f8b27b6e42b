//! The memory of this process, as `/proc` reports it.

/// The bytes that this process uses now; `None` on a system without `/proc`.
pub fn used() -> Option<u64> {
    status_line("VmRSS:")
}

/// The most bytes that this process has used so far; `None` on a system without `/proc`.
pub fn peak() -> Option<u64> {
    status_line("VmHWM:")
}

fn status_line(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
