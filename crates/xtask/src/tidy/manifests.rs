//! What the manifests must say.

use super::manifest::entries;
use super::{Finding, Tree};

/// For each crate, the crates it may use. Nothing uses the chores or the comparison, and only tests the simulator.
const DIRECTION: &[(&str, &[&str])] = &[
    ("boxoffice-server", &["boxoffice-cluster", "boxoffice-engine", "boxoffice-core"]),
    ("boxoffice-cluster", &["boxoffice-engine", "boxoffice-core"]),
    ("boxoffice-engine", &["boxoffice-core"]),
    ("boxoffice-core", &[]),
    ("boxoffice-sim", &["boxoffice-engine", "boxoffice-core"]),
    ("boxoffice-xtask", &[]),
    ("boxoffice-services", &[]),
    // It starts the server's binary and knows it from outside only.
    ("boxoffice-peers", &["boxoffice-services"]),
];

/// What the tests of a crate may use besides.
const IN_TESTS: &[(&str, &[&str])] = &[
    ("boxoffice-cluster", &["boxoffice-services", "boxoffice-sim"]),
    ("boxoffice-server", &["boxoffice-services"]),
];

pub(super) fn check_direction(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.packages("/Cargo.toml") {
        let entries = entries(text);
        let name = entries.iter().find(|entry| (entry.table, entry.key) == ("package", "name"));
        let (name, line) = name.map_or(("", 1), |entry| (entry.value.trim_matches('"'), entry.line));
        let Some((_, allowed)) = DIRECTION.iter().find(|(known, _)| *known == name) else {
            findings.push(Finding::new(
                file,
                line,
                format!("`{name}` has no place in tidy's order of crates"),
            ));
            continue;
        };
        let in_tests =
            IN_TESTS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, allowed)| allowed);
        for entry in &entries {
            let Some(dependency) = entry.dependency() else { continue };
            let package = entry.renamed_package().unwrap_or(dependency);
            let tested = entry.table.starts_with("dev-dependencies") && in_tests.contains(&package);
            if package.starts_with("boxoffice-") && !allowed.contains(&package) && !tested {
                findings.push(Finding::new(
                    file,
                    entry.line,
                    format!("`{name}` must not depend on `{package}`"),
                ));
            }
        }
    }
    findings
}

pub(super) fn check_inheritance(tree: &Tree) -> Vec<Finding> {
    let root = tree.files.get("Cargo.toml").map_or("", String::as_str);
    let shared: Vec<&str> = entries(root)
        .iter()
        .filter(|entry| entry.table == "workspace.package")
        .map(|entry| entry.key)
        .collect();
    let mut findings = Vec::new();
    if shared.is_empty() {
        findings.push(Finding::new("Cargo.toml", 1, "has no [workspace.package] to inherit from"));
    }
    for (file, text) in tree.packages("/Cargo.toml") {
        let entries = entries(text);
        let says = |table: &str, key: &str| {
            entries.iter().any(|entry| (entry.table, entry.key, entry.value) == (table, key, "true"))
        };
        for field in &shared {
            if !says("package", &format!("{field}.workspace")) {
                findings.push(Finding::new(file, 1, format!("[package] needs `{field}.workspace = true`")));
            }
        }
        if !says("lints", "workspace") {
            findings.push(Finding::new(file, 1, "[lints] needs `workspace = true`"));
        }
    }
    findings
}

