//! Options of a validation, and facts about the trace as a whole.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jobcheck_spec::Time;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::Text;
use jobcheck_spec::time::CLOCK_SKEW;
use jobcheck_traces::{Form, Mark, MarkKind};
use rustc_hash::FxHashSet;

use super::activity::{Activity, SILENCE};
use super::actor::{Actor, ActorId, Role};
use super::addresses::Addresses;
use super::caches::Caches;
use super::delivery::Sender;
use super::event::Event;
use super::mirror::Profile;
use super::mishaps::is_called;
use super::observed::Observations;
use super::track::Track;
use super::unlisted::Reported;

/// Number of restarts that are kept.
const RESTARTS_KEPT: usize = 64;
/// The reason while the trace has shown no pod yet.
pub const NO_PODS: &str = "the trace shows no pods";
/// Seconds without a request after which a client delays none.
const PAUSE: i64 = 5;
/// Maximum time for which `Retry-After` makes a client wait, in microseconds. An API server says 32 s at most.
const LONGEST_WAIT: i64 = 60_000_000;
/// Number of responses that are kept after which a client may have waited.
const WAITS_KEPT: usize = 256;
/// Maximum time for which a request of a terminated process is on its way, in microseconds.
const IN_FLIGHT: i64 = 100_000;

/// Settings and facts that all Jobs share.
#[derive(Debug)]
pub struct Settings {
    /// The rules of the API server.
    pub rules: RuleSet,
    /// The constants of the Job controller.
    pub constants: Constants,
    /// The feature gates of the current process of the Job controller.
    pub gates: Gates,
    /// The part that is kept for the report.
    pub reported: Reported,
    /// Ends each search for an explanation once it is true.
    pub stop: Arc<AtomicBool>,
    /// The form of the current event shows actors and refusals.
    pub has_actors: bool,
    /// The reason why the trace may not show every pod.
    pub pods_missing: Option<&'static str>,
    /// The namespaces of which the trace has shown pods. A policy, or a watch, may leave out others.
    pub shown_pods: FxHashSet<Text>,
    /// The progress of the controllers' caches, in a native trace.
    pub observations: Observations,
    /// The trace has shown a Job controller with a known name.
    pub named_controller: bool,
    /// The kind of the managers of Jobs without `spec.managedBy`, if the user says it.
    pub profile: Option<Profile>,
    /// Seconds by which the clocks of two clusters may differ (MR-04).
    pub skew: i64,
    /// The latest `creationTimestamp` of a pod of a Job.
    pub latest_birth: Option<Time>,
    /// The caches of the Job controller.
    pub caches: Caches,
    clients: Vec<(ActorId, Client)>,
    restarts: VecDeque<Restart>,
}

/// A sender of requests, and the times at which it sent them.
#[derive(Debug)]
struct Client {
    actor: Actor,
    activity: Activity,
    addresses: Addresses,
    /// The last responses after which the client may have waited, and sent the request again within its sync.
    asked_to_wait: VecDeque<i64>,
}

/// A restart of a controller.
#[derive(Debug)]
struct Restart {
    /// The name of the controller; `None` if the user of the judge reports the restart.
    name: Option<String>,
    at: i64,
}

/// The process in which the built-in controllers run.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

impl Client {
    fn new(sender: &Actor) -> Client {
        Client {
            actor: sender.clone(),
            activity: Activity::default(),
            addresses: Addresses::default(),
            asked_to_wait: VecDeque::new(),
        }
    }

    fn is_asked_to_wait(&mut self, done: i64) {
        if self.asked_to_wait.len() == WAITS_KEPT {
            self.asked_to_wait.pop_front();
        }
        self.asked_to_wait.push_back(done);
    }

    /// Returns `true` if the client may have waited since it was asked to, and sends this request again.
    fn may_have_waited(&self, received: i64) -> bool {
        self.asked_to_wait.iter().any(|done| (0..=LONGEST_WAIT).contains(&(received - done)))
    }

