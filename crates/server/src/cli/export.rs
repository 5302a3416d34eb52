//! `boxoffice export`.

use std::io::{self, Write};
use std::path::PathBuf;

use boxoffice_core::booking::Booking;
use boxoffice_core::ids::parts_of_name;
use boxoffice_core::inventory::Inventory;
use boxoffice_engine::load::load;
use boxoffice_engine::private_files;
use boxoffice_engine::store::Store;
use boxoffice_engine::view::StockView;
use clap::{Args, ValueEnum};
use csv::Writer;

use super::client::Server;
use super::console::{Failure, counting, weighing};
use super::store::Data;
use crate::contacts::{self, Contact};
use crate::export::{Exported, Table, write_booking, write_utilization};

/// What to export.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The server of a directory must be stopped.
    #[command(flatten)]
    data: Data,
    /// URL of a running server to export from, instead of a stopped server's data, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL", env = "BOXOFFICE_SERVER")]
    server: Option<String>,
    /// Admin or operator key of the server; an operator's export has no contacts
    #[arg(long, env = "BOXOFFICE_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Which table.
    #[arg(long, env = "BOXOFFICE_EXPORT_WHAT", default_value = "bookings")]
    what: Table,
    /// Of this tenant only; with --server always the tenant of the key
    #[arg(long, env = "BOXOFFICE_TENANT", conflicts_with = "server")]
    tenant: Option<String>,
    /// File to write [default: standard output]
    #[arg(long, env = "BOXOFFICE_EXPORT_OUT")]
    out: Option<PathBuf>,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let mut out: Box<dyn Write> = match &options.out {
        Some(path) => {
            // It has the contacts of customers.
            let file = private_files::replace_file(path);
            Box::new(file.map_err(|error| Failure::new(format!("{}: {error}", path.display())))?)
        }
        None => Box::new(io::stdout()),
    };
    match &options.server {
        Some(url) => {
            let server = Server::new(url, options.key.clone())?;
            let what = options.what.to_possible_value().expect("no table is hidden");
            let bar = weighing("receiving");
            let path = format!("/v1/export?what={}", what.get_name());
            server.download(&path, &mut out, |bytes| bar.set_position(bytes))?;
            bar.finish_and_clear();
            Ok(out.flush()?)
        }
        None => export_data(options, out),
    }
}

/// Exports from the data of a stopped server.
fn export_data(options: &Options, out: Box<dyn Write>) -> Result<(), Failure> {
    let store = options.data.open()?;
    let mut table = Writer::from_writer(out);
    options.what.write_heading(&mut table)?;
    let heads = store.heads()?;
    let bar = counting("exporting");
    bar.set_length(heads.len() as u64);
    for head in &heads {
        bar.inc(1);
        let Some((tenant, kind, id)) = parts_of_name(&head.name) else { continue };
        if options.tenant.as_ref().is_some_and(|wanted| wanted != tenant) {
            continue;
        }
        let Some(loaded) = load(&*store, head.inventory)? else { continue };
        let Some(stock) = StockView::new(&loaded.inventory) else { continue };
        if stock.is_deleted() {
            continue;
        }
        let of = Exported { tenant, kind, id, stock: &stock };
        match options.what {
            Table::Bookings => write_bookings(&mut table, &*store, &of, &loaded.inventory)?,
            Table::Utilization => write_utilization(&mut table, &of)?,
        }
    }
    bar.finish_and_clear();
    table.flush()?;
    Ok(store.close()?)
}

fn write_bookings(
    table: &mut Writer<Box<dyn Write>>,
    store: &dyn Store,
    of: &Exported<'_>,
    inventory: &Inventory,
) -> Result<(), Failure> {
    for booking in inventory.bookings() {
        let contact = contact_of(store, of.tenant, booking)?;
        write_booking(table, of, booking, contact.as_ref())?;
    }
    Ok(())
}

/// The contact of a booking; `None` if it has none or its key was erased.
fn contact_of(store: &dyn Store, tenant: &str, booking: &Booking) -> Result<Option<Contact>, Failure> {
    let Some(sealed) = booking.contact() else { return Ok(None) };
    let Some(document) = contacts::document_of(tenant, sealed) else { return Ok(None) };
    let key = store.documents(&document)?.pop();
    Ok(contacts::unseal(key.as_ref().map(|(_, key)| key.as_slice()), sealed))
}
