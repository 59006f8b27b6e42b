//! Routes each event of a pod to its Job.

use jobcheck_spec::apiserver::{CONTROLLER_UID_LABEL, JOB_NAME_LABEL};
use jobcheck_spec::birth::PodBirth;
use jobcheck_spec::failure_policy::evaluate;
use jobcheck_spec::guards::adoption::matches;
use jobcheck_spec::guards::birth::judge_owner;
use jobcheck_spec::guards::ownership::judge_patch;
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Findings, Uid};
use jobcheck_traces::{Form, Verb};

use super::actor::Role;
use super::clock::Written;
use super::event::{Event, PodEvent};
use super::gaps::{Since, keeps_owner};
use super::job_writes::By;
use super::own_write::OwnWrite;
use super::pod_api::{judge_earlier_times, judge_pod_deletion};
use super::pod_records::Fact;
use super::router::{DEPARTED, Departed, Judge, job_controller};
use super::track::Track;
use super::watched_pods::Creator;
use super::{pod_writes, refused_pods, strangers, watched_pods};
use jobcheck_projection::PodObject;

impl Judge {
    pub(super) fn pod(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let job = self.job_of_patch(event, it, role);
        if role == Role::JobController && self.is_of_no_job(event, it) {
            self.totals.doubt("a Job controller writes pods that belong to no Job of the trace");
        }
        self.route_pod(event, it, role);
        self.judge_patched_field(event, it, job);
    }

    fn route_pod(&mut self, event: &Event, it: &PodEvent, role: Role) {
        if !event.is_accepted() {
            return self.pod_refused(event, it, role);
        }
        if it.hidden && it.after.is_none() {
            self.settings.pods_missing = Some("the audit level hides writes of pods");
            return self.hidden_pod_write(event, it, role);
        }
        let Some(uid) = it.uid else { return };
        let owner = self.pods.owners.get(&uid).copied();
        if it.after.is_some() && !self.settings.shown_pods.contains(&event.namespace) {
            self.settings.shown_pods.insert(event.namespace.clone());
        }
        match (&it.after, &it.metadata) {
            (Some(pod), _) => {
                let controller = job_controller(pod.metadata.controller.as_ref());
                self.learn_name(event, uid, controller);
                let owner = owner.or_else(|| self.pods.former.get(&uid).copied());
                let jobs = [owner, controller].into_iter().flatten();
                let version = event.version.filter(|_| event.when.is_some());
                self.take_in(jobs.clone(), version, Written::by(event), event.when.map(|when| when.received));
                let state = self.by_policy(pod, controller);
                self.pod_state(event, it, &state, &pod.metadata.labels, controller, role);
                self.take_in(jobs, None, Written::default(), None);
            }
            (None, Some(metadata)) => self.pod_metadata(event, it, metadata, role),
            (None, None) => {
                if event.verb == Some(Verb::Delete) {
                    self.pod_gone(event, uid, role);
                }
            }
        }
    }

    /// The pod with the rule of the Job's failure policy that matches it. The Job may be read later than its pods, so the
    /// policy is applied when the pod is judged.
    fn by_policy(&self, object: &PodObject, controller: Option<Uid>) -> Pod {
        let job = controller.and_then(|job| self.tracks.peek(&job)?.stored.clone());
        let policy = job.as_ref().and_then(|job| job.spec.pod_failure_policy.as_ref());
        match policy.zip(object.evidence.as_ref()) {
            Some((policy, evidence)) => Pod { policy: evaluate(policy, evidence), ..object.pod.clone() },
            None => object.pod.clone(),
        }
    }

    /// The Job of a pod that the Job controller patches in a field beside finalizers and owners.
    fn job_of_patch(&self, event: &Event, it: &PodEvent, role: Role) -> Option<Uid> {
        it.other_field.as_ref().filter(|_| role == Role::JobController)?;
        let named = || self.pods.names.get(&(event.namespace.clone(), event.name.clone()));
        let owner = it.uid.or_else(named).and_then(|uid| self.pods.owners.get(&uid)).copied();
        let shown = || job_controller(it.after.as_ref()?.metadata.controller.as_ref());
        owner.or_else(shown)
    }

