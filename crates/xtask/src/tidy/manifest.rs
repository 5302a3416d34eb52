//! Just enough of TOML to read a `Cargo.toml`: tables and `key = value` lines.

/// One `key = value` of a manifest and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Such as `workspace.dependencies`; empty above the first table.
    pub(super) table: &'a str,
    /// Such as `version.workspace`.
    pub(super) key: &'a str,
    /// As written; the first line of it if it has more.
    pub(super) value: &'a str,
    /// Counted from one.
    pub(super) line: usize,
}

/// All entries, in order. Comments and the further lines of long values are left out.
pub(super) fn entries(manifest: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut table = "";
    for (line, text) in (1..).zip(manifest.lines()) {
        let text = text.trim();
        if text.starts_with('#') {
            continue;
        }
        if let Some(header) = text.strip_prefix('[')
            && let Some((name, _)) = header.trim_start_matches('[').split_once(']')
            && !text.contains('=')
        {
            table = name.trim();
        } else if let Some((key, value)) = text.split_once('=') {
            entries.push(Entry { table, key: key.trim(), value: value.trim(), line });
        }
    }
    entries
}

impl<'a> Entry<'a> {
    /// The dependency that this entry names, if its table is one of dependencies: also `[dependencies.name]`.
    pub(super) fn dependency(&self) -> Option<&'a str> {
        let own_table = self.table.rsplit_once('.').filter(|(table, _)| is_dependencies(table));
        let key = match own_table {
            Some((_, name)) => name,
            None if is_dependencies(self.table) => self.key.split('.').next().unwrap_or(self.key),
            None => return None,
        };
        Some(key.trim_matches('"'))
    }

    /// The package behind a dependency that goes by another name.
    pub(super) fn renamed_package(&self) -> Option<&'a str> {
        let after_package = if self.key == "package" {
            self.value
        } else {
            let (_, after) = self.value.split_once("package")?;
            after.trim_start().strip_prefix('=')?.trim_start()
        };
        after_package.strip_prefix('"')?.split('"').next()
    }
}

fn is_dependencies(table: &str) -> bool {
    table.split('.').next_back().is_some_and(|last| last == "dependencies" || last.ends_with("-dependencies"))
        && !table.starts_with("workspace.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_every_way_to_write_them() {
        for (manifest, expected) in [
            ("[dependencies]\njiff.workspace = true", vec![("jiff", None)]),
            ("[dependencies]\n# old = \"1\"\nserde = { version = \"1\" }", vec![("serde", None)]),
            ("[dev-dependencies]\n\"proptest\" = \"1\"", vec![("proptest", None)]),
            ("[target.'cfg(unix)'.build-dependencies]\ncc = \"1\"", vec![("cc", None)]),
            ("[dependencies.jiff]\nversion = \"1\"", vec![("jiff", None)]),
            (
                "[dependencies]\nshort = { package = \"long\", version = \"1\" }",
                vec![("short", Some("long"))],
            ),
            ("[dependencies.short]\npackage = \"long\"", vec![("short", Some("long"))]),
            ("[package]\nname = \"dependencies\"\n[lints]\nworkspace = true", vec![]),
        ] {
            let entries = entries(manifest);
            let found: Vec<_> = entries
                .iter()
                .filter_map(|entry| Some((entry.dependency()?, entry.renamed_package())))
                .collect();
            assert_eq!(found, expected, "{manifest}");
        }
    }

    #[test]
    fn entries_know_their_table_and_line() {
        let manifest = "a = 1\n[[bench]]\nname = \"seats\"\n\n[workspace.dependencies]\njiff = \"0.2\"\n";
        let found: Vec<_> =
            entries(manifest).iter().map(|entry| (entry.table, entry.key, entry.value, entry.line)).collect();
        let expected = [
            ("", "a", "1", 1),
            ("bench", "name", "\"seats\"", 3),
            ("workspace.dependencies", "jiff", "\"0.2\"", 6),
        ];
        assert_eq!(found, expected);
    }
}
