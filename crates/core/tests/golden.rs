//! The bytes of commands and changes, written down: they fail if a variant or a field moves.
