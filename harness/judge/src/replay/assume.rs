//! Assumptions about the API server and the Job controller, from `--kubernetes` and `--assume`, or from the header of a
//! native trace.

use std::collections::BTreeMap;

use jobcheck_spec::apiserver::{RuleSet, minor_of};
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_traces::{Header, parse_duration};

/// An assumption about the Job controller or the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// `pod-failure-backoff`, in milliseconds.
    PodFailureBackoff(i64),
    /// `pod-failure-backoff-max`, in milliseconds.
    PodFailureBackoffMax(i64),
    /// `max-uncounted-pods`.
    MaxUncountedPods(usize),
    /// A feature gate of the Job controller by its Kubernetes name, and whether it is on.
    Gate(&'static str, bool),
    /// `apiserver/GATE`: a feature gate of the API server, and whether it is on.
    ServerGate(&'static str, bool),
    /// `audit-policy=complete`: an audit log has every request that changes a Job or a pod.
    CompleteLog,
}

/// The key of [`Assumption::CompleteLog`], and its only value.
const AUDIT_POLICY: (&str, &str) = ("audit-policy", "complete");

/// The feature gates of the Job controller and of the API server.
const GATES: [&str; 4] =
    ["JobManagedBy", "JobPodReplacementPolicy", "JobBackoffLimitPerIndex", "JobSuccessPolicy"];

/// The API server and the Job controller that a trace is judged with, and the log of the former.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The rules of the API server, with its feature gates.
    pub rules: RuleSet,
    /// The constants of the Job controller.
    pub constants: Constants,
    /// The feature gates of the Job controller.
    pub gates: Gates,
    /// An audit log has every request that changes a Job or a pod. Otherwise its policy may leave out some.
    pub logs_all: bool,
}

impl Subject {
    /// The same Job controller beside an API server of another version. The gates stay as they are.
    #[must_use]
    pub fn on(self, version: RuleSet) -> Subject {
        let mut rules = version;
        for gate in self.rules.gates().off() {
            rules = rules.with_gate(gate, false).unwrap_or(rules);
        }
        Subject { rules, constants: self.constants.for_version_of(&rules), ..self }
    }

    /// The assumptions as the header of a native trace contains them.
    #[must_use]
    pub fn assumptions(&self) -> BTreeMap<String, String> {
        let milliseconds = |ms: i64| format!("{ms}ms");
        let Subject { rules, constants, gates, logs_all } = self;
        let constants = [
            ("pod-failure-backoff", milliseconds(constants.pod_failure_backoff_ms)),
            ("pod-failure-backoff-max", milliseconds(constants.pod_failure_backoff_max_ms)),
            ("max-uncounted-pods", constants.max_uncounted_pods.to_string()),
        ];
        let mut assumptions: BTreeMap<String, String> =
            constants.map(|(key, value)| (key.to_owned(), value)).into();
        let complete = logs_all.then(|| (AUDIT_POLICY.0.to_owned(), AUDIT_POLICY.1.to_owned()));
        assumptions.extend(complete);
        let off = |gate: String| (gate, false.to_string());
        assumptions.extend(gates.off().into_iter().map(|gate| off(gate.to_owned())));
        assumptions.extend(rules.gates().off().into_iter().map(|gate| off(format!("apiserver/{gate}"))));
        assumptions
    }
}

impl Subject {
    /// The assumptions that differ from the defaults of the Kubernetes version.
    #[must_use]
    pub fn departures(&self) -> BTreeMap<String, String> {
        let version = RuleSet::of(self.rules.minor).unwrap_or(self.rules);
        let usual = Subject::default().on(version).assumptions();
        self.assumptions().into_iter().filter(|(key, value)| usual.get(key) != Some(value)).collect()
    }
}

impl Assumption {
    /// Reads `KEY=VALUE`.
    ///
    /// # Errors
    ///
    /// A message with the expected keys or values.
    pub fn parse(text: &str) -> Result<Assumption, String> {
        let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
        Assumption::of(key, value)
    }

