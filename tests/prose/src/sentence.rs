//! Rules about one sentence: its length, and the word that it opens with.

/// Words that a sentence may have.
pub const MOST_WORDS: usize = 25;

/// Words with which no sentence opens: each of them hides the subject.
pub const OPENINGS: [&str; 6] = ["Of", "What", "Whether", "Where", "Who", "How"];

/// What is wrong with a sentence.
#[must_use]
pub fn problems(sentence: &str) -> Vec<String> {
    let words: Vec<&str> =
        sentence.split_whitespace().filter(|it| it.chars().any(char::is_alphanumeric)).collect();
    let mut problems = Vec::new();
    if words.len() > MOST_WORDS {
        problems.push(format!("{} words in a sentence, at most {MOST_WORDS}: {sentence}", words.len()));
    }
    let first = words.first().map_or("", |it| it.trim_matches(|c: char| !c.is_alphanumeric()));
    if OPENINGS.contains(&first) && !sentence.ends_with('?') {
        problems.push(format!("the sentence opens with {first}: {sentence}"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{MOST_WORDS, problems};

    #[test]
    fn a_long_sentence_is_counted() {
        let fits = vec!["word"; MOST_WORDS].join(" ");
        assert!(problems(&fits).is_empty());
        assert_eq!(problems(&format!("{fits} more")).len(), 1);
    }

    #[test]
    fn an_opening_that_hides_the_subject_is_found() {
        assert_eq!(problems("What a process knows is lost.").len(), 1);
        assert!(problems("What is a premise?").is_empty());
        assert!(problems("Somebody asks what it is.").is_empty());
    }
}
