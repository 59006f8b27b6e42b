//! Random Jobs and steps.

use std::ops::RangeInclusive;

use super::Menu;
use crate::rng::Rng;

/// The numbers of the steps that concern controllers.
const FAULTS: RangeInclusive<usize> = 15..=20;

/// The codes of failed requests: the first only for creations, and the second not for a PATCH of a pod. 404 for
/// another write would mean that the object was removed. After a 422 for a finalizer removal, Kubernetes 1.36 and the
/// shipped controllers conclude that the pod was replaced, and skip it.
const CODES: [u16; 7] = [404, 422, 403, 409, 429, 500, 504];

/// One of this number of steps is a rare one, under virtual time.
const RARE: usize = 6;

/// The random choices of a draft.
pub(super) struct Random {
    rng: Rng,
    /// The sequence for codes. It is separate, so that seeds keep the steps that they had before codes existed.
    codes: Rng,
    /// The sequence for rare steps, which is separate for the same reason.
    rare: Rng,
    menu: Menu,
}

impl Random {
    pub(super) fn seeded(seed: u64, menu: Menu) -> Random {
        let stream = |number: u64| Rng::seeded(seed ^ number);
        Random { rng: stream(0), codes: stream(0xc0de), rare: stream(0x7a7e), menu }
    }

    fn below(&mut self, count: usize) -> usize {
        self.rng.below(count)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.rng.next()
    }

    pub(super) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns the fields of a valid Job.
    pub(super) fn spec(&mut self) -> Vec<String> {
        let indexed = self.chance(2);
        let work_queue = !indexed && self.chance(4);
        let completions = self.between(1, 4);
        let mut spec = Vec::new();
        if !work_queue {
            spec.push(format!("completions: {completions}"));
        }
        spec.push(format!("parallelism: {}", self.between(1, 4)));
        let per_index = indexed && self.chance(2);
        if indexed {
            spec.push("completionMode: Indexed".to_owned());
        }
        if per_index {
            spec.push(format!("backoffLimitPerIndex: {}", self.below(3)));
            if self.chance(2) {
                spec.push(format!("maxFailedIndexes: {}", self.below(completions + 1)));
            }
        } else if !self.chance(4) {
            spec.push(format!("backoffLimit: {}", self.below(4)));
        }
        if self.chance(3) {
            let actions = ["Ignore", "Count", "FailJob", "FailIndex"];
            let action = self.one(&actions[..if per_index { 4 } else { 3 }]);
            let by_code = format!("{{action: {action}, onExitCodes: {{operator: In, values: [42]}}}}");
            let by_condition = self.disruption(per_index);
            spec.push(format!("podFailurePolicy: {{rules: [{by_code}{by_condition}]}}"));
        } else if self.chance(2) {
            spec.push(format!("podReplacementPolicy: {}", self.one(&["Failed", "TerminatingOrFailed"])));
        }
        if indexed && self.chance(4) {
            spec.push(format!(
                "successPolicy: {{rules: [{{succeededCount: {}}}]}}",
                self.between(1, completions)
            ));
        }
        if self.chance(5) {
            spec.push(format!("activeDeadlineSeconds: {}", self.between(1, 20)));
        }
        if self.chance(5) {
            spec.push(format!("ttlSecondsAfterFinished: {}", self.below(10)));
        }
        if self.chance(8) {
            spec.push("suspend: true".to_owned());
        }
        spec
    }

    /// Returns a second rule, for evicted pods.
    fn disruption(&mut self, per_index: bool) -> String {
        let actions = ["Ignore", "Count", "FailJob", "FailIndex"];
        let choice = self.rare.below(8);
        let possible = &actions[..if per_index { 4 } else { 3 }];
        let rule = |action| format!(", {{action: {action}, onPodConditions: [{{type: DisruptionTarget}}]}}");
        possible.get(choice).map(rule).unwrap_or_default()
    }

    /// Returns the maximum number of UIDs in the status. `None`: the default.
    pub(super) fn most_uncounted(&mut self) -> Option<usize> {
        (!self.menu.real_time && self.rare.below(4) == 0).then(|| 1 + self.rare.below(3))
    }

    fn pod(&mut self) -> String {
        if self.chance(4) { "{}".to_owned() } else { format!("{{pod: {}}}", self.between(1, 6)) }
    }

    /// Chooses a kind of step from the menu, by its number in [`Random::step`].
    fn kind(&mut self) -> usize {
        loop {
            let kind = self.below(24);
            if self.menu.faults || !FAULTS.contains(&kind) {
                return kind;
            }
        }
    }

