//! The table of verdicts by class.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jobcheck_judge::report::Exit;
use serde_json::{Value, json};

use crate::class::{Class, Oracle};
use crate::run::Judged;

/// At most this share of the wrong edits may conform.
pub const CONFORM_AIM: f64 = 0.01;
/// At most this share of the wrong edits may be inconclusive.
pub const INCONCLUSIVE_AIM: f64 = 0.04;

/// The side of the table to which an oracle belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The edits that must be rejected.
    Wrong,
    /// The edits that must not conform.
    Partial,
    /// The edits that must give a warning.
    Advice,
    /// The edits that must not be rejected.
    Right,
    /// The edits that count for no aim.
    Open,
}

impl Side {
    /// The side of an answer.
    #[must_use]
    pub fn of(oracle: Oracle) -> Side {
        match oracle {
            Oracle::Wrong(_) => Side::Wrong,
            Oracle::Partial(_) => Side::Partial,
            Oracle::Advice(_) => Side::Advice,
            Oracle::Legal(_) => Side::Right,
            Oracle::Undecidable(_) => Side::Open,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Side::Wrong => "WRONG (must be rejected)",
            Side::Partial => "WRONG, IN PART HIDDEN (must not conform)",
            Side::Advice => "ADVICE (must give a warning)",
            Side::Right => "RIGHT (must not be rejected)",
            Side::Open => "UNDECIDABLE (counts for no aim)",
        }
    }
}

/// Numbers of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rejected.
    pub violates: usize,
    /// Inconclusive.
    pub inconclusive: usize,
    /// Accepted.
    pub conforms: usize,
    /// Not readable.
    pub unreadable: usize,
    /// The rule of the oracle is named.
    pub named: usize,
}

impl Tally {
    /// Adds a verdict.
    pub fn add(&mut self, judged: &Judged) {
        self.named += usize::from(judged.names_rule);
        match judged.exit {
            Exit::Violates => self.violates += 1,
            Exit::Inconclusive => self.inconclusive += 1,
            Exit::Conforms => self.conforms += 1,
            Exit::Unreadable | Exit::Environment | Exit::Internal => self.unreadable += 1,
        }
    }

    /// The number of edits.
    #[must_use]
    pub fn edits(&self) -> usize {
        self.violates + self.inconclusive + self.conforms + self.unreadable
    }

    /// A number as a share of the edits.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers of edits are far below 2^52")]
    pub fn share(&self, number: usize) -> f64 {
        if self.edits() == 0 { 0.0 } else { number as f64 / self.edits() as f64 }
    }
}

/// The rows of the table: the side, the group of classes, and the numbers.
#[must_use]
pub fn rows(judged: &[Judged], classes: &[Class], by_class: bool) -> BTreeMap<(Side, String), Tally> {
    let mut rows: BTreeMap<(Side, String), Tally> = BTreeMap::new();
    for it in judged {
        let class = &classes[it.class];
        let name = if by_class { class.name.clone() } else { class.group.to_owned() };
        rows.entry((Side::of(it.oracle), name)).or_default().add(it);
    }
    rows
}

/// The sum of one side.
#[must_use]
pub fn total(judged: &[Judged], side: Side) -> Tally {
    let mut tally = Tally::default();
    judged.iter().filter(|it| Side::of(it.oracle) == side).for_each(|it| tally.add(it));
    tally
}

/// Returns true if both aims are reached: few wrong edits pass, and no right edit is rejected.
#[must_use]
pub fn is_reached(judged: &[Judged]) -> bool {
    let (wrong, partial, right) =
        (total(judged, Side::Wrong), total(judged, Side::Partial), total(judged, Side::Right));
    let advice = total(judged, Side::Advice);
    wrong.share(wrong.conforms + wrong.unreadable) <= CONFORM_AIM
        && wrong.share(wrong.inconclusive) <= INCONCLUSIVE_AIM
        && partial.share(partial.conforms + partial.unreadable) <= CONFORM_AIM
        && advice.share(advice.conforms + advice.unreadable) <= CONFORM_AIM
        && right.violates + right.unreadable == 0
}

fn line(out: &mut String, name: &str, tally: &Tally) {
    let percent = |number: usize| 100.0 * tally.share(number);
    let Tally { violates, inconclusive, conforms, unreadable, .. } = *tally;
    let _ = writeln!(
        out,
        "{name:<42} {:>6} {violates:>9} {inconclusive:>6} {conforms:>6} {unreadable:>6}  {:>5.1} % {:>5.1} % {:>5.1} %",
        tally.edits(),
        percent(violates),
        percent(inconclusive),
        percent(conforms)
    );
}

/// The table as text.
#[must_use]
pub fn text(judged: &[Judged], classes: &[Class], by_class: bool) -> String {
    let mut out = String::new();
    let rows = rows(judged, classes, by_class);
    for side in [Side::Wrong, Side::Partial, Side::Advice, Side::Right, Side::Open] {
        if side == Side::Advice && total(judged, side).edits() == 0 {
            continue;
        }
        let _ = writeln!(
            out,
            "{:<42} {:>6} {:>9} {:>6} {:>6} {:>6}  violates inconcl conforms",
            side.title(),
            "edits",
            "violates",
            "incon.",
            "conf.",
            "unread"
        );
        for ((_, name), tally) in rows.iter().filter(|((of, _), _)| *of == side) {
            line(&mut out, name, tally);
        }
        line(&mut out, "total", &total(judged, side));
        out.push('\n');
    }
    let word = if is_reached(judged) { "reached" } else { "missed" };
    let _ = writeln!(
        out,
        "aims {word}: of wrong edits at most 1 % conform and 4 % are inconclusive; no right edit is rejected"
    );
    out
}

/// The table of the edits of mirrors, as Markdown: a row for each group of classes.
#[must_use]
pub fn markdown(judged: &[Judged], classes: &[Class]) -> String {
    let mut out = String::from(
        "| group | edits | violate | inconclusive | conform | the rule is named |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for ((side, name), it) in rows(judged, classes, false) {
        let named = match side {
            Side::Wrong | Side::Advice => format!("{:.1} %", 100.0 * it.share(it.named)),
            Side::Partial | Side::Right | Side::Open => "–".to_owned(),
        };
        let Tally { violates, inconclusive, conforms, .. } = it;
        let edits = it.edits();
        let _ = writeln!(out, "| {name} | {edits} | {violates} | {inconclusive} | {conforms} | {named} |");
    }
    out
}

/// The table as JSON.
#[must_use]
pub fn machine(judged: &[Judged], classes: &[Class]) -> Value {
    let rows: Vec<Value> = rows(judged, classes, true)
        .into_iter()
        .map(|((side, name), it)| {
            json!({
                "side": format!("{side:?}").to_lowercase(), "class": name, "edits": it.edits(),
                "violates": it.violates, "inconclusive": it.inconclusive, "conforms": it.conforms,
                "unreadable": it.unreadable,
            })
        })
        .collect();
    json!({ "rows": rows, "aimsReached": is_reached(judged) })
}