    /// Judges the fields in a PATCH of the built-in controller.
    fn judge_patched_field(&mut self, event: &Event, it: &PodEvent, job: Option<Uid>) {
        let track = job.and_then(|job| self.tracks.get_mut(&job)).filter(|track| track.is_built_in());
        if let Some(track) = track {
            judge_patch_of(track, event, it.other_field.as_deref());
        }
    }

    /// Sets the version and the times of the next entries in the histories of these Jobs.
    fn take_in(
        &mut self,
        jobs: impl Iterator<Item = Uid>,
        version: Option<u64>,
        written: Written,
        received: Option<i64>,
    ) {
        for job in jobs {
            if let Some(track) = self.tracks.get_mut(&job) {
                track.history.take_in(version);
                track.history.date(written);
                track.history.receives(received);
            }
        }
    }

    fn pod_refused(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let creator = it.metadata.as_ref().and_then(|asked| job_controller(asked.controller.as_ref()));
        let key = (event.namespace.clone(), event.name.clone());
        let late = self.pods.departed.iter().rev().find(|departed| departed.key == key);
        let living = it.uid.or_else(|| self.pods.names.get(&key));
        let uid = living.or(late.map(|departed| departed.pod));
        let owner = living
            .and_then(|uid| self.pods.owners.get(&uid).or_else(|| self.pods.former.get(&uid)).copied())
            .or(late.map(|departed| departed.job));
        let Some(job) = creator.or(owner) else { return };
        let by = self.by(event, role, job, creator.is_some());
        if by == By::Manager {
            self.attended(job);
        }
        if let Some(track) = self.tracks.get_mut(&job) {
            if track.comes_late(event) {
                return;
            }
            track.find_missing_deletion(event, role, it);
            if by == By::Manager {
                // Status writes do not count, since they are possible until the list arrives (J-08).
                track.pods.forget_all(Fact::Held);
            }
        }
        let Some(track) = self.tracks.get_mut(&job) else { return };
        if creator.is_some() && by == By::Manager {
            refused_pods::creation_refused(track, event, it, &self.settings);
        } else {
            refused_pods::refused(track, event, it, uid, by, &self.settings);
        }
    }

    fn pod_metadata(
        &mut self,
        event: &Event,
        it: &PodEvent,
        metadata: &jobcheck_projection::Metadata,
        role: Role,
    ) {
        let uid = metadata.uid;
        let owner = self.pods.owners.get(&uid).copied();
        let known = owner
            .and_then(|job| self.tracks.peek(&job))
            .and_then(|track| track.history.stored.get(uid).cloned())
            .or_else(|| self.pods.ownerless.get(&uid).cloned());
        let Some(known) = known else { return };
        let tracking = |name: &Text| &**name == jobcheck_spec::pod::TRACKING_FINALIZER;
        let pod = Pod {
            finalizer: metadata.finalizers.iter().any(tracking),
            other_finalizers: metadata.finalizers.iter().any(|name| !tracking(name)),
            deleting: metadata.deletion_timestamp.is_some(),
            ..known
        };
        let controller = job_controller(metadata.controller.as_ref());
        self.pod_state(event, it, &pod, &metadata.labels, controller, role);
    }

