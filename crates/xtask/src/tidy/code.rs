//! Just enough of Rust's grammar to tell code from comments and strings.

/// A word or a mark of Rust code, and its line counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// The words and marks of code, without comments and without what stands in quotes: strings are `""`.
///
/// `::`, `=>` and `->` are one mark each; every other mark is one character.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, token) = if first.is_whitespace() {
            (first.len_utf8(), None)
        } else if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), None)
        } else if rest.starts_with("/*") {
            (block_comment_length(rest), None)
        } else if let Some(length) = string_length(rest) {
            (length, Some("\"\""))
        } else if let Some(length) = character_length(rest) {
            (length, Some("' '"))
        } else if is_word(first) {
            let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            (length, Some(&rest[..length]))
        } else {
            let pair = ["::", "=>", "->"].into_iter().find(|pair| rest.starts_with(pair));
            let length = pair.map_or(first.len_utf8(), str::len);
            (length, Some(&rest[..length]))
        };
        tokens.extend(token.map(|text| Token { text, line }));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The lines, counted from one, on which a sequence of words and marks begins.
pub(super) fn lines_with(tokens: &[Token<'_>], sequence: &[&str]) -> Vec<usize> {
    let begins = |window: &&[Token<'_>]| window.iter().map(|token| token.text).eq(sequence.iter().copied());
    tokens.windows(sequence.len()).filter(begins).map(|window| window[0].line).collect()
}

pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of the string literal that the text begins with, prefix and quotes included.
fn string_length(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = text.strip_prefix(prefix).unwrap_or("");
        let after = if prefix.ends_with('r') { after.trim_start_matches('#') } else { after };
        after.starts_with('"')
    })?;
    let body = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let content = hashes + 1;
        return Some(
            body[content..].find(&end).map_or(text.len(), |at| prefix.len() + content + at + end.len()),
        );
    }
    let mut escaped = false;
    for (at, letter) in body.char_indices().skip(1) {
        if letter == '"' && !escaped {
            return Some(prefix.len() + at + 1);
        }
        escaped = letter == '\\' && !escaped;
    }
    Some(text.len())
}

/// The length of the character literal that the text begins with; `None` for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    if let Some(escape) = body.strip_prefix('\\') {
        let escaped = escape.chars().next()?.len_utf8();
        return Some(2 + escaped + escape[escaped..].find('\'')? + 1);
    }
    let letter = body.chars().next()?.len_utf8();
    body[letter..].starts_with('\'').then_some(letter + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_no_code() {
        for (text, expected) in [
            ("let a = 1; // async\nb", vec!["let", "a", "=", "1", ";", "b"]),
            ("a /* b /* c */ d */ e", vec!["a", "e"]),
            (r#"f("std::fs \" x", y)"#, vec!["f", "(", "\"\"", ",", "y", ")"]),
            ("r#\"a \"quoted\" b\"# c", vec!["\"\"", "c"]),
            ("br\"x\\\" b\"y\" c", vec!["\"\"", "\"\"", "c"]),
            ("fn f<'a>(x: &'a str) -> char { 'x' }", {
                vec![
                    "fn", "f", "<", "'", "a", ">", "(", "x", ":", "&", "'", "a", "str", ")", "->", "char",
                    "{",
                ]
                .into_iter()
                .chain(["' '", "}"])
                .collect()
            }),
            (
                r"['\'', '\\', '\u{1F}', '中'] x",
                vec!["[", "' '", ",", "' '", ",", "' '", ",", "' '", "]", "x"],
            ),
            ("std::fs => _", vec!["std", "::", "fs", "=>", "_"]),
            ("r#type brr", vec!["r", "#", "type", "brr"]),
        ] {
            let words: Vec<&str> = tokens(text).iter().map(|token| token.text).collect();
            assert_eq!(words, expected, "{text}");
        }
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let text = "//! one\n/* two\nthree */ let x = \"four\n\";\nSystemTime::now()";
        assert_eq!(lines_with(&tokens(text), &["SystemTime", "::", "now"]), [5]);
        assert_eq!(lines_with(&tokens(text), &["x", "="]), [3]);
        assert!(lines_with(&tokens(text), &["two"]).is_empty());
    }
}
