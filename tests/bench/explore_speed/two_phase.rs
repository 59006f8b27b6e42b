//! Two-phase commit, the community example of TLA+ (`TwoPhase.tla` of the repository `tlaplus/Examples`).
//!
//! The numbers of states are known: 288 with 3 resource managers, 296448 with 7, and 1745408 with 8.

use jobcheck_explorer::engine::System;
use stateright::{Model, Property};

/// Two-phase commit with this number of resource managers, at most 8.
#[derive(Clone, Copy)]
pub struct TwoPhase(pub u8);

/// A state. Sets have one bit per resource manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct State {
    prepared: u8,
    committed: u8,
    aborted: u8,
    /// 0 before the decision, then [`COMMIT`] or [`ABORT`].
    decided: u8,
    /// Resource managers whose message the transaction manager has read.
    read: u8,
    /// Resource managers that have sent `Prepared`.
    sent: u8,
    /// The messages [`COMMIT`] and [`ABORT`] that were sent.
    decisions: u8,
}

const COMMIT: u8 = 1;
const ABORT: u8 = 2;

/// The actions of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    TmCommit,
    TmAbort,
    TmReceive(u8),
    Prepare(u8),
    ChooseToAbort(u8),
    ReceiveCommit(u8),
    ReceiveAbort(u8),
}

impl TwoPhase {
    fn enabled(self, state: &State, actions: &mut Vec<Action>) {
        let all = (0..self.0).fold(0u8, |all, rm| all | 1 << rm);
        if state.decided == 0 && state.read == all {
            actions.push(Action::TmCommit);
        }
        if state.decided == 0 {
            actions.push(Action::TmAbort);
        }
        for rm in 0..self.0 {
            let bit = 1 << rm;
            if state.decided == 0 && state.sent & bit != 0 {
                actions.push(Action::TmReceive(rm));
            }
            if (state.prepared | state.committed | state.aborted) & bit == 0 {
                actions.push(Action::Prepare(rm));
                actions.push(Action::ChooseToAbort(rm));
            }
            if state.decisions & COMMIT != 0 {
                actions.push(Action::ReceiveCommit(rm));
            }
            if state.decisions & ABORT != 0 {
                actions.push(Action::ReceiveAbort(rm));
            }
        }
    }

    fn next(state: &State, action: Action) -> State {
        let mut next = *state;
        match action {
            Action::TmCommit => (next.decided, next.decisions) = (COMMIT, next.decisions | COMMIT),
            Action::TmAbort => (next.decided, next.decisions) = (ABORT, next.decisions | ABORT),
            Action::TmReceive(rm) => next.read |= 1 << rm,
            Action::Prepare(rm) => {
                (next.prepared, next.sent) = (next.prepared | 1 << rm, next.sent | 1 << rm)
            }
            Action::ChooseToAbort(rm) => next.aborted |= 1 << rm,
            Action::ReceiveCommit(rm) => next.enter(rm, COMMIT),
            Action::ReceiveAbort(rm) => next.enter(rm, ABORT),
        }
        next
    }
}

impl State {
    fn enter(&mut self, rm: u8, end: u8) {
        let bit = 1 << rm;
        self.prepared &= !bit;
        self.committed &= !bit;
        self.aborted &= !bit;
        match end {
            COMMIT => self.committed |= bit,
            _ => self.aborted |= bit,
        }
    }

    fn is_consistent(&self) -> bool {
        self.committed == 0 || self.aborted == 0
    }
}

impl System for TwoPhase {
    type State = State;
    type Step = Action;
    type Scratch = ();

    const KINDS: usize = 1;

    fn scratch(&self) {}

    fn initial(&self, (): &mut ()) -> Vec<State> {
        vec![State::default()]
    }

    fn steps(&self, (): &mut (), state: &State, steps: &mut Vec<Action>) {
        self.enabled(state, steps);
    }

    fn apply(&self, (): &mut (), state: &State, step: &Action) -> State {
        TwoPhase::next(state, *step)
    }

    fn look(&self, (): &mut (), state: &State, _: &[Action]) -> Option<usize> {
        (!state.is_consistent()).then_some(0)
    }

    fn kind(&self, _: &Action) -> usize {
        0
    }
}

impl Model for TwoPhase {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.enabled(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(TwoPhase::next(state, action))
    }

    fn properties(&self) -> Vec<Property<TwoPhase>> {
        vec![Property::always("consistent", |_: &TwoPhase, state: &State| state.is_consistent())]
    }
}
