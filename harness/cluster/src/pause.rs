//! Pauses components: the process keeps its memory and its connections, and does nothing until it is resumed.

use rustix::process::Signal;

use crate::error::Error;
use crate::home::Home;
use crate::name::Name;
use crate::process::Process;
use crate::state::State;

/// The work of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It is paused (SIGSTOP).
    Pause,
    /// It works again (SIGCONT).
    Resume,
}

/// Pauses or resumes a component of a cluster. Doing so twice changes nothing.
///
/// # Errors
///
/// There is no such cluster or component, or the component does not run.
pub fn set_work(home: &Home, name: &Name, component: &str, work: Work) -> Result<Process, Error> {
    let state = State::read(&home.cluster(name)).ok_or_else(|| Error::NoCluster(name.to_string()))?;
    let Some(found) = state.components.iter().find(|it| it.name == component) else {
        let known: Vec<&str> = state.components.iter().map(|it| &*it.name).collect();
        return Err(Error::NoComponent {
            name: name.to_string(),
            component: component.to_owned(),
            known: known.join(", "),
        });
    };
    if !state.runs(found) {
        return Err(Error::NotRunning(component.to_owned()));
    }
    found.process.signal(match work {
        Work::Pause => Signal::STOP,
        Work::Resume => Signal::CONT,
    });
    Ok(found.process)
}
