//! The resources that a process has used, from `/proc`.

use std::fs;
use std::io;

/// The clock ticks per second in `/proc/PID/stat`, which are the same on every Linux platform (`USER_HZ`).
const TICKS: f64 = 100.0;

/// The resources that a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// The CPU time in seconds.
    pub cpu: f64,
    /// The resident memory in kB.
    pub resident: u64,
    /// The maximum of the resident memory so far, in kB.
    pub peak: u64,
}

impl Usage {
    /// The usage of the process with this id.
    ///
    /// # Errors
    /// `/proc` has no such process: it has ended, or this is not Linux.
    pub fn of(pid: u32) -> io::Result<Usage> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        Ok(Usage::read(&stat, &status))
    }

    fn read(stat: &str, status: &str) -> Usage {
        // utime and stime are fields 14 and 15. The name before them may contain any character.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
        let memory = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        Usage { cpu: (ticks(11) + ticks(12)) / TICKS, resident: memory("VmRSS:"), peak: memory("VmHWM:") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_past_any_name() {
        let stat = "12 (a) R 1) S 1 12 12 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 1 0 4711 99 1";
        let status = "Name:\ta\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        assert_eq!(Usage::read(stat, status), Usage { cpu: 2.0, resident: 1024, peak: 2048 });
    }
}