    fn of(key: &str, value: &str) -> Result<Assumption, String> {
        match key {
            "pod-failure-backoff" => milliseconds(value).map(Assumption::PodFailureBackoff),
            "pod-failure-backoff-max" => milliseconds(value).map(Assumption::PodFailureBackoffMax),
            "max-uncounted-pods" => match value.parse() {
                Ok(count) if count > 0 => Ok(Assumption::MaxUncountedPods(count)),
                _ => Err(format!("expected a number of pods, 1 or more, found {value:?}")),
            },
            _ if key == AUDIT_POLICY.0 => match value == AUDIT_POLICY.1 {
                true => Ok(Assumption::CompleteLog),
                false => Err(format!("expected {}, found {value:?}", AUDIT_POLICY.1)),
            },
            _ => Assumption::of_gate(key, value),
        }
    }

    fn of_gate(key: &str, value: &str) -> Result<Assumption, String> {
        let (gate, of_server) = match key.strip_prefix("apiserver/") {
            Some(gate) => (gate, true),
            None => (key, false),
        };
        let gate = GATES.into_iter().find(|known| *known == gate).ok_or_else(|| {
            let gates = GATES.join(", ");
            format!(
                "expected one of pod-failure-backoff, pod-failure-backoff-max, max-uncounted-pods, audit-policy, or a gate ({gates}), \
                 apiserver/GATE for that of the API server"
            )
        })?;
        let on = match value {
            "true" => true,
            "false" => false,
            _ => return Err(format!("expected true or false, found {value:?}")),
        };
        Ok(if of_server { Assumption::ServerGate(gate, on) } else { Assumption::Gate(gate, on) })
    }

    fn apply(self, subject: &mut Subject) {
        let Subject { rules, constants, gates, logs_all } = subject;
        match self {
            Assumption::CompleteLog => *logs_all = true,
            Assumption::PodFailureBackoff(ms) => constants.pod_failure_backoff_ms = ms,
            Assumption::PodFailureBackoffMax(ms) => constants.pod_failure_backoff_max_ms = ms,
            Assumption::MaxUncountedPods(count) => constants.max_uncounted_pods = count,
            Assumption::Gate(gate, on) => *gates = gates.with(gate, on).unwrap_or(*gates),
            Assumption::ServerGate(gate, on) => *rules = rules.with_gate(gate, on).unwrap_or(*rules),
        }
    }
}

/// Reads a duration of at most a century, rounded to milliseconds.
///
/// # Errors
///
/// The text is no such duration.
pub fn milliseconds(text: &str) -> Result<i64, String> {
    // A longer duration is a mistake, and would overflow sums of times.
    const CENTURY: u128 = 100 * 366 * 24 * 3_600_000;
    let milliseconds = (parse_duration(text).map_err(|error| error.to_string())?.as_micros() + 500) / 1000;
    i64::try_from(milliseconds)
        .ok()
        .filter(|_| milliseconds < CENTURY)
        .ok_or_else(|| format!("expected a duration of at most a century, found {text:?}"))
}

/// Checks that the assumptions of a caller are consistent.
///
/// # Errors
///
/// A message that names the contradiction.
pub fn consistent(assume: &[Assumption]) -> Result<(), String> {
    let mut subject = Subject::default();
    assume.iter().for_each(|assumption| assumption.apply(&mut subject));
    fits(&subject.constants)
}

fn fits(constants: &Constants) -> Result<(), String> {
    let (first, longest) = (constants.pod_failure_backoff_ms, constants.pod_failure_backoff_max_ms);
    if first <= longest {
        return Ok(());
    }
    Err(format!(
        "expected a pod-failure-backoff of at most pod-failure-backoff-max, found {first} ms and {longest} ms"
    ))
}

/// Reads a version of Kubernetes, such as `1.36`, `v1.36.3`, or `v1.36.3-gke.1`.
///
/// # Errors
///
/// A message with the supported versions.
pub fn rules(version: &str) -> Result<RuleSet, String> {
    minor_of(version)
        .and_then(RuleSet::of)
        .ok_or_else(|| "expected 1.34, 1.35, 1.36, 1.37 or 1.38".to_owned())
}