    /// Returns one step, or several that belong together.
    pub(super) fn step(&mut self, spec: &[String]) -> Vec<String> {
        let one = |step: String| vec![step];
        if !self.menu.real_time && self.rare.below(RARE) == 0 {
            return one(self.rare_step());
        }
        match self.kind() {
            0..=4 => one(format!("succeed: {}", self.pod())),
            5..=7 => one(format!("fail: {{pod: {}, exitCode: {}}}", self.between(1, 6), self.one(&[1, 42]))),
            8 => one(format!("run: {}", self.pod())),
            9 => one(format!("ready: {}", self.pod())),
            10 => one(format!("evict: {}", self.pod())),
            11 => one(format!("deletePod: {{pod: {}, force: {}}}", self.between(1, 6), self.chance(4))),
            12 => one(format!("{}: {}", self.one(&["loseNode", "podGC", "relabel", "disown"]), self.pod())),
            13 => one(format!("edit: {{suspend: {}}}", self.chance(2))),
            14 => one(self.rescaling(spec)),
            15 => one("crash: {}".to_owned()),
            16 => {
                let request = self.request();
                vec![format!("crash: {{during: {{{request}}}}}"), "lateRequest: {}".to_owned()]
            }
            17..=19 => {
                let request = self.request();
                let outcome = self.one(&["fails", "answerLost"]);
                let code = if outcome == "fails" { self.code(&request) } else { String::new() };
                one(format!("request: {{{request}, outcome: {outcome}{code}}}"))
            }
            20 => self.watch(),
            21 => one(format!("advance: {}s", self.between(1, if self.menu.real_time { 3 } else { 15 }))),
            22 => one("settle: {}".to_owned()),
            _ if self.chance(3) => {
                let propagation = self.one(&["Foreground", "Background", "Orphan"]);
                vec![format!("deleteJob: {{propagation: {propagation}}}"), "recreate: {}".to_owned()]
            }
            _ if self.menu.faults => one("catchUp: {}".to_owned()),
            _ => one("settle: {}".to_owned()),
        }
    }

    /// Returns a rare step.
    fn rare_step(&mut self) -> String {
        let pod = |rare: &mut Rng| format!("{{pod: {}}}", 1 + rare.below(6));
        let rare = &mut self.rare;
        match rare.below(if self.menu.faults { 8 } else { 6 }) {
            0 => format!("{}: {}", ["flip", "unready", "restart"][rare.below(3)], pod(rare)),
            1 => format!("edit: {{ttlSecondsAfterFinished: {}}}", ["null", "0", "5"][rare.below(3)]),
            2 => format!("edit: {{activeDeadlineSeconds: {}}}", ["null", "1", "20"][rare.below(3)]),
            3 => format!(
                "edit: {{{}: {}}}",
                ["backoffLimit", "maxFailedIndexes"][rare.below(2)],
                rare.below(3)
            ),
            4 => {
                format!(
                    "edit: {{podReplacementPolicy: {}}}",
                    ["Failed", "TerminatingOrFailed"][rare.below(2)]
                )
            }
            5 => format!("deny: {{condition: {}}}", ["FailureTarget", "Failed"][rare.below(2)]),
            6 => format!("expire: {{watch: {}}}", ["pods", "jobs"][rare.below(2)]),
            _ => {
                let gate =
                    ["JobPodReplacementPolicy", "JobBackoffLimitPerIndex", "JobSuccessPolicy"][rare.below(3)];
                format!("rollout: {{featureGates: {{{gate}: {}}}}}", rare.below(2) == 0)
            }
        }
    }

    /// Returns steps that hold and release a watch, or expire it.
    fn watch(&mut self) -> Vec<String> {
        let watch = self.one(&["pods", "jobs"]);
        // Under virtual time watches lag anyway.
        let happenings: &[&str] = match self.menu.real_time {
            false => &["hold", "release"],
            true => self.one(&[&["hold", "release"][..], &["expire"], &["hold", "expire", "release"]]),
        };
        happenings.iter().map(|what| format!("{what}: {{watch: {watch}}}")).collect()
    }

    /// Returns a change of `parallelism`, for an Indexed Job together with `completions`.
    fn rescaling(&mut self, spec: &[String]) -> String {
        let to = self.between(1, 4);
        if spec.iter().any(|field| field.starts_with("completionMode")) {
            format!("edit: {{parallelism: {to}, completions: {to}}}")
        } else {
            format!("edit: {{parallelism: {to}}}")
        }
    }

    /// Returns the code of a failed request.
    fn code(&mut self, request: &str) -> String {
        let left_out = match () {
            () if request.starts_with("verb: create") => 0,
            () if request.starts_with("verb: patch") => 2,
            () => 1,
        };
        let codes = &CODES[left_out..];
        format!(", code: {}", codes[self.codes.below(codes.len())])
    }

    fn request(&mut self) -> String {
        let kinds = [
            "verb: update, resource: jobs/status",
            "verb: create, resource: pods",
            "verb: patch, resource: pods",
            "verb: delete, resource: pods",
        ];
        let (kind, nth) = (self.one(&kinds), self.between(1, 3));
        format!("{kind}, nth: {nth}")
    }
}