    /// Returns `true` if a mark with this name concerns this client.
    fn is_meant_by(&self, name: &str) -> bool {
        let Actor { user, agent, role } = &self.actor;
        let is_ours = *role == Role::JobController && names_job_controller(name);
        is_ours || is_called(name, user, agent)
    }
}

/// The managers that a mark concerns.
#[derive(Clone, Debug)]
pub struct Meant {
    built_in: bool,
    actors: Vec<ActorId>,
}

impl Meant {
    /// Returns `true` if the manager of a Job is concerned: the built-in controller, or this actor.
    #[must_use]
    pub fn has(&self, is_built_in: bool, manager: Option<ActorId>) -> bool {
        is_built_in && self.built_in || manager.is_some_and(|manager| self.actors.contains(&manager))
    }
}

/// Returns `true` if a mark with this name concerns the built-in Job controller.
#[must_use]
pub fn names_job_controller(name: &str) -> bool {
    let last = name.rsplit(['/', ':']).next();
    last.and_then(Role::named) == Some(Role::JobController) || last == Some(CONTROLLER_MANAGER)
}

/// The evidence for a restart of the manager between a failure and a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartSign {
    /// A mark of this controller, or a new client, lies in between.
    Told,
    /// Only another address of the sender. A node, or a proxy, may have several.
    Moved,
    /// Only a silence of at least one second. Syncs are batched by a second, so that every controller is silent at
    /// times.
    Silence,
    /// None, since the form or the account does not show who sends a request.
    Unknown,
    /// None.
    None,
}

impl RestartSign {
    /// Returns `true` if a restart is possible.
    #[must_use]
    pub fn admits(self) -> bool {
        match self {
            RestartSign::Told | RestartSign::Moved | RestartSign::Silence | RestartSign::Unknown => true,
            RestartSign::None => false,
        }
    }

    /// The reason why a write that needs a restart is inconclusive; `None` if the trace shows the restart.
    #[must_use]
    pub fn lacks(self) -> Option<&'static str> {
        match self {
            RestartSign::Told | RestartSign::None => None,
            RestartSign::Moved => Some("the only sign of a restart is another address of the sender"),
            RestartSign::Silence => Some("the only sign of a restart is a silence of a second or more"),
            RestartSign::Unknown => Some("the trace does not show whose requests these are"),
        }
    }
}

impl Settings {
    /// Settings for an API server and a Job controller.
    #[must_use]
    pub fn new(rules: RuleSet, constants: Constants, gates: Gates, reported: Reported) -> Settings {
        Settings {
            rules,
            constants,
            gates,
            reported,
            stop: Arc::default(),
            has_actors: true,
            pods_missing: None,
            shown_pods: FxHashSet::default(),
            observations: Observations::default(),
            named_controller: false,
            clients: Vec::new(),
            profile: None,
            skew: CLOCK_SKEW,
            latest_birth: None,
            caches: Caches::default(),
            restarts: VecDeque::new(),
        }
    }

