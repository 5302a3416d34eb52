//! What files of any kind must and must not say.

use super::code::{Token, is_word, lines_with, tokens};
use super::{Finding, Tree};

/// A source file that is longer has two subjects.
const SOURCE_LINES_MAX: usize = 800;
/// The rules are read more often than anything else.
const CORE_LINES_MAX: usize = 600;

/// Kinds of files that people write and read as source.
const SOURCE_ENDINGS: &[&str] = &[".rs", ".js", ".mjs", ".css", ".html", ".sql", ".sh", ".py"];

// These are put together from parts so that this file does not find itself.
const NOTES_TO_SELF: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];
const REGISTRY_HOSTS: &[&str] = &[concat!("crates", ".io")];
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

pub(super) fn check_headers(tree: &Tree) -> Vec<Finding> {
    tree.packages(".rs")
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(file, _)| Finding::new(file, 1, "must start with a `//!` sentence that says what it is for"))
        .collect()
}

pub(super) fn check_leftovers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.packages(".rs") {
        let tokens = tokens(text);
        for name in ["todo", "unimplemented", "dbg"] {
            let lines = lines_with(&tokens, &[name, "!"]);
            findings.extend(
                lines.into_iter().map(|line| Finding::new(file, line, format!("`{name}!` is left over"))),
            );
        }
        for line in lines_with(&tokens, &["#", "[", "ignore"]) {
            findings.push(Finding::new(file, line, "an ignored test proves nothing"));
        }
        for line in unexplained_allows(&tokens) {
            findings.push(Finding::new(file, line, "an `allow` needs its `reason = \"..\"`"));
        }
        for (line, words) in (1..).zip(text.lines()) {
            let notes = NOTES_TO_SELF.iter().filter(|note| contains_word(words, note));
            findings.extend(notes.map(|note| Finding::new(file, line, format!("`{note}` is left over"))));
        }
    }
    findings
}

fn unexplained_allows(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut lines = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let follows_bracket = index > 0 && matches!(tokens[index - 1].text, "[" | ",");
        let opens = tokens.get(index + 1).is_some_and(|next| next.text == "(");
        if token.text != "allow" || !follows_bracket || !opens {
            continue;
        }
        let arguments = tokens[index..].iter().take_while(|token| token.text != "]");
        if !arguments.into_iter().any(|token| token.text == "reason") {
            lines.push(token.line);
        }
    }
    lines
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let joined = |letter: Option<char>| letter.is_some_and(is_word);
        !joined(text[..at].chars().next_back()) && !joined(text[at + word.len()..].chars().next())
    })
}

pub(super) fn check_lengths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in &tree.files {
        let most = if file.starts_with("crates/core/src/") { CORE_LINES_MAX } else { SOURCE_LINES_MAX };
        let lines = text.lines().count();
        if SOURCE_ENDINGS.iter().any(|ending| file.ends_with(ending)) && lines > most {
            findings.push(Finding::new(
                file,
                most + 1,
                format!("{lines} lines; at most {most} are easy to read"),
            ));
        }
    }
    findings
}

pub(super) fn check_places(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The lock file is cargo's own and names where each crate came from.
    for (file, text) in tree.files.iter().filter(|(file, _)| *file != "Cargo.lock") {
        for (line, words) in (1..).zip(text.lines()) {
            let hosts = REGISTRY_HOSTS.iter().filter(|host| words.contains(**host));
            let paths = MACHINE_PATHS.iter().filter(|path| contains_path(words, path));
            findings.extend(hosts.chain(paths).map(|place| {
                Finding::new(file, line, format!("`{place}` belongs to one machine or one registry"))
            }));
        }
    }
    findings
}

/// Whether a path from the root of a file system stands in the text: not inside a longer relative path or an address.
fn contains_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|letter| is_word(letter) || matches!(letter, '.' | '-' | '}' | ')'))
    })
}

pub(super) fn check_links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.matching("", ".md") {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut fenced = false;
        for (line, words) in (1..).zip(text.lines()) {
            if words.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in link_targets(words) {
                let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
                let path = target.split(['#', '?']).next().unwrap_or("");
                if !is_elsewhere && !path.is_empty() && !exists(tree, folder, path) {
                    findings.push(Finding::new(file, line, format!("the link to `{target}` leads nowhere")));
                }
            }
        }
    }
    findings
}

