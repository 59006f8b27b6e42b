//! The numbers of the service, for Prometheus.

use jobcheck_judge::report::DEVIATIONS;
use jobcheck_judge::validate::Outcome;
use jobcheck_spec::CATALOGUE;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The labels of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Verdicts {
    verdict: String,
}

/// The labels of a violation. Names of Jobs are none, because their number has no bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Violations {
    requirement: String,
    known: String,
}

pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) verdicts: Family<Verdicts, Counter>,
    pub(crate) violations: Family<Violations, Counter>,
    pub(crate) records: Counter,
    pub(crate) unclaimed: Counter,
    pub(crate) late: Counter,
    pub(crate) gaps: Counter,
    pub(crate) given_up: Counter,
    pub(crate) living: Gauge,
    pub(crate) last_record: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("jobcheck_watch");
        let (verdicts, violations) = (Family::default(), Family::default());
        let [records, unclaimed, late, gaps, given_up] = [(); 5].map(|()| Counter::default());
        let [living, last_record] = [(); 2].map(|()| Gauge::default());
        registry.register(
            "verdicts",
            "Jobs that were judged for the last time, by verdict",
            verdicts.clone(),
        );
        registry.register("violations", "Violations by requirement and known deviation", violations.clone());
        registry.register("records", "Writes to Jobs and pods that were read", records.clone());
        registry.register("unclaimed_records", "Writes that belong to no known Job", unclaimed.clone());
        registry.register("late_records", "Writes to Jobs that were judged for the last time", late.clone());
        registry.register("gaps", "Places where audit events may be missing", gaps.clone());
        registry.register(
            "given_up_jobs",
            "Jobs that exceeded a limit, so that they are not judged",
            given_up.clone(),
        );
        registry.register("living_jobs", "Jobs whose records are kept", living.clone());
        let about = "Time of the last write that was read, in seconds since 1970";
        registry.register("last_record_timestamp_seconds", about, last_record.clone());
        show_all(&violations);
        Metrics {
            registry,
            verdicts,
            violations,
            records,
            unclaimed,
            late,
            gaps,
            given_up,
            living,
            last_record,
        }
    }

    pub(crate) fn judged(&self, verdict: Outcome) {
        self.verdicts.get_or_create(&Verdicts { verdict: verdict.to_string() }).inc();
    }

    pub(crate) fn violated(&self, requirement: &str, known: Option<&str>) {
        let labels =
            Violations { requirement: requirement.to_owned(), known: known.unwrap_or_default().to_owned() };
        self.violations.get_or_create(&labels).inc();
    }

    /// The text format of OpenMetrics.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a text takes everything");
        text
    }
}

/// Shows every series from the start. An increase is only seen in a series that was there before.
fn show_all(violations: &Family<Violations, Counter>) {
    let known = DEVIATIONS.iter().map(|it| it.req.id());
    let both = known.flat_map(|id| [(id, id), (id, "")]);
    let all = CATALOGUE.iter().map(|entry| (entry.req.id(), ""));
    for (requirement, known) in both.chain(all) {
        let labels = Violations { requirement: requirement.to_owned(), known: known.to_owned() };
        drop(violations.get_or_create(&labels));
    }
}
