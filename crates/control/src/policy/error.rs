//! Why a policy is refused: one line that names file, key and value.

/// Why bytes are not a valid policy, or not one that can be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct PolicyError {
    file: String,
    problem: String,
}

impl PolicyError {
    /// `problem` names key and value, and the valid values.
    pub fn new(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), problem: problem.into() }
    }

    /// The file at fault, as the caller named it.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// Foreign text in a message: one line, no control characters, bounded length.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut line: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_its_line() {
        assert_eq!(shown("two\nlines\u{1b}[31m"), "two lines [31m");
        assert_eq!(shown(&"x".repeat(200)).chars().count(), 81);
    }
}
