//! Who may access the files that the server and its commands create.

use super::code::{lines_with, tokens};
use super::{Finding, Tree};

const PACKAGES: &[&str] = &["crates/cluster/src/", "crates/engine/src/", "crates/server/src/"];
const HOME: &str = "crates/engine/src/private_files.rs";

/// Calls that create a file or directory with the modes that the umask leaves.
const CALLS: &[&[&str]] = &[
    &["File", "::", "create"],
    &["File", "::", "create_new"],
    &["fs", "::", "write"],
    &["fs", "::", "copy"],
    &["fs", "::", "create_dir"],
    &["fs", "::", "create_dir_all"],
    &["DirBuilder", "::", "new"],
    &[".", "create", "(", "true"],
    &[".", "create_new", "(", "true"],
];

/// Files are created by `private_files` alone.
pub(super) fn check_creation(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = PACKAGES.iter().flat_map(|folder| tree.matching(folder, ".rs"));
    for (file, text) in files.filter(|(file, _)| *file != HOME) {
        let tokens = tokens(text);
        let mut lines: Vec<usize> = CALLS.iter().flat_map(|call| lines_with(&tokens, call)).collect();
        lines.sort_unstable();
        let message =
            "files and directories are created by `boxoffice_engine::private_files`, with private modes";
        findings.extend(lines.into_iter().map(|line| Finding::new(file, line, message)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::assert_finds;
    use super::*;

    #[test]
    fn files_that_are_created_outside_the_home_of_private_files_are_found() {
        let text = "//! A.\nfn f() {\n    std::fs::write(a, b);\n    File::open(a);\n    \
                    OpenOptions::new().create(true);\n    rows.create(a);\n    fs::create_dir_all(a);\n}\n";
        let tree = Tree::of(&[
            ("crates/server/src/a.rs", text),
            (HOME, text),
            ("crates/server/tests/a.rs", text),
            ("crates/xtask/src/a.rs", text),
        ]);
        let expected = ["crates/server/src/a.rs:3", "crates/server/src/a.rs:5", "crates/server/src/a.rs:7"];
        assert_finds(check_creation, &tree, &expected);
    }
}
