//! Edits of right aggregators. Each breaks one rule at the position of a status write, or none.
//!
//! An edit returns `None` where it makes no sense. The oracle reads the members alone.

use serde_json::{Value, json};

use super::fleet::{Act, Event, Fleet, condition, has, time};
use crate::time::{SECOND, moved};

/// An edit of a Job at a position.
pub type Edit = fn(&mut Fleet, usize) -> Option<()>;

/// The classes: the rule that they break, their name, and the edit.
#[must_use]
pub fn classes() -> Vec<(&'static str, &'static str, Edit)> {
    vec![
        ("MR-30", "a success is counted again", |fleet, at| counted_again(fleet, at, "succeeded")),
        ("MR-30", "a failure is counted again", |fleet, at| counted_again(fleet, at, "failed")),
        ("MR-30", "a success is left out at rest", |fleet, at| left_out(fleet, at, "succeeded")),
        ("MR-30", "a failure is left out at rest", |fleet, at| left_out(fleet, at, "failed")),
        ("MR-30", "a failure is left out at the end", failure_lost_at_the_end),
        ("MR-30", "the counts of a member leave with it", counts_leave),
        ("MR-31", "FailureTarget before a member has failed", early_failure),
        ("MR-31", "the end while a member has active pods", early_end),
        ("MR-31", "the end while a member has terminating pods", end_while_terminating),
        ("MR-31", "Failed without FailureTarget", failed_alone),
        ("MR-31", "Failed by the rule that is not declared", other_rule),
        ("MR-32", "an end without its interim condition", end_like_the_older),
        ("MR-32", "an end that is refused for ever", refused_for_ever),
        ("MR-33", "an end before there is a member", end_of_nothing),
        ("MR-33", "an end once all members are removed", end_of_removed),
        ("right", "a status is missed", missed),
        ("right", "the cache of the members lags for 15 s", lagging),
        ("right", "the clocks of the members are 4 s behind", |fleet, at| skewed(fleet, at, -4)),
        ("right", "the clocks of the members are 4 s ahead", |fleet, at| skewed(fleet, at, 4)),
        ("right", "the clusters are given in another order", reordered),
        ("right", "the members are removed after the end", removed_after_the_end),
        ("right", "the trace ends early", |fleet, at| is_open(fleet, at).then(|| fleet.rests_after(at))),
    ]
}

fn number(status: &Value, name: &str) -> i64 {
    status[name].as_i64().unwrap_or(0)
}

fn add(status: &mut Value, name: &str, more: i64) {
    status[name] = json!(number(status, name) + more);
}

fn is_over(status: &Value) -> bool {
    has(status, "Complete") || has(status, "Failed")
}

/// The Job is not decided by the write at a position.
fn is_open(fleet: &Fleet, at: usize) -> bool {
    fleet.status(at)["conditions"].is_null()
}

fn counted_again(fleet: &mut Fleet, at: usize, name: &str) -> Option<()> {
    let fits =
        number(fleet.status(at), name) > 0 && number(fleet.status(at), "succeeded") < fleet.completions;
    fleet.from(at, &|status| add(status, name, 1));
    fits.then_some(())
}

fn left_out(fleet: &mut Fleet, at: usize, name: &str) -> Option<()> {
    // Counts of a member that was removed at once may not have been seen.
    let fits = number(fleet.status(at), name) > 0 && is_open(fleet, at) && fleet.local[at].at < 90;
    fleet.rests_after(at);
    fleet.from(1, &|status| status[name] = json!((number(status, name) - 1).max(0)));
    fits.then_some(())
}

/// A failure is left out of the end. The writes before have counted it.
fn failure_lost_at_the_end(fleet: &mut Fleet, at: usize) -> Option<()> {
    let ends = is_over(fleet.status(at)) && has(fleet.status(at), "Failed");
    fleet.from(at, &|status| add(status, "failed", -1));
    ends.then_some(())
}

