//! UIDs as the API spells them.

use std::sync::LazyLock;

use jobcheck_controller::values::{Text, Uid};
use jobcheck_spec::uid;

/// Texts whose order is that of their numbers. More pods than these a scope cannot have.
static TEXTS: LazyLock<Vec<Uid>> = LazyLock::new(|| (0..64).map(text).collect());

fn text(rank: usize) -> Uid {
    Uid::new(&format!("{rank:08}"))
}

/// A text for each UID of pods. Their order is all that a decision may read from them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// By rank: the text of the first is the smallest.
    order: Vec<uid::Uid>,
}

impl Names {
    /// Ranks in this order.
    #[must_use]
    pub fn in_order(order: Vec<uid::Uid>) -> Names {
        Names { order }
    }

    /// All that have a name, in the order of the names.
    #[must_use]
    pub fn order(&self) -> &[uid::Uid] {
        &self.order
    }

    /// The text of a UID; of one that was not named, a text that no other has.
    #[must_use]
    pub fn text(&self, uid: uid::Uid) -> Uid {
        match self.order.iter().position(|it| *it == uid) {
            Some(rank) => TEXTS.get(rank).cloned().unwrap_or_else(|| text(rank)),
            None => Uid(Text::from(format!("unnamed-{}", uid.0))),
        }
    }

    /// The UID of a text; none if the text is nobody's.
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
    fn texts_are_in_the_order_that_is_asked_for() {
        let names = Names::in_order(vec![uid::Uid(7), uid::Uid(3)]);
        assert!(names.text(uid::Uid(7)) < names.text(uid::Uid(3)));
        for uid in names.order() {
            assert_eq!(names.uid(&names.text(*uid)), Some(*uid));
        }
        assert_eq!(names.uid(&names.text(uid::Uid(5))), None);
        assert_eq!(names.uid(&Uid::new("3f2a")), None);
    }
}
