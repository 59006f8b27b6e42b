//! Stopping clusters, and clearing what dead processes left.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::clear::{clear, living};
use crate::error::Error;
use crate::home::Home;
use crate::lock::Lock;
use crate::name::Name;
use crate::state::State;

/// How long the owner of a cluster may take to stop it when asked.
const OWNER: Duration = Duration::from_secs(20);
/// Time between two attempts to take a name.
const ATTEMPT: Duration = Duration::from_millis(50);

/// Stops a cluster, also one that another process starts or holds. Says whether there was one.
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

/// Takes the lock of a name, and asks whoever has it to end.
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

/// Ends what is left of clusters whose owner died, or of which no process runs any more, and returns their names.
///
/// # Errors
/// A process does not end, or a file cannot be read or removed.
pub fn sweep(home: &Home) -> Result<Vec<Name>, Error> {
    let mut swept = Vec::new();
    for name in home.names()? {
        // Who has the lock lives.
        let Some(_lock) = home.try_lock(&name)? else { continue };
        let folder = home.cluster(&name);
        // One that cannot be read may be another version's.
        let is_in_the_background = State::read(&folder).is_none_or(|state| state.owner.is_none());
        if folder.exists() && (!is_in_the_background || living(&folder).is_empty()) {
            clear(&folder)?;
            swept.push(name);
        }
    }
    Ok(swept)
}
