//! The addresses that the requests of an actor come from.
//!
//! Two replicas of a controller have one name, and two addresses. Another address is a sign that another replica became the
//! leader, however soon. It is no proof: a node may have several addresses, and a proxy too.

use jobcheck_spec::job::Text;

/// Maximum number of changes that are kept.
const KEPT: usize = 64;

/// The times from which on requests came from another address than before, whatever the order in which they are read.
#[derive(Clone, Debug, Default)]
pub struct Addresses(Vec<(i64, Text)>);

impl Addresses {
    /// Notes the address of a request, which the API server received at this time, in microseconds.
    pub fn note(&mut self, received: i64, address: &str) {
        if address.is_empty() {
            return;
        }
        let Addresses(known) = self;
        let next = known.partition_point(|(since, _)| *since <= received);
        if next > 0 && &*known[next - 1].1 == address {
            return;
        }
        match known.get_mut(next) {
            Some((since, later)) if &**later == address => *since = received,
            _ => known.insert(next, (received, Text::from(address))),
        }
        if known.len() > KEPT {
            known.remove(0);
        }
    }

    /// Returns `true` if the address has changed after the first of these times, and not after the second.
    #[must_use]
    pub fn change_between(&self, after: i64, until: i64) -> bool {
        self.0.iter().skip(1).any(|(since, _)| after < *since && *since <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(requests: &[(i64, &str)]) -> Addresses {
        let mut addresses = Addresses::default();
        requests.iter().for_each(|(received, address)| addresses.note(*received, address));
        addresses
    }

    #[test]
    fn a_change_lies_between_the_requests_of_two_addresses() {
        for requests in [[(1, "a"), (5, "a"), (7, "b"), (9, "b")], [(9, "b"), (1, "a"), (7, "b"), (5, "a")]] {
            let addresses = addresses(&requests);
            assert!(addresses.change_between(5, 7));
            assert!(!addresses.change_between(7, 9), "{addresses:?}");
            assert!(!addresses.change_between(1, 5), "{addresses:?}");
        }
    }

    #[test]
    fn the_first_address_and_an_unknown_one_are_no_change() {
        let addresses = addresses(&[(3, ""), (4, "a"), (5, ""), (6, "a")]);
        assert!(!addresses.change_between(0, 9));
    }

    #[test]
    fn the_changes_are_bounded_and_the_last_ones_are_kept() {
        let names = ["a", "b"];
        let many: Vec<(i64, &str)> =
            (0..1_000_u16).map(|at| (at.into(), names[usize::from(at % 2)])).collect();
        let addresses = addresses(&many);
        assert_eq!(addresses.0.len(), KEPT);
        assert!(addresses.change_between(998, 999));
    }
}
