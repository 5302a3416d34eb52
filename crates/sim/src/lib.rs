//! A seeded simulator of the whole system with an independent auditor. Development only.

pub mod hammer;
