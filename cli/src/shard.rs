//! Parts of a call that run on several machines: the flag `--shard`.

/// The variable in which an Indexed Job has the index of a pod.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// One of several parts, which share nothing and together are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    own: u64,
    of: u64,
}

impl Shard {
    /// The position in the whole of an element of this part.
    pub fn position(self, number: u64) -> u64 {
        number.saturating_mul(self.of).saturating_add(self.own)
    }

    /// The elements of this part: every n-th. With a note of how many these are.
    pub fn part<T>(self, what: &str, all: Vec<T>) -> Vec<T> {
        let count = all.len();
        let own = usize::try_from(self.own).unwrap_or(usize::MAX);
        let of = usize::try_from(self.of).unwrap_or(usize::MAX);
        let part: Vec<T> = all.into_iter().skip(own).step_by(of).collect();
        crate::output::note(format!("shard {}/{} has {} of {count} {what}", self.own, self.of, part.len()));
        part
    }
}

/// Parses the value of `--shard`: `I/N`, or `N` with the index of an Indexed Job.
pub fn shard(text: &str) -> Result<Shard, String> {
    parsed(text, std::env::var(INDEX).ok().as_deref())
}

fn parsed(text: &str, index: Option<&str>) -> Result<Shard, String> {
    let problem = || "expected I/N with I below N, such as 0/4, or N".to_owned();
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|it| it.is_ascii_digit()));
    let (own, of) = match text.split_once('/') {
        Some((own, of)) => (number(own).ok_or_else(problem)?, of),
        None => {
            let index = index.ok_or_else(|| {
                format!("{INDEX} is not set, as it is in a pod of an Indexed Job; write I/N, such as 0/4")
            })?;
            (number(index).ok_or_else(|| format!("{INDEX} is no number: {index:?}"))?, text)
        }
    };
    let of = number(of).filter(|of| *of > 0).ok_or_else(problem)?;
    if own < of {
        Ok(Shard { own, of })
    } else {
        Err(format!("there is no shard {own} of {of}, counted from 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_given_or_that_of_an_indexed_job() {
        assert_eq!(parsed("2/8", None), Ok(Shard { own: 2, of: 8 }));
        assert_eq!(parsed("2/8", Some("5")), Ok(Shard { own: 2, of: 8 }));
        assert_eq!(parsed("8", Some("5")), Ok(Shard { own: 5, of: 8 }));
        for (text, index) in [
            ("8", None),
            ("8", Some("x")),
            ("8", Some("8")),
            ("", None),
            ("8/8", None),
            ("0/0", None),
            ("-1/4", None),
            ("+1/4", None),
            ("1/4/2", None),
            ("1/", None),
        ] {
            assert!(parsed(text, index).is_err(), "{text} {index:?}");
        }
    }

    #[test]
    fn all_shards_are_the_whole_and_no_part_is_there_twice() {
        for (count, of) in [(0_u64, 1_u64), (1, 3), (7, 3), (9, 3), (100, 7)] {
            let shards: Vec<Shard> = (0..of).map(|own| Shard { own, of }).collect();
            let mut parts: Vec<u64> =
                shards.iter().flat_map(|shard| shard.part("numbers", (0..count).collect())).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..count).collect::<Vec<_>>(), "{count} in {of}");
            let of_one = |shard: &Shard| {
                let shard = *shard;
                (0..).map(move |number| shard.position(number)).take_while(move |it| *it < count)
            };
            let mut positions: Vec<u64> = shards.iter().flat_map(of_one).collect();
            positions.sort_unstable();
            assert_eq!(positions, parts, "{count} in {of}");
        }
    }
}
