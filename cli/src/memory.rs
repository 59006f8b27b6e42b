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

/// The thing that is made of traces once they are judged. It needs memory, too, which reading them must leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Records, each written as soon as it is read.
    Records,
    /// A report for people.
    Text,
    /// A report for programs, which is put together before it is printed.
    Document,
    /// A page, with the steps of the Jobs.
    Page,
}

/// The most that a step of a page needs while the page is made.
const BYTES_OF_A_STEP: u64 = 12_000;

impl Output {
    /// The part of the memory, in percent, that reading may use.
    pub fn percent_of_reading(self) -> u64 {
        match self {
            Output::Records => 100,
            Output::Text => 80,
            Output::Document => 60,
            Output::Page => 40,
        }
    }

    /// The steps of a page for which there is room.
    pub fn steps(most: Option<u64>, wanted: usize) -> usize {
        let left = |most: u64| most / 100 * (100 - Output::Page.percent_of_reading());
        let room = most.map_or(u64::MAX, |most| (left(most) / BYTES_OF_A_STEP).max(100));
        wanted.min(usize::try_from(room).unwrap_or(usize::MAX))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_steps_that_fit() {
        assert_eq!(Output::steps(None, 20_000), 20_000);
        assert_eq!(Output::steps(Some(4_000_000_000), 20_000), 20_000);
        assert_eq!(Output::steps(Some(100_000_000), 20_000), 5_000);
        assert_eq!(Output::steps(Some(1), 20_000), 100);
    }
}