/// The targets of `[text](target)` and `[name]: target` outside of code.
fn link_targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
        targets.extend(target.split_whitespace().next());
    }
    // Every second piece stands between backticks. A link's text may be code, so a target is read from the pieces
    // outside, and `](` may follow a backtick.
    for outside in line.split('`').step_by(2) {
        for piece in outside.split("](").skip(1) {
            let target = piece.split(')').next().unwrap_or("");
            targets.extend(target.split_whitespace().next());
        }
    }
    targets
}

fn exists(tree: &Tree, folder: &str, path: &str) -> bool {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            name => parts.push(name),
        }
    }
    let target = parts.join("/");
    let as_folder = format!("{target}/");
    target.is_empty() || tree.files.keys().any(|file| *file == target || file.starts_with(&as_folder))
}

#[cfg(test)]
mod tests {
    use super::super::assert_finds;
    use super::*;

    #[test]
    fn modules_without_a_sentence_are_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! What it is.\nmod b;"),
            ("crates/a/src/b.rs", "use std::fmt;\n//! Too late."),
            ("crates/a/tests/c.rs", ""),
            ("crates/a/Cargo.toml", "[package]"),
            ("bench/d/src/main.rs", "fn main() {}"),
        ]);
        let places = ["bench/d/src/main.rs:1", "crates/a/src/b.rs:1", "crates/a/tests/c.rs:1"];
        assert_finds(check_headers, &tree, &places);
    }

    #[test]
    fn leftovers_are_found() {
        let note = NOTES_TO_SELF[0];
        for wrong in [
            "todo!()".to_owned(),
            "unimplemented!(\"later\")".to_owned(),
            "dbg!(x)".to_owned(),
            "#[ignore]".to_owned(),
            "#[ignore = \"slow\"]".to_owned(),
            "#[allow(dead_code)]".to_owned(),
            "#![allow(clippy::all)]".to_owned(),
            "#[cfg_attr(test, allow(dead_code))]".to_owned(),
            format!("// {note}: later"),
            format!("let x = 1; // {}", NOTES_TO_SELF[1]),
        ] {
            let tree = Tree::of(&[("crates/a/src/lib.rs", &format!("//! A.\n{wrong}\n"))]);
            assert_finds(check_leftovers, &tree, &["crates/a/src/lib.rs:2"]);
        }
        let clean = format!(
            "//! A todo!() in words.\n#[allow(dead_code, reason = \"used by the bench\")]\nfn allow(x: u8) {{}}\n\
             #[expect(unused, reason = \"x\")]\nlet a = \"dbg!(x)\"; // {note}D\n#[allow(\n    a,\n    reason = \"b\"\n)]\n"
        );
        assert_finds(check_leftovers, &Tree::of(&[("crates/a/src/lib.rs", &clean)]), &[]);
    }

    #[test]
    fn long_files_are_found() {
        let lines = |count: usize| "x\n".repeat(count);
        let tree = Tree::of(&[
            ("crates/core/src/long.rs", &lines(601)),
            ("crates/core/src/short.rs", &lines(600)),
            ("crates/core/tests/model.rs", &lines(800)),
            ("crates/server/src/long.rs", &lines(801)),
            ("README.md", &lines(5_000)),
        ]);
        assert_finds(check_lengths, &tree, &["crates/core/src/long.rs:601", "crates/server/src/long.rs:801"]);
    }

    #[test]
    fn places_of_one_machine_are_found() {
        for place in REGISTRY_HOSTS.iter().chain(MACHINE_PATHS) {
            for wrong in [format!("see {place}x"), format!("path = \"{place}x\""), format!("file://{place}x")]
            {
                let tree = Tree::of(&[("README.md", &format!("# A\n{wrong}\n")), ("Cargo.lock", &wrong)]);
                assert_finds(check_places, &tree, &["README.md:2"]);
            }
        }
        let clean: String =
            MACHINE_PATHS.iter().map(|path| format!("docs{path}x and ./a{path}b\n")).collect();
        assert_finds(check_places, &Tree::of(&[("README.md", &clean)]), &[]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let readme = "[a](ARCHITECTURE.md) [b](docs/a.md#part) [c](https://example.org/x) [d](#part) [e](docs)\n\
                      [f](docs/missing.md)\n[`g`](./missing.md \"title\")\n`[h](missing.md)`\n```\n[i](missing.md)\n```\n\
                      [j]: missing.md\n[k](../outside.md)\n";
        let tree = Tree::of(&[
            ("README.md", readme),
            ("ARCHITECTURE.md", ""),
            ("docs/a.md", "[up](../README.md) [beside](b.md)"),
        ]);
        let places = ["README.md:2", "README.md:3", "README.md:8", "README.md:9", "docs/a.md:1"];
        assert_finds(check_links, &tree, &places);
    }
}
