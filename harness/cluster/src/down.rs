//! Stopping clusters, and removing clusters whose owner has died.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::clear::{clear, living};
use crate::error::Error;
use crate::home::Home;
use crate::lock::Lock;
use crate::name::Name;
use crate::state::State;

/// The time that the owner of a cluster has to stop it after SIGTERM.
const OWNER: Duration = Duration::from_secs(20);
/// The time between two attempts to lock a name.
const ATTEMPT: Duration = Duration::from_millis(50);

/// Stops a cluster, also one that another process starts or owns. Returns true if there was one.
///
/// # Errors
/// A process does not end, or a file cannot be removed.
pub fn down(home: &Home, name: &Name) -> Result<bool, Error> {
    let folder = home.cluster(name);
    let was_there = folder.exists();
    let _lock = wrest(home, name)?;
    clear(&folder)?;
    Ok(was_there)
}

/// Takes the lock of a name. Its owner is asked to end.
fn wrest(home: &Home, name: &Name) -> Result<Lock, Error> {
    let begun = Instant::now();
    let mut signals = [(Duration::ZERO, Signal::TERM), (OWNER, Signal::KILL)].into_iter().peekable();
    loop {
        if let Some(lock) = home.try_lock(name)? {
            return Ok(lock);
        }
        let owner = State::read(&home.cluster(name)).and_then(|state| state.living_owner());
        let owner = owner.filter(|it| it.pid != std::process::id());
        if let Some((_, signal)) = signals.next_if(|(after, _)| owner.is_some() && begun.elapsed() >= *after)
        {
            owner.into_iter().for_each(|it| it.signal(signal));
        }
        if begun.elapsed() > 2 * OWNER {
            return Err(Error::Busy { name: name.to_string(), owner: owner.map(|it| it.pid) });
        }
        std::thread::sleep(ATTEMPT);
    }
}

/// Removes the clusters whose owner has died, or of which no process runs. Returns their names.
///
/// # Errors
/// A process does not end, or a file cannot be read or removed.
pub fn sweep(home: &Home) -> Result<Vec<Name>, Error> {
    let mut swept = Vec::new();
    for name in home.names()? {
        // The owner of a lock is alive.
        let Some(_lock) = home.try_lock(&name)? else { continue };
        let folder = home.cluster(&name);
        // A state file that cannot be read may be of another version of this program.
        let is_in_the_background = State::read(&folder).is_none_or(|state| state.owner.is_none());
        if folder.exists() && (!is_in_the_background || living(&folder).is_empty()) {
            clear(&folder)?;
            swept.push(name);
        }
    }
    Ok(swept)
}
