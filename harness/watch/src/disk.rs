//! The size that the folder of a service may have by default.

use std::fs;
use std::path::Path;

/// The most bytes that the folder uses by default, however large the disk is.
const MOST: u64 = 8_000_000_000;

/// The bytes that the folder of a service may use by default. These are three quarters of what is free on its disk, or belongs
/// to it already, but at most 8 GB. So a restart changes nothing.
#[must_use]
pub fn room_for(folder: &Path) -> u64 {
    let there = folder.ancestors().find(|path| path.is_dir()).unwrap_or_else(|| Path::new("."));
    let free = rustix::fs::statvfs(there).map_or(MOST, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let own: u64 = ["jobs", "pods", "violations"].map(|name| size_of(&folder.join(name))).iter().sum();
    (free.saturating_add(own) / 4 * 3).min(MOST)
}

/// The size of the files in a folder; 0 if it cannot be read.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_exist_has_room() {
        let folder = tempfile::tempdir().unwrap();
        let room = room_for(&folder.path().join("not/there"));
        assert!(room > 0 && room <= MOST, "{room}");
        fs::create_dir(folder.path().join("jobs")).unwrap();
        fs::write(folder.path().join("jobs/a.jsonl"), "12345").unwrap();
        assert_eq!(size_of(&folder.path().join("jobs")), 5);
    }
}