fn counts_leave(fleet: &mut Fleet, at: usize) -> Option<()> {
    let second = fleet.local[at].at;
    let (_, gone) = fleet.members.iter().find(|(_, events)| {
        events.last().is_some_and(|event| event.act == Act::Remove && event.at + 1 == second)
    })?;
    let counted = gone.iter().rev().find_map(|event| match &event.act {
        Act::Status(status) => Some(number(status, "succeeded")),
        _ => None,
    })?;
    fleet.from(at, &|status| add(status, "succeeded", -counted));
    Some(())
}

/// A member has failed, or has decided to fail, at a second.
fn failures(fleet: &Fleet, second: i64) -> usize {
    let fails = |event: &Event| {
        event.at <= second
            && matches!(&event.act, Act::Status(status) if has(status, "Failed") || has(status, "FailureTarget"))
    };
    fleet.members.iter().filter(|(_, events)| events.iter().any(fails)).count()
}

fn early_failure(fleet: &mut Fleet, at: usize) -> Option<()> {
    let second = fleet.local[at].at;
    let fits = failures(fleet, second + 5) == 0 && is_open(fleet, at);
    fleet.rests_after(at);
    fleet.from(at, &|status| status["conditions"] = json!([condition("FailureTarget", second)]));
    fits.then_some(())
}

fn is_busy(fleet: &Fleet, at: usize) -> bool {
    number(fleet.status(at), "active") > 0
}

/// Ends the Job at a position, as it ends later.
fn end_here(fleet: &mut Fleet, at: usize) -> Option<()> {
    let second = fleet.local[at].at;
    let (interim, terminal) = if failures(fleet, second) > 0 {
        ("FailureTarget", "Failed")
    } else {
        ("SuccessCriteriaMet", "Complete")
    };
    fleet.local.truncate(at + 1);
    fleet.from(at, &|status| {
        status["conditions"] = json!([condition(interim, second), condition(terminal, second)]);
        status["active"] = json!(0);
        if terminal == "Complete" {
            status["completionTime"] = time(second);
        }
    });
    Some(())
}

fn early_end(fleet: &mut Fleet, at: usize) -> Option<()> {
    // The members that have active pods are known to have them by a write before.
    let is_known =
        at > 1 && matches!(&fleet.local[at - 1].act, Act::Status(status) if number(status, "active") > 0);
    let second = fleet.local[at].at;
    let is_still = fleet.members.iter().any(|(_, events)| {
        let shown = events.iter().rev().find(|event| event.at <= second + 5);
        let is_active = |act: &Act| matches!(act, Act::Status(status) if number(status, "active") > 0);
        let has_been = events.iter().any(|event| event.at < second - 15 && is_active(&event.act));
        has_been && shown.is_some_and(|event| is_active(&event.act))
    });
    let fits =
        is_busy(fleet, at) && is_known && is_still && failures(fleet, second) > 0 && !fleet.fails_by_all;
    end_here(fleet, at).filter(|()| fits)
}

fn end_while_terminating(fleet: &mut Fleet, at: usize) -> Option<()> {
    // The pods of the last member take their time, and the aggregator has seen them end.
    let fits = is_over(fleet.status(at));
    let second = fleet.local[at].at;
    for (_, events) in &mut fleet.members {
        for event in events.iter_mut().filter(|event| event.at > second - 3) {
            if let Act::Status(status) = &mut event.act {
                status["terminating"] = json!(1);
                status["conditions"].as_array_mut().into_iter().for_each(|all| all.truncate(1));
                status.as_object_mut()?.remove("completionTime");
            }
        }
    }
    fits.then_some(())
}

fn failed_alone(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = has(fleet.status(at), "Failed");
    fleet.from(1, &|status| {
        let conditions = status["conditions"].as_array_mut();
        conditions.into_iter().for_each(|all| all.retain(|it| it["type"] != "FailureTarget"));
    });
    fits.then_some(())
}

fn other_rule(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = has(fleet.status(at), "FailureTarget") && !fleet.fails_by_all;
    let second = fleet.local[at].at;
    let is_one = failures(fleet, second + 5) < fleet.members.len();
    fleet.fails_by_all = true;
    (fits && is_one).then_some(())
}

