//! UIDs of pods as texts of the API.

use std::sync::LazyLock;

use jobcheck_controller::values::{Text, Uid};
use jobcheck_spec::uid;

/// Texts with the same order as their numbers. No scope has more pods.
static TEXTS: LazyLock<Vec<Uid>> = LazyLock::new(|| (0..64).map(text).collect());

fn text(rank: usize) -> Uid {
    Uid::new(&format!("{rank:08}"))
}

/// A text for the UID of each pod. A plan may depend only on their order.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The UIDs, in the order of their texts.
    order: Vec<uid::Uid>,
}

impl Names {
    /// Names in this order.
    #[must_use]
    pub fn in_order(order: Vec<uid::Uid>) -> Names {
        Names { order }
    }

    /// The named UIDs, in the order of their texts.
    #[must_use]
    pub fn order(&self) -> &[uid::Uid] {
        &self.order
    }

    /// The text of a UID. A UID without a name has a text of its own.
    #[must_use]
    pub fn text(&self, uid: uid::Uid) -> Uid {
        match self.order.iter().position(|it| *it == uid) {
            Some(rank) => TEXTS.get(rank).cloned().unwrap_or_else(|| text(rank)),
            None => Uid(Text::from(format!("unnamed-{}", uid.0))),
        }
    }

    /// The UID of a text. Returns `None` if the text names no pod.
    #[must_use]
    pub fn uid(&self, text: &Uid) -> Option<uid::Uid> {
        let rank: usize = text.as_str().parse().ok()?;
        self.order.get(rank).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_requested_order() {
        let names = Names::in_order(vec![uid::Uid(7), uid::Uid(3)]);
        assert!(names.text(uid::Uid(7)) < names.text(uid::Uid(3)));
        for uid in names.order() {
            assert_eq!(names.uid(&names.text(*uid)), Some(*uid));
        }
        assert_eq!(names.uid(&names.text(uid::Uid(5))), None);
        assert_eq!(names.uid(&Uid::new("3f2a")), None);
    }
}
