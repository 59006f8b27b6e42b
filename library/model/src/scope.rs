//! The bounds of a check.

use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::process::steps::Faults;
use jobcheck_explorer::scope::{Algorithm, Scope as Explored, Subject};
use jobcheck_explorer::scopes::{bounded, named};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::job::{CompletionMode, JobSpec, Template};

/// A small cluster in which everything that could grow has a bound: one Job, a few pods, caches that lag by one event.
///
/// ```
/// use jobcheck_model::Scope;
///
/// let scope = Scope::indexed(2).backoff_limit(1).faults(1);
/// assert_eq!(scope.name(), "indexed-2+backoff-1+faults-1");
/// ```
#[derive(Clone, Debug)]
pub struct Scope {
    name: String,
    pub(crate) explored: Explored,
}

impl Scope {
    /// A Job that needs this number of successes, with as many pods at a time.
    #[must_use]
    pub fn non_indexed(completions: u32) -> Scope {
        Scope::of(format!("non-indexed-{completions}"), many(completions))
    }

    /// An Indexed Job with this number of indexes, all of them at a time.
    #[must_use]
    pub fn indexed(completions: u32) -> Scope {
        let spec = JobSpec { completion_mode: Some(CompletionMode::Indexed), ..many(completions) };
        Scope::of(format!("indexed-{completions}"), spec)
    }

    /// The Job of this specification. The name identifies the scope in a replay.
    #[must_use]
    pub fn of(name: impl Into<String>, spec: JobSpec) -> Scope {
        let pods =
            spec.completions.or(spec.parallelism).map_or(1, |count| usize::try_from(count).unwrap_or(1));
        let explored = Explored { lag: 1, job_lag: 1, ..bounded(spec, pods + 1) };
        Scope { name: name.into(), explored }
    }

    /// The scope of `jobcheck check` with this name, such as `success-policy`; `None` if there is none.
    /// `jobcheck check --list` lists them.
    #[must_use]
    pub fn named(name: &str) -> Option<Scope> {
        let explored = Explored { lag: 1, job_lag: 1, ..named(name)? };
        Some(Scope { name: name.to_owned(), explored })
    }

    /// The scopes to begin with. They take seconds together.
    #[must_use]
    pub fn smoke() -> Vec<Scope> {
        vec![
            Scope::non_indexed(1).backoff_limit(1).faults(1),
            Scope::non_indexed(2).pod_is_deleted(),
            Scope::indexed(2).crashes(1),
            Scope::non_indexed(1).is_suspended_and_resumed(),
        ]
    }

    /// The name, which lists the bounds.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most pods that run at the same time.
    #[must_use]
    pub fn parallelism(self, pods: u32) -> Scope {
        self.spec(format!("parallelism-{pods}"), |spec| spec.parallelism = Some(int(pods)))
    }

    /// The failures that the Job survives. Each may add a pod.
    #[must_use]
    pub fn backoff_limit(self, failures: u32) -> Scope {
        let mut scope =
            self.spec(format!("backoff-{failures}"), |spec| spec.backoff_limit = Some(int(failures)));
        scope.explored.pods += failures as usize;
        scope
    }

    /// The scope after a change of the Job's specification, with a word for it.
    #[must_use]
    pub fn spec(mut self, word: impl AsRef<str>, change: impl FnOnce(&mut JobSpec)) -> Scope {
        change(&mut self.explored.jobs[0]);
        self.with(word.as_ref())
    }

    /// The largest number of pods that are created.
    #[must_use]
    pub fn pods(mut self, most: usize) -> Scope {
        self.explored.pods = most;
        self.with(&format!("pods-{most}"))
    }

    /// The number of events by which each cache may lag; 1 by default.
    #[must_use]
    pub fn lag(mut self, events: usize) -> Scope {
        (self.explored.lag, self.explored.job_lag) = (events, events);
        self.with(&format!("lag-{events}"))
    }

    /// The number of requests that may fail.
    #[must_use]
    pub fn failed_requests(mut self, most: u8) -> Scope {
        self.explored.faults.failures = most;
        self.with(&format!("failed-{most}"))
    }

    /// The number of responses that may be lost although the server has handled the request.
    #[must_use]
    pub fn lost_responses(mut self, most: u8) -> Scope {
        self.explored.faults.losses = most;
        self.with(&format!("lost-{most}"))
    }

    /// The number of times that the process may crash between two requests.
    #[must_use]
    pub fn crashes(mut self, most: u8) -> Scope {
        self.explored.faults.crashes = most;
        self.with(&format!("crashes-{most}"))
    }

    /// As many failed requests, and as many crashes.
    #[must_use]
    pub fn faults(mut self, most: u8) -> Scope {
        self.explored.faults = Faults { failures: most, crashes: most, ..self.explored.faults };
        self.with(&format!("faults-{most}"))
    }

    /// A user deletes a pod that has not terminated.
    #[must_use]
    pub fn pod_is_deleted(self) -> Scope {
        self.user("deleted-pod", &[UserAction::DeletePod])
    }

    /// A user suspends the Job, and resumes it.
    #[must_use]
    pub fn is_suspended_and_resumed(self) -> Scope {
        self.user("suspended", &[UserAction::SUSPEND, UserAction::RESUME])
    }

    /// A user deletes the Job before it has finished, in the background.
    #[must_use]
    pub fn job_is_deleted(self) -> Scope {
        self.user("deleted-job", &[UserAction::DeleteJob(Propagation::Background)])
    }

    /// The environment variable `JOBCHECK_SCOPE=wide` asks for more of everything.
    pub(crate) fn widened(mut self) -> Scope {
        let explored = &mut self.explored;
        explored.pods += 1;
        explored.lag += 1;
        explored.job_lag += 1;
        explored.faults.failures = explored.faults.failures.max(1);
        explored.faults.crashes = explored.faults.crashes.max(1);
        explored.delayed_requests = true;
        self.with("wide")
    }

    /// The scope with this algorithm, and with its name, as the explorer takes it.
    pub(crate) fn run_by(&self, algorithm: Algorithm) -> Explored {
        // Names of scopes are static in the explorer. A test has a handful of them.
        let name: &'static str = Box::leak(self.name.clone().into_boxed_str());
        let lazy_caches = true;
        let subject = Subject::Algorithm(Algorithm { lazy_caches, ..algorithm });
        Explored { name, subject, ..self.explored.clone() }
    }

    fn user(mut self, word: &str, actions: &[UserAction]) -> Scope {
        self.explored.user.extend_from_slice(actions);
        self.with(word)
    }

    fn with(mut self, word: &str) -> Scope {
        self.name = format!("{}+{word}", self.name);
        self
    }
}

/// A Job that fails with its first failed pod.
fn many(completions: u32) -> JobSpec {
    JobSpec {
        parallelism: Some(int(completions)),
        completions: Some(int(completions)),
        backoff_limit: Some(0),
        template: Template { container_names: vec!["main".into()], ..Template::default() },
        ..JobSpec::default()
    }
}

fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
