//! Folds lines that are equal but for names and numbers.

use jobcheck_judge::report::Line;

/// Lines with the same shape.
#[derive(Debug)]
pub struct Folded<'a> {
    shape: String,
    /// The text of the first line.
    pub text: &'a str,
    /// The number of lines.
    pub count: usize,
    /// The lines, if they have places.
    pub lines: Vec<&'a Line>,
    /// The other texts, if they have no places.
    pub others: Vec<&'a str>,
}

/// The lines by their shapes, in the order of their first occurrence.
pub fn fold<'a>(lines: impl Iterator<Item = (&'a str, Option<&'a Line>)>) -> Vec<Folded<'a>> {
    let mut folded: Vec<Folded<'a>> = Vec::new();
    for (text, line) in lines {
        let shape = shape(text);
        match folded.iter_mut().find(|it| it.shape == shape) {
            Some(known) => {
                known.count += 1;
                known.lines.extend(line);
                known.others.extend(line.is_none().then_some(text));
            }
            None => {
                let lines = line.into_iter().collect();
                folded.push(Folded { shape, text, count: 1, lines, others: Vec::new() });
            }
        }
    }
    folded
}

/// A text without its names and numbers. The id at its beginning stays.
fn shape(text: &str) -> String {
    let is_name = |word: &str| word.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '/'));
    let word = |(position, word): (usize, &str)| {
        let is_id = position == 0 && word.ends_with(':');
        if is_name(word) && !is_id { "#".to_owned() } else { word.to_owned() }
    };
    text.split_whitespace().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_names_and_numbers_are_one() {
        let texts = [
            "SY-05: patch of job-abcde repeatedly changes nothing",
            "SY-05: patch of job-x7k2p repeatedly changes nothing",
            "SY-02: patch of job-x7k2p repeatedly changes nothing",
            "SY-05: patch of job-x7k2p changes nothing",
        ];
        let folded = fold(texts.into_iter().map(|text| (text, None)));
        assert_eq!(folded.iter().map(|it| it.count).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!((folded[0].text, &folded[0].others[..]), (texts[0], &texts[1..2]));
    }
}
