//! Actors: the senders of requests.

use jobcheck_spec::job::Text;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The role of an actor, by its name (`docs/reference/judging.md`, *Identifying the controller*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The Job controller: the built-in one, or the one that `--actor` names.
    JobController,
    /// The TTL-after-finished controller.
    TtlController,
    /// The garbage collector.
    GarbageCollector,
    /// The pod garbage collector.
    PodGc,
    /// A kubelet.
    Kubelet,
    /// The manager of Jobs without `spec.managedBy` that `--actor` names.
    Manager,
    /// Any other actor.
    Other,
}

/// The accounts of kubelets.
const NODES: &str = "system:node:";
/// The service accounts of the controllers of Kubernetes.
const SYSTEM: &str = "system:serviceaccount:kube-system:";

impl Role {
    /// The role names of `--actor ROLE=USER`.
    pub const NAMES: [(&'static str, Role); 6] = [
        ("job-controller", Role::JobController),
        ("ttl-after-finished-controller", Role::TtlController),
        ("generic-garbage-collector", Role::GarbageCollector),
        ("pod-garbage-collector", Role::PodGc),
        ("kubelet", Role::Kubelet),
        ("manager", Role::Manager),
    ];

    /// The role with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Role> {
        Role::NAMES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }
}

/// The position of an actor in [`Actors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActorId(u32);

/// The actors of a trace.
#[derive(Debug, Default)]
pub struct Actors {
    /// The positions by user and user agent.
    known: FxHashMap<Text, FxHashMap<Text, ActorId>>,
    list: Vec<Actor>,
    named: Vec<(Role, String)>,
}

/// An actor.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The user name.
    pub user: Text,
    /// The user agent.
    pub agent: Text,
    /// The role.
    pub role: Role,
}

impl Actors {
    /// An empty list; `named` contains the roles from `--actor`.
    #[must_use]
    pub fn new(named: Vec<(Role, String)>) -> Actors {
        Actors { named, ..Actors::default() }
    }

    /// The actor with this user and user agent; adds it if it is new.
    pub fn meet(&mut self, user: &str, agent: &str) -> ActorId {
        if let Some(id) = self.known.get(user).and_then(|agents| agents.get(agent)) {
            return *id;
        }
        let id = ActorId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        let role = self.role(user, agent);
        let (user, agent) = (Text::from(user), Text::from(agent));
        self.known.entry(user.clone()).or_default().insert(agent.clone(), id);
        self.list.push(Actor { user, agent, role });
        id
    }

    /// The actor with this position.
    #[must_use]
    pub fn get(&self, id: ActorId) -> &Actor {
        &self.list[id.0 as usize]
    }

    /// The users that are named as managers, and that have sent no request.
    #[must_use]
    pub fn absent_managers(&self) -> Vec<String> {
        let named = self.named.iter().filter(|(role, _)| *role == Role::Manager);
        let absent = named.filter(|(_, user)| !self.known.contains_key(user.as_str()));
        absent.map(|(_, user)| user.clone()).collect()
    }

    /// Returns `true` for the account of several controllers, if the user agent names none of them.
    #[must_use]
    pub fn is_shared(&self, id: ActorId) -> bool {
        let actor = self.get(id);
        // binary/version (platform) kubernetes/commit[/controller]
        let names_controller =
            actor.agent.split("kubernetes/").nth(1).is_some_and(|commit| commit.contains('/'));
        actor.role == Role::Other && is_shared(&actor.user) && !names_controller
    }

