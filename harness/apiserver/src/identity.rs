//! UIDs and generated names, from a seed.

use std::fmt::Write as _;

/// Characters of a generated name: neither vowels nor what is mistaken for another (`util/rand`).
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Characters that are appended to `generateName`.
const SUFFIX: usize = 5;
/// Characters of `generateName` that are kept (`storage/names`).
const PREFIX: usize = 58;

/// A generator of identities. The same seed gives the same identities.
#[derive(Clone, Debug)]
pub struct Identities(u64);

impl Identities {
    /// A generator that starts at `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Identities {
        Identities(seed)
    }

    /// The next number (splitmix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A UUID of version 4.
    pub fn uid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        let high = (high & !0xf000) | 0x4000;
        let low = (low & !(0b11 << 62)) | (0b10 << 62);
        let mut text = String::with_capacity(36);
        let parts = (high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48, low & 0xffff_ffff_ffff);
        write!(text, "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", parts.0, parts.1, parts.2, parts.3, parts.4)
            .expect("writing to a string does not fail");
        text
    }

    /// A name that starts with `base`.
    pub fn name(&mut self, base: &str) -> String {
        let kept = base.char_indices().nth(PREFIX).map_or(base, |(end, _)| &base[..end]);
        let mut name = kept.to_owned();
        for _ in 0..SUFFIX {
            let place = usize::try_from(self.next() % ALPHABET.len() as u64).unwrap_or(0);
            name.push(char::from(ALPHABET[place]));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_follow_from_the_seed() {
        let (mut one, mut same, mut other) =
            (Identities::seeded(1), Identities::seeded(1), Identities::seeded(2));
        let uid = one.uid();
        assert_eq!(uid, same.uid());
        assert_ne!(uid, other.uid());
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
        assert!("89ab".contains(&uid[19..20]));
        let name = one.name(&"é".repeat(70));
        assert_eq!(name.chars().count(), PREFIX + SUFFIX);
        assert_eq!(one.name("a-").len(), 7);
    }
}