    fn pod_state(
        &mut self,
        event: &Event,
        it: &PodEvent,
        pod: &Pod,
        labels: &[(Text, Text)],
        controller: Option<Uid>,
        role: Role,
    ) {
        let owner = self.pods.owners.get(&pod.uid).copied();
        let job = owner.or(controller).and_then(|job| self.tracks.get_mut(&job));
        if let Some(track) = job {
            if track.comes_late(event) {
                return;
            }
            track.find_missing_deletion(event, role, it);
            if event.verb == Some(Verb::Delete) {
                track.explain_deletion(event, pod.uid);
            }
        }
        if owner.is_none() && event.verb == Some(Verb::Create) {
            self.judge_ownerless_birth(event, it, pod, labels, controller, role);
        }
        match (owner, controller) {
            (Some(old), Some(new)) if old == new && !self.may_be_released(event, it, old, labels) => {
                self.pod_of(event, it, pod, old, role);
            }
            (Some(old), new) => {
                self.pod_leaves(event, it, pod, labels, old, role);
                if let Some(new) = new.filter(|new| *new != old) {
                    self.pod_arrives(event, it, pod, labels, new, role);
                }
            }
            (None, Some(new)) => self.pod_arrives(event, it, pod, labels, new, role),
            (None, None) => {
                self.find_missing_birth(event, pod, labels);
                self.ownerless_changed(event, it, pod, role);
                if it.gone {
                    self.pods.ownerless.remove(&pod.uid);
                } else if pod.finalizer
                    || event.verb == Some(Verb::Create)
                    || event.actor.is_none()
                    // A known ownerless pod stays up to date, since it may be adopted.
                    || self.pods.ownerless.contains_key(&pod.uid)
                {
                    self.pods.ownerless.insert(pod.uid, pod.clone());
                }
            }
        }
        if let Some(track) = controller.and_then(|job| self.tracks.get_mut(&job)) {
            track.saw(event, Some(pod.uid));
            let shown = it.after.as_ref().map(|after| &after.metadata).or(it.metadata.as_ref());
            track.saw_metadata(pod.uid, shown);
            track.shows_sender(role);
        }
        let former =
            self.pods.former.get(&pod.uid).copied().filter(|job| ![owner, controller].contains(&Some(*job)));
        let new = controller.filter(|job| owner != Some(*job));
        for job in [owner, new, former].into_iter().flatten() {
            self.note_ownership(event, pod, labels, job, it.gone);
        }
    }

    /// Returns `true` if a watch shows the end of a pod that its Job does not select any more. The request that has removed its last
    /// finalizer may have removed its owner, too. A watch shows the state before.
    fn may_be_released(&self, event: &Event, it: &PodEvent, job: Uid, labels: &[(Text, Text)]) -> bool {
        // To look at a Job may unpack it.
        it.gone
            && event.form == Form::Watch
            && event.actor.is_none()
            && self.tracks.peek(&job).is_some_and(|track| {
                track.stored.as_ref().is_some_and(|job| matches(&job.spec.selector, labels) == Some(false))
            })
    }

    /// PC-14: judges a pod that the manager of a Job creates with the labels of this Job, but not with the Job as its
    /// controller.
    fn judge_ownerless_birth(
        &mut self,
        event: &Event,
        it: &PodEvent,
        pod: &Pod,
        labels: &[(Text, Text)],
        controller: Option<Uid>,
        role: Role,
    ) {
        let Some(birth) = it.birth.as_deref().filter(|_| event.actor.is_some()) else { return };
        let birth = &birth.created;
        if controller.is_some_and(|controller| self.tracks.contains(&controller)) {
            return;
        }
        let Some(job) = self.job_by_looks(event, labels, birth) else { return };
        let by = self.by(event, role, job, false);
        let Some(track) = self.tracks.get_mut(&job).filter(|_| by == By::Manager) else { return };
        let Some(stored) = track.stored.clone() else { return };
        let mut findings = Findings::new();
        judge_owner(&stored, birth, &mut findings);
        track.take(event, &format_args!("creation of {}", super::story::pod(pod)), findings);
    }

    /// The Job in a pod's labels or owner references. A name alone may be that of a previous Job.
    fn job_by_looks(&self, event: &Event, labels: &[(Text, Text)], birth: &PodBirth) -> Option<Uid> {
        let label = |key: &str| labels.iter().find(|(name, _)| &**name == key).map(|(_, value)| value);
        let is_known = |uid: &Uid| self.tracks.contains(uid);
        if let Some(uid) = label(CONTROLLER_UID_LABEL) {
            return Some(Uid::parse(uid)).filter(is_known);
        }
        let owners = birth.controller.iter().chain(&birth.other_owners).map(|owner| owner.uid);
        let named = || self.names.get(&(event.namespace.clone(), label(JOB_NAME_LABEL)?.clone()));
        owners.clone().find(is_known).or_else(|| if owners.count() == 0 { named() } else { None })
    }

