//! What the command line must keep.

use super::code::{Token, tokens};
use super::{Finding, Tree};

const COMMAND_LINE: &str = "crates/server/src/cli/";

/// An option that nobody reads is a promise that nobody keeps.
pub(super) fn check_read(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.matching(COMMAND_LINE, ".rs") {
        let tokens = tokens(text);
        for option in options(&tokens) {
            let mentions = tokens.iter().filter(|token| token.text == option.text).count();
            if mentions < 2 {
                findings.push(Finding::new(
                    file,
                    option.line,
                    format!("nobody reads the option `{}`", option.text),
                ));
            }
        }
    }
    findings
}

/// The fields that have an `#[arg(..)]`.
fn options<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let starts = tokens.windows(4).enumerate();
    let starts =
        starts.filter(|(_, window)| window.iter().map(|token| token.text).eq(["#", "[", "arg", "("]));
    let field = |(start, _): (usize, &[Token<'a>])| {
        let end = start + tokens[start..].iter().position(|token| token.text == "]")?;
        let colon = tokens.get(end + 2).is_some_and(|token| token.text == ":");
        tokens.get(end + 1).copied().filter(|_| colon)
    };
    starts.filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::super::assert_finds;
    use super::*;

    #[test]
    fn options_that_nobody_reads_are_found() {
        let text = "//! A.\nstruct Options {\n    /// Read.\n    #[arg(long, env = \"A\")]\n    read: u8,\n    \
                    #[arg(long)]\n    forgotten: u8,\n}\nfn run(options: &Options) -> u8 { options.read }\n";
        let tree = Tree::of(&[("crates/server/src/cli/a.rs", text), ("crates/server/src/b.rs", text)]);
        assert_finds(check_read, &tree, &["crates/server/src/cli/a.rs:7"]);
    }
}
