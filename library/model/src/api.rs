//! The API server as a sync sees it: requests and their responses.

use jobcheck_explorer::process::io::{Answer, Call, Effect, Io, Stop};
use jobcheck_explorer::process::read::Read;
use jobcheck_explorer::process::settings::Settings;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::JobStatus;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// Sends the requests of one sync.
///
/// Each method waits for the response, during which everything else in the cluster may go on. Pass its result on with
/// `?`. A request that fails ends the sync, which is then retried; [`Api::send`] leaves that to the sync.
pub struct Api<'a, 'r> {
    io: &'a mut Io<'r>,
    read: &'a Read,
    settings: &'a Settings<'a>,
    created: u32,
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// POST of a pod.
    CreatePod(NewPod),
    /// DELETE of a pod.
    DeletePod(Uid),
    /// PATCH that removes the tracking finalizer of a pod.
    RemoveFinalizer(Uid),
    /// PATCH that adds the controller reference and the tracking finalizer to a pod without an owner.
    AdoptPod(Uid),
    /// PATCH that removes the controller reference and the tracking finalizer of a pod.
    ReleasePod(Uid),
    /// PUT of the Job's status, with the resourceVersion of the Job that the sync has read.
    WriteStatus(JobStatus),
}

/// A pod to create, owned by the Job, from its template.
#[derive(Clone, Debug)]
pub struct NewPod {
    index: Option<u32>,
    failure_count: u32,
    ignored_failure_count: u32,
    finalizer: bool,
}

impl NewPod {
    /// A pod with the tracking finalizer.
    #[must_use]
    pub fn new() -> NewPod {
        NewPod { index: None, failure_count: 0, ignored_failure_count: 0, finalizer: true }
    }

    /// The pod of this completion index.
    #[must_use]
    pub fn index(mut self, index: u32) -> NewPod {
        self.index = Some(index);
        self
    }

    /// The pod with these annotations `job-index-failure-count` and `job-index-ignored-failure-count`.
    #[must_use]
    pub fn failures(mut self, counted: u32, ignored: u32) -> NewPod {
        (self.failure_count, self.ignored_failure_count) = (counted, ignored);
        self
    }

    /// The pod without the tracking finalizer.
    #[must_use]
    pub fn without_finalizer(mut self) -> NewPod {
        self.finalizer = false;
        self
    }
}

impl Default for NewPod {
    fn default() -> NewPod {
        NewPod::new()
    }
}

impl<'a, 'r> Api<'a, 'r> {
    pub(crate) fn new(io: &'a mut Io<'r>, read: &'a Read, settings: &'a Settings<'a>) -> Api<'a, 'r> {
        Api { io, read, settings, created: 0 }
    }

    /// Creates a pod.
    ///
    /// # Errors
    ///
    /// The response is not there yet, or the request failed.
    pub fn create_pod(&mut self, pod: NewPod) -> Result<(), Stop> {
        self.expect(Request::CreatePod(pod))
    }

    /// Deletes a pod. A pod that is gone is as good as deleted.
    ///
    /// # Errors
    ///
    /// The response is not there yet, or the request failed.
    pub fn delete_pod(&mut self, uid: Uid) -> Result<(), Stop> {
        self.expect(Request::DeletePod(uid))
    }

    /// Removes the tracking finalizer of a pod. A pod that is gone has none.
    ///
    /// # Errors
    ///
    /// The response is not there yet, or the request failed.
    pub fn remove_finalizer(&mut self, uid: Uid) -> Result<(), Stop> {
        self.expect(Request::RemoveFinalizer(uid))
    }

    /// Writes the status of the Job. If the Job is gone, the sync ends and is retried.
    ///
    /// # Errors
    ///
    /// The response is not there yet, the server refused the status, or it answered 409.
    pub fn write_status(&mut self, status: JobStatus) -> Result<(), Stop> {
        match self.send(Request::WriteStatus(status))? {
            Answer::Done => Ok(()),
            Answer::NotFound | Answer::NamespaceTerminating | Answer::Error => Err(Stop::Failed),
        }
    }

    /// Sends a request, and returns its response.
    ///
    /// # Errors
    ///
    /// The response is not there yet.
    pub fn send(&mut self, request: Request) -> Result<Answer, Stop> {
        let call = self.call(request);
        self.io.call(call)
    }

    /// Sends these requests at the same time, and returns their responses in order.
    ///
    /// # Errors
    ///
    /// Some responses are not there yet.
    pub fn send_all(&mut self, requests: impl IntoIterator<Item = Request>) -> Result<Vec<Answer>, Stop> {
        let calls: Vec<Call> = requests.into_iter().map(|request| self.call(request)).collect();
        if calls.is_empty() { Ok(Vec::new()) } else { self.io.all(calls, |call, branch| branch.call(call)) }
    }

    /// Syncs the Job again at this time, in any case.
    pub fn wake_at(&mut self, time: Time) {
        self.io.note(Effect::Wake(time));
    }

    fn expect(&mut self, request: Request) -> Result<(), Stop> {
        match self.send(request)? {
            Answer::Done | Answer::NotFound => Ok(()),
            Answer::NamespaceTerminating | Answer::Error => Err(Stop::Failed),
        }
    }

    fn call(&mut self, request: Request) -> Call {
        match request {
            Request::CreatePod(pod) => {
                // Creations differ by their number, two of one index included.
                self.created += 1;
                Call::CreatePod(self.created - 1, Box::new(self.newborn(&pod)))
            }
            Request::DeletePod(uid) => Call::DeletePod(uid),
            Request::RemoveFinalizer(uid) => Call::RemoveFinalizer(uid),
            Request::AdoptPod(uid) => Call::AdoptPod(uid),
            Request::ReleasePod(uid) => Call::ReleasePod(uid),
            Request::WriteStatus(status) => Call::WriteStatus(Box::new(status)),
        }
    }

    fn newborn(&self, pod: &NewPod) -> Pod {
        Pod {
            finalizer: pod.finalizer,
            incarnation: incarnation::of(self.read.job.as_deref()),
            index: pod.index,
            failure_count: pod.failure_count,
            ignored_failure_count: pod.ignored_failure_count,
            // Without delays, nothing depends on the times of pods.
            created: if self.settings.has_delays { self.read.now } else { Time::default() },
            ..Pod::new(Uid::EMPTY)
        }
    }
}
