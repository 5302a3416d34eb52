//! The `boxoffice` binary.
fn main() {}
