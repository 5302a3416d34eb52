//! The `boxoffice` binary: the HTTP API, its live streams, and the command line.

mod answer;
mod app;
mod attempts;
mod body_budget;
mod by_name;
mod caller;
mod changes;
mod cli;
mod client_network;
mod codes;
mod connections;
mod contacts;
mod cross_origin;
mod erasures;
mod export;
mod express;
mod fault;
mod framing;
mod guarded;
mod idempotency;
mod ids;
mod input;
mod journal;
mod keys;
mod limits;
mod listen;
mod measure;
mod openapi;
mod outer;
mod packing;
mod page;
mod pages;
mod path;
mod problem;
mod proxy_protocol;
mod query;
mod rates;
mod render;
mod request_body;
mod router;
mod routes;
mod rules;
mod secret;
mod stale;
mod stream;
mod submit;
mod time;
mod tls;
mod trusted_proxies;
mod web;
mod webhooks;

/// What one thread took, another gives back, for every request: the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::run()
}