/// The assumptions for a trace. The caller's take precedence over the header's, and those over the defaults.
pub(super) fn assumed(
    header: Option<&Header>,
    kubernetes: Option<RuleSet>,
    assume: &[Assumption],
) -> Result<Subject, String> {
    let stated = header.and_then(|header| header.kubernetes.as_deref());
    let rules = match (kubernetes, stated) {
        (Some(rule_set), _) => rule_set,
        (None, Some(version)) => rules(version).map_err(|problem| format!("{problem}, found {version:?}"))?,
        (None, None) => RuleSet::default(),
    };
    let mut subject = Subject::default().on(rules);
    for (key, value) in header.into_iter().flat_map(|header| &header.assume) {
        Assumption::of(key, value).map_err(|problem| format!("assume.{key}: {problem}"))?.apply(&mut subject);
    }
    assume.iter().for_each(|assumption| assumption.apply(&mut subject));
    fits(&subject.constants)?;
    Ok(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_milliseconds() {
        for (text, expected) in [("0", 0), ("499us", 0), ("500us", 1), ("1.4999ms", 1), ("1m30s", 90_000)] {
            assert_eq!(milliseconds(text), Ok(expected), "{text}");
        }
        for text in ["", "10", "-1s", "878400h", "2562047h"] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
        assert_eq!(milliseconds("878399h"), Ok(878_399 * 3_600_000));
    }

    #[test]
    fn versions_are_read_as_kubernetes_writes_them() {
        for (text, minor) in [("1.36", 36), ("v1.34", 34), ("1.35.4", 35), ("1.37", 37)] {
            assert_eq!(rules(text).map(|rules| rules.minor), Ok(minor));
        }
        for (text, minor) in
            [("1.38.0-beta.0", 38), ("v1.36.3-gke.1234", 36), ("v1.35.4+k3s1", 35), ("1.36+", 36)]
        {
            assert_eq!(rules(text).map(|rules| rules.minor), Ok(minor));
        }
        for text in ["1.33", "1.39", "2.36", "36", "1.36.x", "", "latest", "1.36.1.1", "1.36-beta"] {
            assert!(rules(text).is_err(), "{text}");
        }
    }

    #[test]
    fn assumptions_are_known_keys_with_values_of_their_type() {
        assert_eq!(Assumption::parse("pod-failure-backoff=100ms"), Ok(Assumption::PodFailureBackoff(100)));
        assert_eq!(Assumption::parse("max-uncounted-pods=10"), Ok(Assumption::MaxUncountedPods(10)));
        assert_eq!(Assumption::parse("audit-policy=complete"), Ok(Assumption::CompleteLog));
        for text in [
            "audit-policy=narrow",
            "max-uncounted-pods=-1",
            "max-uncounted-pods=0",
            "max-uncounted-pods=10s",
            "backoff=1s",
            "pod-failure-backoff",
            "JobManagedBy=off",
            "JobManaged=false",
            "server/JobManagedBy=false",
            "=1",
        ] {
            assert!(Assumption::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn gates_are_those_of_the_controller_or_of_the_server() {
        let mut header = Header::new();
        header.assume.insert("JobManagedBy".to_owned(), "false".to_owned());
        header.assume.insert("apiserver/JobSuccessPolicy".to_owned(), "false".to_owned());
        let subject = assumed(Some(&header), None, &[]).unwrap();
        assert_eq!(subject.gates.off(), ["JobManagedBy"]);
        assert_eq!(subject.rules.gates().off(), ["JobSuccessPolicy"]);
        assert_eq!(assumed(None, None, &[]), Ok(Subject::default()));
    }

    #[test]
    fn the_caller_overrides_the_header_and_the_header_the_defaults() {
        let mut header = Header::new();
        header.kubernetes = Some("1.34".to_owned());
        header.assume.insert("pod-failure-backoff".to_owned(), "100ms".to_owned());
        header.assume.insert("pod-failure-backoff-max".to_owned(), "50ms".to_owned());
        assert!(assumed(Some(&header), None, &[]).is_err());
        header.assume.remove("pod-failure-backoff-max");
        let from_header = assumed(Some(&header), None, &[]);
        assert!(
            from_header.is_ok_and(|it| it.rules.minor == 34 && it.constants.pod_failure_backoff_ms == 100)
        );
        let mine = [Assumption::PodFailureBackoff(5)];
        let from_caller = assumed(Some(&header), Some(RuleSet::V1_35), &mine);
        assert!(from_caller.is_ok_and(|it| it.rules.minor == 35 && it.constants.pod_failure_backoff_ms == 5));
        header.kubernetes = Some("1.12".to_owned());
        assert!(assumed(Some(&header), None, &[]).is_err());
    }
}
