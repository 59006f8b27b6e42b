//! The clusters of this machine, and their health.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::health;
use crate::home::Home;
use crate::kubeconfig;
use crate::name::Name;
use crate::state::{Component, State};

/// The status of a cluster.
#[derive(Clone, Debug)]
pub struct Status {
    /// The name.
    pub name: Name,
    /// The health of the cluster.
    pub health: Health,
    /// The stored state. `None` if it cannot be read.
    pub state: Option<State>,
    /// The health of its components, in the order of [`State::components`].
    pub components: Vec<Health>,
    /// The folder.
    pub folder: PathBuf,
    /// The kubeconfig file.
    pub kubeconfig: PathBuf,
}

/// The health of a cluster or a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Its health check succeeds.
    Ready,
    /// Its process runs, but it is not ready or does not respond. The text is the reason.
    NotReady(String),
    /// Another process is starting it.
    Starting,
    /// Its process has ended.
    Gone,
}

impl Health {
    /// The word for tables and JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Health::Ready => "ready",
            Health::NotReady(_) => "not ready",
            Health::Starting => "starting",
            Health::Gone => "gone",
        }
    }
}

/// The status of all clusters, sorted by name. Changes nothing.
///
/// # Errors
/// The folder cannot be read.
pub async fn all(home: &Home) -> Result<Vec<Status>, Error> {
    let mut found = Vec::new();
    for name in home.names()? {
        found.extend(one(home, &name).await);
    }
    Ok(found)
}

/// The status of a cluster. `None` if there is none of this name.
pub async fn one(home: &Home, name: &Name) -> Option<Status> {
    let folder = home.cluster(name);
    if !folder.exists() {
        return None;
    }
    let state = State::read(&folder);
    let components = match &state {
        Some(state) => components(&folder, state).await,
        None => Vec::new(),
    };
    let health = match &state {
        Some(state) => whole(state, &components),
        None => Health::NotReady("its state cannot be read".to_owned()),
    };
    let kubeconfig = kubeconfig::path(&folder);
    Some(Status { name: name.clone(), health, state, components, folder, kubeconfig })
}

async fn components(folder: &Path, state: &State) -> Vec<Health> {
    let mut found = Vec::new();
    for component in &state.components {
        found.push(of_component(folder, state, component).await);
    }
    found
}

async fn of_component(folder: &Path, state: &State, component: &Component) -> Health {
    if !state.runs(component) {
        return Health::Gone;
    }
    match &component.health {
        None => Health::Starting,
        Some(endpoint) => {
            health::ask(folder, endpoint).await.map_or_else(Health::NotReady, |()| Health::Ready)
        }
    }
}

fn whole(state: &State, components: &[Health]) -> Health {
    let owned = state.owner.is_some();
    if owned && state.living_owner().is_none() {
        return Health::Gone;
    }
    if owned && !state.ready {
        return Health::Starting;
    }
    if components.iter().all(|it| *it == Health::Gone) {
        return Health::Gone;
    }
    let ill = components.iter().zip(&state.components).find(|(health, _)| **health != Health::Ready);
    ill.map_or(Health::Ready, |(health, it)| Health::NotReady(format!("{} is {}", it.name, health.word())))
}