fn has_older(fleet: &Fleet) -> bool {
    let is_older = |event: &Event| match &event.act {
        Act::Status(status) => is_over(status) && status["terminating"].is_null(),
        _ => false,
    };
    fleet.members.iter().any(|(_, events)| events.iter().any(is_older))
}

fn end_like_the_older(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = is_over(fleet.status(at)) && has_older(fleet);
    fleet.from(1, &|status| {
        let conditions = status["conditions"].as_array_mut();
        let is_interim = |it: &Value| it["type"] == "FailureTarget" || it["type"] == "SuccessCriteriaMet";
        conditions.into_iter().for_each(|all| all.retain(|it| !is_interim(it)));
    });
    fits.then_some(())
}

fn refused_for_ever(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = is_over(fleet.status(at)) && has_older(fleet);
    let asked = fleet.status(at).clone();
    let second = fleet.local[at].at;
    fleet.local.truncate(at);
    for turn in 0..3 {
        fleet.local.push(Event { at: second + 20 * turn, act: Act::Refused(asked.clone()) });
    }
    fits.then_some(())
}

fn end_of_nothing(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = is_over(fleet.status(at));
    fleet.local.truncate(at + 1);
    let delay = fleet.local[at].at + 10;
    for event in fleet.members.iter_mut().flat_map(|(_, events)| events) {
        event.at += delay;
    }
    fits.then_some(())
}

fn end_of_removed(fleet: &mut Fleet, at: usize) -> Option<()> {
    let second = fleet.local[at].at;
    let decides = |event: &Event| matches!(&event.act, Act::Status(status) if is_over(status));
    let is_decided =
        |(_, events): &(usize, Vec<Event>)| events.iter().any(|it| it.at < second && decides(it));
    let fits = is_open(fleet, at) && second > 50 && !fleet.members.iter().any(is_decided);
    for (_, events) in &mut fleet.members {
        events.retain(|event| event.at < second && event.act != Act::Remove);
        if let Some(last) = events.last() {
            let at = last.at.max(second - 10);
            events.push(Event { at, act: Act::Remove });
        }
    }
    fleet.members.retain(|(_, events)| !events.is_empty());
    fleet.local.truncate(at + 1);
    fleet.local[at].at += 10;
    end_here(fleet, at).filter(|()| fits)
}

fn missed(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = fleet.writes().last() != Some(&at) && fleet.status(at)["conditions"].is_null();
    fleet.local.remove(at);
    fits.then_some(())
}

fn lagging(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = at == 1;
    for event in &mut fleet.local[1..] {
        event.at += 15;
        if let Act::Status(status) = &mut event.act {
            for it in status["conditions"].as_array_mut().into_iter().flatten() {
                let later = it["lastTransitionTime"].as_str().and_then(|text| moved(text, 15 * SECOND));
                it["lastTransitionTime"] = json!(later);
            }
        }
    }
    fits.then_some(())
}

fn skewed(fleet: &mut Fleet, at: usize, by: i64) -> Option<()> {
    for event in fleet.members.iter_mut().flat_map(|(_, events)| events) {
        event.at += by;
    }
    (at == 1).then_some(())
}

fn reordered(fleet: &mut Fleet, at: usize) -> Option<()> {
    let last = fleet.members.iter().map(|(cluster, _)| *cluster).max()?;
    fleet.members.iter_mut().for_each(|(cluster, _)| *cluster = last - *cluster);
    (at == 1).then_some(())
}

fn removed_after_the_end(fleet: &mut Fleet, at: usize) -> Option<()> {
    let fits = is_over(fleet.status(at));
    let second = fleet.local[at].at;
    for (_, events) in &mut fleet.members {
        if events.last().is_some_and(|event| event.act != Act::Remove) {
            events.push(Event { at: second + 20, act: Act::Remove });
        }
    }
    fits.then_some(())
}