pub(super) fn check_reasons(tree: &Tree) -> Vec<Finding> {
    let architecture = tree.files.get("ARCHITECTURE.md").map_or("", String::as_str);
    let has_reason = |name: &str| {
        let row = format!("| `{name}` |");
        architecture.lines().any(|line| {
            line.strip_prefix(&row).is_some_and(|reason| reason.chars().any(char::is_alphanumeric))
        })
    };
    let root = tree.files.get("Cargo.toml").map_or("", String::as_str);
    let mut findings = Vec::new();
    for entry in entries(root).iter().filter(|entry| entry.table.starts_with("workspace.dependencies")) {
        let name = entry.table.strip_prefix("workspace.dependencies.").unwrap_or(entry.key);
        if !name.starts_with("boxoffice-") && !has_reason(name) {
            let message = format!("`{name}` has no row \"| `{name}` | reason |\" in ARCHITECTURE.md");
            findings.push(Finding::new("Cargo.toml", entry.line, message));
        }
    }
    for (file, text) in tree.packages("/Cargo.toml") {
        for entry in entries(text) {
            let Some(dependency) = entry.dependency() else { continue };
            let inherited = entry.key.ends_with("workspace") || entry.value.contains("workspace = true");
            if !inherited {
                let message = format!("`{dependency}` must come from [workspace.dependencies]");
                findings.push(Finding::new(file, entry.line, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::assert_finds;
    use super::*;

    #[test]
    fn dependencies_against_the_direction_are_found() {
        let manifest = |name: &str, dependencies: &str| {
            format!("[package]\nname = \"boxoffice-{name}\"\n{dependencies}\n")
        };
        for (name, dependencies, expected) in [
            (
                "server",
                "[dependencies]\nboxoffice-cluster.workspace = true\nboxoffice-core.workspace = true",
                vec![],
            ),
            ("cluster", "[dev-dependencies]\nboxoffice-sim.workspace = true", vec![]),
            ("cluster", "[dependencies]\nboxoffice-sim.workspace = true", vec!["crates/x/Cargo.toml:4"]),
            ("sim", "[dependencies]\nboxoffice-engine.workspace = true", vec![]),
            ("core", "[dependencies]\njiff.workspace = true", vec![]),
            ("core", "[dev-dependencies]\nboxoffice-engine.workspace = true", vec!["crates/x/Cargo.toml:4"]),
            ("engine", "[dependencies]\nboxoffice-cluster.workspace = true", vec!["crates/x/Cargo.toml:4"]),
            (
                "server",
                "[dependencies]\nboxoffice-sim = { path = \"../sim\" }",
                vec!["crates/x/Cargo.toml:4"],
            ),
            (
                "server",
                "[dependencies]\nplay = { package = \"boxoffice-sim\" }",
                vec!["crates/x/Cargo.toml:4"],
            ),
            ("xtask", "[dependencies.boxoffice-core]\nworkspace = true", vec!["crates/x/Cargo.toml:4"]),
            ("novelty", "", vec!["crates/x/Cargo.toml:2"]),
        ] {
            let tree = Tree::of(&[("crates/x/Cargo.toml", &manifest(name, dependencies))]);
            assert_finds(check_direction, &tree, &expected);
        }
        let comparison = manifest("peers", "[dependencies]\nboxoffice-engine.workspace = true");
        let tree = Tree::of(&[("bench/peers/Cargo.toml", &comparison)]);
        assert_finds(check_direction, &tree, &["bench/peers/Cargo.toml:4"]);
    }

    #[test]
    fn crates_that_do_not_inherit_are_found() {
        let root = ("Cargo.toml", "[workspace.package]\nversion = \"1.0.0\"\nlicense = \"MIT\"\n");
        let clean =
            "[package]\nversion.workspace = true\nlicense.workspace = true\n\n[lints]\nworkspace = true\n";
        assert_finds(check_inheritance, &Tree::of(&[root, ("crates/x/Cargo.toml", clean)]), &[]);
        for wrong in [
            clean.replace("version.workspace = true", "version = \"2.0.0\""),
            clean.replace("license.workspace = true\n", ""),
            clean.replace("[lints]\nworkspace = true", ""),
        ] {
            let tree = Tree::of(&[root, ("crates/x/Cargo.toml", &wrong)]);
            assert_finds(check_inheritance, &tree, &["crates/x/Cargo.toml:1"]);
        }
        assert_finds(check_inheritance, &Tree::of(&[]), &["Cargo.toml:1"]);
    }

    #[test]
    fn dependencies_without_a_reason_are_found() {
        let root =
            "[workspace.dependencies]\nboxoffice-core = { path = \"x\" }\njiff = \"0.2\"\nserde = \"1\"\n";
        let architecture = "| crate | reason |\n|---|---|\n| `jiff` | time zones |\n| `serde` |  |\n";
        let inherits = "[dependencies]\njiff.workspace = true\nserde = { workspace = true }\n";
        let own = "[dependencies]\njiff = \"0.1\"\n";
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", architecture),
            ("Cargo.toml", root),
            ("crates/x/Cargo.toml", inherits),
            ("crates/y/Cargo.toml", own),
        ]);
        assert_finds(check_reasons, &tree, &["Cargo.toml:4", "crates/y/Cargo.toml:2"]);
    }
}