    /// The role by the service account. If controllers share a user, the last part of the user agent decides.
    ///
    /// Everybody chooses the own user agent, and may create a service account of any name in the own namespace. The accounts of
    /// Kubernetes apart, such a name therefore makes nobody one of those whose writes excuse others. And it makes nobody
    /// what `--actor` says of somebody else.
    fn role(&self, user: &str, agent: &str) -> Role {
        if let Some((role, _)) = self.named.iter().find(|(_, name)| name == user) {
            return *role;
        }
        if user.starts_with(NODES) {
            return Role::Kubelet;
        }
        let last = |text: &str| text.rsplit(['/', ':']).next().and_then(Role::named);
        let is_of_kubernetes = user.starts_with(SYSTEM) || is_shared(user);
        let is_taken = |role: Role| self.named.iter().any(|(named, _)| *named == role);
        let is_believed = |role: &Role| match role {
            Role::JobController | Role::TtlController => is_of_kubernetes || !is_taken(*role),
            Role::GarbageCollector | Role::PodGc => is_of_kubernetes,
            Role::Kubelet | Role::Manager | Role::Other => false,
        };
        last(user).or_else(|| last(agent)).filter(is_believed).unwrap_or(Role::Other)
    }
}

/// Returns `true` for the account of all controllers in kube-controller-manager, which may have a prefix, as in
/// `eks:kube-controller-manager`.
fn is_shared(user: &str) -> bool {
    user.rsplit(':').next() == Some("kube-controller-manager")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role_of(actors: &mut Actors, user: &str, agent: &str) -> Role {
        let id = actors.meet(user, agent);
        actors.get(id).role
    }

    #[test]
    fn controllers_are_known_by_service_account_or_by_the_end_of_the_agent() {
        let mut actors = Actors::new(vec![(Role::JobController, "runner".to_owned())]);
        let mut role = |user: &str, agent: &str| role_of(&mut actors, user, agent);
        assert_eq!(role("system:serviceaccount:kube-system:job-controller", "kcm/v1"), Role::JobController);
        let shared = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc/";
        assert_eq!(
            role("system:kube-controller-manager", &format!("{shared}job-controller")),
            Role::JobController
        );
        assert_eq!(
            role(
                "system:kube-controller-manager",
                &format!("{shared}system:serviceaccount:kube-system:ttl-after-finished-controller")
            ),
            Role::TtlController
        );
        assert_eq!(role("system:node:a", "kubelet/v1"), Role::Kubelet);
        assert_eq!(role("runner", "x"), Role::JobController);
        assert_eq!(role("admin", "kubectl/v1"), Role::Other);
    }

    /// Its manager could otherwise have the pods of a Job deleted by the "kubelet", and be judged as one that writes status alone.
    #[test]
    fn nobody_has_a_role_of_kubernetes_by_calling_itself_so() {
        let mut actors = Actors::new(Vec::new());
        let mut role = |user: &str, agent: &str| role_of(&mut actors, user, agent);
        for name in ["kubelet", "generic-garbage-collector", "pod-garbage-collector", "manager"] {
            for agent in [
                name.to_owned(),
                format!("acme/{name}"),
                format!("kube-controller-manager/v1 kubernetes/a/{name}"),
            ] {
                assert_eq!(role("acme", &agent), Role::Other, "{agent}");
            }
            assert_eq!(role(&format!("system:serviceaccount:acme:{name}"), "x"), Role::Other, "{name}");
        }
        let shared = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc/generic-garbage-collector";
        assert_eq!(role("eks:kube-controller-manager", shared), Role::GarbageCollector);
        assert_eq!(role("system:serviceaccount:kube-system:pod-garbage-collector", "x"), Role::PodGc);
    }

    #[test]
    fn a_role_that_is_given_to_somebody_is_nobody_elses() {
        let mut actors = Actors::new(vec![(Role::JobController, "runner".to_owned())]);
        let mut role = |user: &str, agent: &str| role_of(&mut actors, user, agent);
        assert_eq!(role("eve", "job-controller"), Role::Other);
        assert_eq!(role("system:serviceaccount:evil:job-controller", "x"), Role::Other);
        assert_eq!(
            role("system:serviceaccount:kube-system:ttl-after-finished-controller", "x"),
            Role::TtlController
        );
    }
}