    pub(super) fn pod_of(&mut self, event: &Event, it: &PodEvent, pod: &Pod, job: Uid, role: Role) {
        let without_finalizer = !pod.finalizer || it.gone;
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.times.note(track.history.end(), event);
            if let (Some(before), Some(after)) = (track.history.stored.get(pod.uid).cloned(), &it.after) {
                if by == By::Manager && track.is_built_in() {
                    strangers::judge_finalizers(track, event, it, &before);
                    strangers::judge_put(track, event, it, &before, after);
                }
                strangers::judge_force(track, event, it, &before, by);
                judge_pod_deletion(track, event, &before, after);
                judge_earlier_times(track, event, &before, after);
                track.find_missing_pod_write(event, it, &before, pod);
            }
            if it.gone {
                watched_pods::find_selector(track, event, pod);
            }
            pod_writes::updated(track, event, pod, it.gone, by, &self.settings);
            track.history.forget_before(track.process.frontier.earliest());
            if without_finalizer {
                track.rest();
            }
        }
        if it.gone {
            self.departs(event, pod.uid, job);
        }
        self.tracks.used(job);
        self.close_if_over(job);
    }

    fn departs(&mut self, event: &Event, uid: Uid, job: Uid) {
        self.pods.owners.remove(&uid);
        let key = (event.namespace.clone(), event.name.clone());
        if self.pods.names.get(&key) == Some(uid) {
            self.pods.names.remove(&key);
        }
        if self.pods.departed.len() == DEPARTED {
            self.pods.departed.pop_front();
        }
        self.pods.departed.push_back(Departed { key, pod: uid, job });
    }

    fn pod_leaves(
        &mut self,
        event: &Event,
        it: &PodEvent,
        pod: &Pod,
        labels: &[(Text, Text)],
        job: Uid,
        role: Role,
    ) {
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            let mut by = by;
            if let Some(before) = track.history.stored.get(pod.uid).cloned() {
                track.find_missing_pod_write(event, it, &before, pod);
            }
            if keeps_owner(event, it) {
                let since = track.coverage.pods_seen.get(&pod.uid).map_or(0, |seen| seen.order);
                track.lacks(event, "a write of a pod is missing: it lost its owner", Since::Order(since));
                by = By::Other;
            }
            pod_writes::released(
                track,
                event,
                Some(pod).filter(|_| !it.gone),
                pod.uid,
                labels,
                by,
                &self.settings,
            );
        }
        self.pods.owners.remove(&pod.uid);
        if it.gone {
            self.departs(event, pod.uid, job);
        } else {
            self.pods.ownerless.insert(pod.uid, pod.clone());
            self.pods.former.insert(pod.uid, job);
            if pod.finalizer {
                self.ownerless_appears(pod.uid, job);
            }
        }
        self.close_if_over(job);
    }

    fn pod_arrives(
        &mut self,
        event: &Event,
        it: &PodEvent,
        pod: &Pod,
        labels: &[(Text, Text)],
        job: Uid,
        role: Role,
    ) {
        if it.gone {
            // A late response to the DELETE of a pod that has gone.
            let by = self.by(event, role, job, false);
            if let Some(track) = self.tracks.get_mut(&job) {
                pod_writes::updated(track, event, pod, true, by, &self.settings);
            }
            return;
        }
        if !self.tracks.contains(&job) {
            if event.verb == Some(Verb::Create) && role == Role::JobController {
                self.leaves_an_expectation(job);
                self.find_late_birth(event, job);
            }
            self.names_unseen_job(job);
            return;
        }
        let ownerless_pod = self.pods.ownerless.remove(&pod.uid);
        self.ownerless_adopted(pod.uid, job);
        self.pods.names.insert(&(event.namespace.clone(), event.name.clone()), pod.uid);
        let created =
            event.verb == Some(Verb::Create) || (event.form == Form::Watch && ownerless_pod.is_none());
        let by = self.by(event, role, job, created);
        self.pods.owners.insert(pod.uid, job);
        let Some(track) = self.tracks.get_mut(&job) else { return };
        if !created && track.shows_lost_creation(pod.uid) {
            return self.pod_of(event, it, pod, job, role);
        }
        // A creation with a server error may have been committed.
        if !created && keeps_owner(event, it) && track.process.setbacks.lost_creations == 0 {
            if track.coverage.complete {
                let since = Since::Time(pod.created.0.saturating_mul(1_000_000));
                track.lacks(event, "a write of a pod is missing: the Job became its owner", since);
            }
            track.pod_changed(pod.uid, Some(pod.clone()), None);
            return;
        }
        let creator = match created {
            true => watched_pods::creator(track, event, it, pod, &self.settings),
            false => Creator::Manager,
        };
        let by = match creator {
            Creator::Manager => by,
            Creator::Other => By::Other,
            Creator::Perhaps => {
                let write = OwnWrite::Create(Box::new(pod.clone()));
                return track.pod_changed_perhaps(pod.uid, Some(pod.clone()), write);
            }
            Creator::Unknown => return track.pod_changed(pod.uid, Some(pod.clone()), None),
        };
        // A pod of a Job that was first seen in mid-life may be older than the watch.
        if created && (event.actor.is_some() || track.coverage.complete) {
            pod_writes::created(track, event, it, pod, by, &self.settings);
        } else {
            if by == By::Manager && event.actor.is_some() {
                strangers::judge_adopted(track, event, it);
            }
            pod_writes::adopted(track, event, ownerless_pod.as_ref(), pod, labels, by, &self.settings);
        }
        self.settings.latest_birth = self.settings.latest_birth.max(Some(pod.created).filter(|_| created));
    }

    /// The Job and the state of the pod that this event names.
    pub(super) fn named_pod(&self, event: &Event) -> Option<(Uid, Pod)> {
        self.owned_pod(self.pods.names.get(&(event.namespace.clone(), event.name.clone()))?)
    }

    /// The Job and the state of a pod.
    pub(super) fn owned_pod(&self, uid: Uid) -> Option<(Uid, Pod)> {
        let job = *self.pods.owners.get(&uid)?;
        self.tracks.peek(&job)?.history.stored.get(uid).map(|pod| (job, pod.clone()))
    }

    pub(super) fn bound(&mut self, event: &Event) {
        let Some((job, pod)) = self.named_pod(event).filter(|_| event.is_accepted()) else { return };
        if let Some(track) = self.tracks.get_mut(&job) {
            let after = Pod { scheduled: true, ..pod };
            pod_writes::updated(track, event, &after, false, By::Other, &self.settings);
        }
    }

    /// The response to a DELETE shows only that the pod is gone.
    fn pod_gone(&mut self, event: &Event, uid: Uid, role: Role) {
        self.pods.ownerless.remove(&uid);
        self.ownerless_gone(event, uid);
        let Some(job) = self.pods.owners.get(&uid).copied() else { return };
        let by = self.by(event, role, job, false);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.explain_deletion(event, uid);
            match track.history.stored.get(uid).cloned() {
                Some(pod) => {
                    let after = Pod { deleting: true, ..pod };
                    pod_writes::updated(track, event, &after, true, by, &self.settings);
                }
                None => pod_writes::gone(track, event, uid),
            }
        }
        self.departs(event, uid, job);
        self.close_if_over(job);
    }
}

/// SY-11: judges a PATCH, or a PUT, of the built-in controller that writes this other field, if any.
pub(super) fn judge_patch_of(track: &mut Track, event: &Event, other: Option<&str>) {
    let mut findings = Findings::new();
    judge_patch(other, &mut findings);
    let verb = if event.verb == Some(Verb::Update) { "PUT" } else { "PATCH" };
    track.take(event, &format_args!("{verb} of pod {}", event.name), findings);
}
