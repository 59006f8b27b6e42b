//! The bound on the size of a scenario that is run step by step.

use crate::Scenario;
use crate::read::ScenarioError;

/// The maximum of `completions` and `parallelism`. The longest recordings of the library have some hundred pods.
const MOST_PODS: i32 = 2_000;

impl Scenario {
    /// Checks that no Job is too large for a run that keeps every pod and request in memory.
    ///
    /// # Errors
    ///
    /// A Job, or an edit of one, asks for too many completions or pods at once.
    pub fn check_size(&self) -> Result<(), ScenarioError> {
        let large = |wanted: Option<i32>| wanted.is_some_and(|wanted| wanted > MOST_PODS);
        let jobs = self.jobs.iter().map(|job| {
            let spec = &job.spec.value;
            (job.spec.referenced, [spec.parallelism, spec.completions])
        });
        let edits = self.steps.iter().filter_map(|step| {
            let edit = step.value.edit.as_ref()?;
            Some((step.referenced, [edit.parallelism, edit.completions]))
        });
        match jobs.chain(edits).find(|(_, wanted)| wanted.iter().any(|it| large(*it))) {
            Some((place, _)) => {
                let message =
                    format!("too large to be run: at most {MOST_PODS} completions and pods at once");
                Err(ScenarioError::at(place, message))
            }
            None => Ok(()),
        }
    }
}