    /// The reason why the trace may not show the pods of a Job. A policy may leave out the pods of a namespace, and the selector of
    /// a watch those of a Job.
    #[must_use]
    pub fn reason_for_unseen_pods(&self, track: &Track, event: &Event) -> Option<&'static str> {
        let is_shown = self.shown_pods.contains(&track.id.namespace);
        let is_selected = event.form == Form::Watch && track.history.end() == 0;
        self.pods_missing.or((!is_shown || is_selected).then_some(NO_PODS))
    }

    /// Notes a request of an actor when it is read.
    pub fn heard(&mut self, event: &Event, sender: &Actor, address: &str) {
        let (Some(actor), Some(when)) = (event.actor, event.when) else { return };
        let known = self.clients.iter().position(|(known, _)| *known == actor);
        let position = known.unwrap_or_else(|| {
            self.clients.push((actor, Client::new(sender)));
            self.clients.len() - 1
        });
        let client = &mut self.clients[position].1;
        client.activity.note(when.received, when.done);
        client.addresses.note(when.received, address);
        if event.may_be_sent_again() {
            client.is_asked_to_wait(when.done);
        }
    }

    /// The sender of a request that was heard.
    #[must_use]
    pub fn actor(&self, id: ActorId) -> Option<&Actor> {
        self.clients.iter().find(|(known, _)| *known == id).map(|(_, client)| &client.actor)
    }

    /// Returns `true` if two senders are one program: they have one user, and user agents that differ in their versions
    /// at most.
    #[must_use]
    pub fn is_one_actor(&self, one: ActorId, other: ActorId) -> bool {
        let program = |id| {
            let actor = self.actor(id)?;
            Some((&actor.user, actor.agent.split('/').next()))
        };
        one == other || program(one).is_some() && program(one) == program(other)
    }

    /// Returns `true` if the sender of this request is the same program as another one.
    #[must_use]
    pub fn is_sent_by(&self, event: &Event, other: ActorId) -> bool {
        event.actor.is_some_and(|actor| self.is_one_actor(other, actor))
    }

    /// The process of the sender when the API server handled the request, as far as times show it.
    #[must_use]
    pub fn sender_of(&self, event: &Event) -> Sender {
        match () {
            () if self.spans_silence(event) => Sender::MaybeReplaced,
            () if self.follows_restart(event) => Sender::JustStarted,
            () => Sender::Alive,
        }
    }

    /// Returns `true` if a mark shows a restart of the sender shortly before the request was received.
    fn follows_restart(&self, event: &Event) -> bool {
        let Some(when) = event.when else { return false };
        let is_recent =
            |restart: &&Restart| (1..IN_FLIGHT).contains(&when.received.saturating_sub(restart.at));
        let mut recent = self.restarts.iter().filter(is_recent).peekable();
        recent.peek().is_some() && recent.any(|restart| self.is_of_sender(event, restart))
    }

    /// SY-01: returns `true` if the sender may have been replaced before the response (`docs/reference/judging.md`,
    /// *Hidden restarts* and *In the explorer*). After a silence of at least a second, its successor sent requests in
    /// the meantime; a process that waits for a response sends none.
    #[must_use]
    pub fn spans_silence(&self, event: &Event) -> bool {
        let Some(when) = event.when.filter(|when| when.done - when.received >= SILENCE) else { return false };
        let Some(Client { activity, .. }) = self.client_of(event) else { return false };
        let hides_one = |(from, to): (i64, i64)| to < when.done && to - from.max(when.received) >= SILENCE;
        activity.silences_beside(when.received, when.done).into_iter().any(hides_one)
    }

    /// The sync of this request began no earlier than the result, in microseconds, unless something that the trace does not show
    /// has delayed it.
    ///
    /// A sync reads its caches and its clock, and sends its requests without a pause of [`PAUSE`] seconds. There are two
    /// exceptions: the client has sent too many requests, or the API server has asked it to wait. In a silence of a second the
    /// client delays none.
    #[must_use]
    pub fn began_after_silence(&self, event: &Event) -> Option<i64> {
        if event.is_displaced() {
            return None;
        }
        let (actor, when) = event.actor.zip(event.when)?;
        let (_, client) = self.clients.iter().find(|(known, _)| *known == actor)?;
        if client.may_have_waited(when.received) {
            return None;
        }
        client.activity.last_silence_end(when.received).map(|to| to - PAUSE * 1_000_000)
    }

    /// The same bound in a watch, for the sync that created this pod: nothing else shows that its client was idle.
    #[must_use]
    pub fn began_before_birth(&self, created: Time) -> Option<i64> {
        let is_idle = self.latest_birth.is_none_or(|birth| birth.plus(PAUSE) <= created);
        is_idle.then(|| created.plus(-PAUSE).0.saturating_mul(1_000_000))
    }

    /// Notes a restart of the controller with this name; without a name, of every controller.
    pub fn restarted(&mut self, name: Option<&str>, at: i64) {
        if self.restarts.len() == RESTARTS_KEPT {
            self.restarts.pop_front();
        }
        self.restarts.push_back(Restart { name: name.map(str::to_owned), at });
    }

    /// Notes the new leader that a Lease in an audit log shows. Lines need not be in order, so that only its time counts.
    pub fn hears_of_leader(&mut self, mark: &Mark) {
        let (MarkKind::Leader { actor }, Some(at)) = (&mark.kind, mark.at) else { return };
        // Anybody may have a Lease.
        if names_job_controller(actor) || !self.meant(actor).actors.is_empty() {
            self.restarted(Some(actor), at);
        }
    }

    /// The managers that a mark with this name concerns.
    #[must_use]
    pub fn meant(&self, name: &str) -> Meant {
        let clients = || self.clients.iter().filter(|(_, client)| client.is_meant_by(name));
        let is_built_in = clients().any(|(_, client)| client.actor.role == Role::JobController);
        Meant {
            built_in: is_built_in || names_job_controller(name),
            actors: clients().map(|(id, _)| *id).collect(),
        }
    }

    /// Notes that another process took over, perhaps with other feature gates.
    ///
    /// # Errors
    ///
    /// The mark assumes something other than feature gates of a Job controller.
    pub fn takes_over(&mut self, mark: &Mark) -> Result<(), String> {
        let MarkKind::Restart { actor, assume } = &mark.kind else { return Ok(()) };
        if Role::named(actor).is_none_or(|role| role == Role::JobController) {
            for (gate, on) in assume {
                let on =
                    on.parse().map_err(|_| format!("assume.{gate}: expected true or false, found {on:?}"))?;
                let expected =
                    || format!("expected a feature gate of the Job controller, found assume.{gate}");
                self.gates = self.gates.with(gate, on).ok_or_else(expected)?;
            }
        }
        Ok(())
    }

    fn client_of(&self, event: &Event) -> Option<&Client> {
        self.clients.iter().find(|(actor, _)| Some(*actor) == event.actor).map(|(_, client)| client)
    }

    /// Returns `true` if this restart concerns the sender of the request.
    fn is_of_sender(&self, event: &Event, restart: &Restart) -> bool {
        match (&restart.name, self.client_of(event)) {
            (None, _) => true,
            (Some(name), Some(client)) => client.is_meant_by(name),
            (Some(name), None) => names_job_controller(name),
        }
    }

    /// The evidence for a restart of the sender between this time, in microseconds, and this write.
    #[must_use]
    pub fn restart_since(&self, event: &Event, failed: i64) -> RestartSign {
        let now = event.when.map_or(i64::MAX, |when| when.received);
        if self.restarts.iter().any(|it| failed <= it.at && it.at <= now && self.is_of_sender(event, it)) {
            return RestartSign::Told;
        }
        let Some(client) = self.client_of(event).filter(|_| self.has_actors) else {
            return RestartSign::Unknown;
        };
        if client.activity.first() > Some(failed) && self.has_predecessor(client, failed) {
            return RestartSign::Told;
        }
        if client.addresses.change_between(failed, now) {
            return RestartSign::Moved;
        }
        let silent = client
            .activity
            .silences()
            .into_iter()
            .any(|(from, to)| to.min(now) - from.max(failed) >= SILENCE);
        if silent { RestartSign::Silence } else { RestartSign::None }
    }

    /// Returns `true` if another client had this role before that time: a new version of a controller, say.
    fn has_predecessor(&self, client: &Client, before: i64) -> bool {
        let role = client.actor.role;
        let is_of_its_role = |other: &Client| role != Role::Other && other.actor.role == role;
        self.clients.iter().any(|(_, other)| is_of_its_role(other) && other.activity.first() <= Some(before))
    }
}
