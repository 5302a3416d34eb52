//! Keys, webhooks, the journal and the audit, over real HTTP against the real program.

mod journal;
mod keys;
mod receiver;
mod server;
mod streams;
mod tenants;
mod webhooks;
