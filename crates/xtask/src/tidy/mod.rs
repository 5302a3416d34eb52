//! The structural rules of the repository, as checks over its files.
//!
//! A check is one function over a [`Tree`] in memory. To add one, write it beside its like and name it in [`CHECKS`].

mod code;
mod core_rules;
mod files;
mod manifest;
mod manifests;
mod options;
mod statements;
mod texts;

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Error, Result};
use crate::sources;
use crate::step::{cargo, output_of};

/// Where packages are.
const PACKAGES: &[&str] = &["bench/", "crates/"];

/// Looks at everything and says what is wrong.
type Check = fn(&Tree) -> Vec<Finding>;

/// Every check: what it proves, and how.
const CHECKS: &[(&str, Check)] = &[
    ("core has no clock, randomness, I/O, async, logging or JSON", core_rules::check_purity),
    ("core depends only on what is listed, and on jiff without its clock", core_rules::check_dependencies),
    ("core matches our enums without a wildcard", core_rules::check_wildcard_arms),
    ("nothing is named Service, Manager, Repository, Helper or utils", core_rules::check_names),
    ("crates depend on each other one way: server, cluster, engine, core", manifests::check_direction),
    ("crates inherit the workspace's lints and package fields", manifests::check_inheritance),
    ("every dependency has its reason in ARCHITECTURE.md", manifests::check_reasons),
    ("every option of the command line is read", options::check_read),
    ("files of the server are created with private modes", files::check_creation),
    ("every module starts with its sentence", texts::check_headers),
    ("nothing is left undone, ignored or allowed without a reason", texts::check_leftovers),
    ("no source file is too long", texts::check_lengths),
    ("no file names a registry host or a path of one machine", texts::check_places),
    ("every planted bug still finds its place", core_rules::check_planted_bugs),
    ("links between Markdown files lead somewhere", texts::check_links),
    ("every statement of docs/sources.md has its file and its test", statements::check_proofs),
];

/// What is judged: the files of the repository, and what cargo makes of core's manifest.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Path from the root, with `/` between folders, to text.
    files: BTreeMap<String, String>,
    /// One package of core's resolved normal dependencies a line: `name|features`, features with commas between.
    core_dependencies: String,
}

/// One violation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    file: String,
    /// Counted from one.
    line: usize,
    message: String,
}

impl Finding {
    fn new(file: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Makes every check and prints it with its findings. An error if there are any.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read()?;
    let mut total = 0;
    for (promise, check) in CHECKS {
        let findings = check(&tree);
        println!("{:<5} {promise}", if findings.is_empty() { "ok" } else { "FAIL" });
        for finding in &findings {
            println!("{finding}");
        }
        total += findings.len();
    }
    println!("{} checks, {total} findings", CHECKS.len());
    if total == 0 { Ok(()) } else { Err(Error::new(format!("{total} findings"))) }
}

impl Tree {
    fn read() -> Result<Tree> {
        let root = sources::root()?;
        let mut files = BTreeMap::new();
        for file in sources::files(&root)? {
            let bytes = std::fs::read(root.join(&file))
                .map_err(|error| Error::new(format!("cannot read {file}: {error}")))?;
            files.insert(file, String::from_utf8_lossy(&bytes).into_owned());
        }
        // Resolved for core alone, on all platforms: what other crates switch on does not count.
        let arguments =
            "tree --locked --package boxoffice-core --edges normal --target all --prefix none --no-dedupe";
        let resolved = output_of(
            cargo().args(arguments.split_whitespace()).args(["--format", "{p}|{f}"]).current_dir(&root),
        )?;
        Ok(Tree { files, core_dependencies: String::from_utf8_lossy(&resolved).into_owned() })
    }

    /// All files whose path begins and ends so.
    fn matching<'a>(&'a self, start: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(file, _)| file.starts_with(start) && file.ends_with(end))
            .map(|(file, text)| (file.as_str(), text.as_str()))
    }

    /// All files of the workspace's packages whose path ends so.
    fn packages<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        PACKAGES.iter().flat_map(move |folder| self.matching(folder, end))
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Tree {
        let owned = |&(file, text): &(&str, &str)| (file.to_owned(), text.to_owned());
        Tree { files: files.iter().map(owned).collect(), core_dependencies: String::new() }
    }
}

/// Asserts that a check finds exactly these `file:line` in a tree.
#[cfg(test)]
#[track_caller]
fn assert_finds(check: Check, tree: &Tree, expected: &[&str]) {
    let found = check(tree);
    let places: Vec<String> =
        found.iter().map(|finding| format!("{}:{}", finding.file, finding.line)).collect();
    assert_eq!(places, expected, "{found:#?}");
}
