//! Restart of a component, as by an administrator. Stored data is kept.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::launch::{Launch, Started};
use crate::up::Cluster;

/// The time that a component has to end after SIGTERM. kube-apiserver finishes the requests in progress.
const ASKED: Duration = Duration::from_secs(30);
/// The interval of checks for the end of a process.
const LOOK: Duration = Duration::from_millis(20);

/// The way in which a component ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// After SIGTERM, with all requests in progress finished.
    Asked,
    /// After SIGKILL, because it did not end in time.
    Killed,
}

impl Cluster {
    /// Ends a component, and starts it again with the same flags, the same port, and the stored data. Returns
    /// when the whole cluster is ready.
    ///
    /// # Errors
    ///
    /// There is no such component, it cannot be started, or the cluster is not ready in time.
    pub async fn restart(&mut self, component: &str, within: Duration) -> Result<Ended, Error> {
        let place = self.state.components.iter().position(|it| it.name == component);
        let Some((place, started)) = place.and_then(|it| Some((it, self.children.get_mut(it)?))) else {
            return Err(Error::Internal(format!("this process has started no {component}")));
        };
        let ended = end(started).await;
        *started = started.again(&self.folder, component)?;
        self.state.components[place].process = started.process();
        self.state.write(&self.folder)?;
        self.well(within).await?;
        Ok(ended)
    }

    /// Waits until all components are ready.
    async fn well(&mut self, within: Duration) -> Result<(), Error> {
        let endpoints: Vec<_> = self.state.components.iter().filter_map(|it| it.health.clone()).collect();
        let (folder, end) = (&*self.folder, Instant::now() + within);
        let mut launch = Launch { folder, state: &mut self.state, children: &mut self.children, end, within };
        for endpoint in &endpoints {
            launch.until(endpoint).await?;
        }
        Ok(())
    }
}

async fn end(started: &mut Started) -> Ended {
    started.process().signal(Signal::TERM);
    let end = Instant::now() + ASKED;
    while matches!(started.child.try_wait(), Ok(None)) {
        if Instant::now() >= end {
            // The process may have ended by itself.
            let _ = started.child.kill();
            let _ = started.child.wait();
            return Ended::Killed;
        }
        sleep(LOOK).await;
    }
    Ended::Asked
}
