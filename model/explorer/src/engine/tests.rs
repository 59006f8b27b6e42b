use super::*;

/// Tokens on a line of cells. A step moves one token to the right. Tokens may be indistinguishable.
struct Tokens {
    count: usize,
    cells: u8,
    alike: bool,
    /// The sum of all positions that breaks the property.
    broken_at: Option<u32>,
}

impl System for Tokens {
    type State = Vec<u8>;
    type Step = usize;
    type Scratch = usize;

    const KINDS: usize = 2;

    fn scratch(&self) -> usize {
        0
    }

    fn initial(&self, _: &mut usize) -> Vec<Vec<u8>> {
        vec![vec![0; self.count]]
    }

    fn steps(&self, _: &mut usize, state: &Vec<u8>, steps: &mut Vec<usize>) {
        steps.extend((0..state.len()).filter(|token| state[*token] + 1 < self.cells));
    }

    fn apply(&self, _: &mut usize, state: &Vec<u8>, step: &usize) -> Vec<u8> {
        let mut next = state.clone();
        next[*step] += 1;
        next
    }

    fn look(&self, looked: &mut usize, state: &Vec<u8>, _: &[usize]) -> Option<usize> {
        *looked += 1;
        let sum: u32 = state.iter().map(|cell| u32::from(*cell)).sum();
        (self.broken_at == Some(sum)).then_some(3)
    }

    fn kind(&self, step: &usize) -> usize {
        step % 2
    }

    fn representative(&self, _: &mut usize, mut state: Vec<u8>) -> Vec<u8> {
        if self.alike {
            state.sort_unstable();
        }
        state
    }
}

const TOKENS: Tokens = Tokens { count: 4, cells: 9, alike: false, broken_at: None };

#[test]
fn every_state_is_counted_and_looked_at_once() {
    let run = explore(&TOKENS, &Limits::none(1));
    assert_eq!((run.end, run.store.len(), run.depth), (End::Exhausted, 9usize.pow(4), 32));
    assert_eq!(run.scratches, [9usize.pow(4)]);
    let taken: u64 = run.coverage.iter().map(|it| it.taken).sum();
    let fresh: u64 = run.coverage.iter().map(|it| it.fresh).sum();
    assert_eq!((taken, taken + 1, fresh + 1), (4 * 8 * 729, run.generated, 9u64.pow(4)));
    assert!(run.coverage.iter().all(|it| it.taken == 2 * 8 * 729));
}

#[test]
fn threads_number_the_states_alike() {
    let numbered = |threads: usize| -> Vec<Vec<u8>> {
        let run = explore(&TOKENS, &Limits::none(threads));
        assert_eq!(run.scratches.iter().sum::<usize>(), 9usize.pow(4));
        run.store.states().map(|(_, state)| state.clone()).collect()
    };
    let one = numbered(1);
    assert_eq!(numbered(2), one);
    assert_eq!(numbered(7), one);
}

#[test]
fn a_way_to_what_is_broken_is_one_of_the_shortest_and_can_be_walked() {
    for alike in [false, true] {
        for threads in [1, 3] {
            let tokens = Tokens { alike, broken_at: Some(11), ..TOKENS };
            let run = explore(&tokens, &Limits::none(threads));
            let End::Broken { property: 3, state } = run.end else { panic!("{:?}", run.end) };
            let path = path_to(&tokens, &run, state);
            assert_eq!(path.len(), 11);
            let walk = |state: Vec<u8>, step: &usize| tokens.apply(&mut 0, &state, step);
            let end = path.iter().fold(vec![0; 4], walk);
            assert_eq!(tokens.representative(&mut 0, end), *run.store.state(state));
        }
    }
}

#[test]
fn representatives_are_the_multisets() {
    let run = explore(&Tokens { alike: true, ..TOKENS }, &Limits::none(2));
    // 4 tokens in 9 cells: 12 choose 4.
    assert_eq!((run.store.len(), run.depth), (495, 32));
}

#[test]
fn a_limit_is_no_end() {
    let most = |states: usize| Limits { max_states: Some(states), ..Limits::none(1) };
    assert_eq!(explore(&TOKENS, &most(6560)).end, End::Cut(Cut::States));
    assert_eq!(explore(&TOKENS, &most(6561)).end, End::Exhausted);
    let full = Limits { max_memory: Some(1 << 30), memory: &|| Some(1 << 31), ..Limits::none(2) };
    assert_eq!(explore(&TOKENS, &full).end, End::Cut(Cut::Memory));
    let delayed = Limits { stop: &|| true, ..Limits::none(2) };
    assert_eq!(explore(&TOKENS, &delayed).end, End::Cut(Cut::Time));
}

#[test]
fn progress_ends_with_all_states() {
    let last = std::cell::Cell::new(None);
    let limits = Limits { progress: &|it| last.set(Some(*it)), ..Limits::none(1) };
    explore(&TOKENS, &limits);
    let expected = Progress { states: 6561, frontier: 0, depth: 32, estimate: Some(6561) };
    assert_eq!(last.get(), Some(expected));
}

#[test]
fn the_graph_has_every_step() {
    let run = explore(&TOKENS, &Limits::none(1));
    let mut count = 0u64;
    for (from, state) in run.store.states() {
        for (step, to) in leaving(&TOKENS, &run, &mut TOKENS.scratch(), from) {
            count += 1;
            assert_eq!(run.store.state(to)[step], state[step] + 1);
        }
    }
    assert_eq!(count + 1, run.generated);
}

#[test]
fn walks_end_where_nothing_is_possible() {
    let walks = |depth: usize, seed: u64| Walks { count: 10, depth, seed, stop: &|| false };
    let to_the_end = walk(&TOKENS, &walks(100, 1));
    assert_eq!((to_the_end.walks, to_the_end.ended, to_the_end.steps), (10, 10, 320));
    let short = walk(&TOKENS, &walks(31, 1));
    assert_eq!((short.ended, short.steps), (0, 310));
    assert_eq!(walk(&TOKENS, &walks(31, 1)).last, short.last);
    assert_ne!(walk(&TOKENS, &walks(31, 2)).last, short.last);
}
