//! `DELETE /v1/customers/{customer}/contact`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::ForgetContact;
use boxoffice_core::ids::parts_of_name;
use boxoffice_core::limits::CUSTOMER_CHARACTERS_MAX;
use boxoffice_engine::SubmitError;

use crate::app::App;
use crate::caller::RunsSales;
use crate::path::Path;
use crate::problem::Problem;

/// Erases how to reach a customer, everywhere. The books stay.
///
/// For `admin` and `operator`.
#[utoipa::path(
    delete,
    path = "/v1/customers/{customer}/contact",
    tag = "customers",
    operation_id = "forget_contact",
    params(
        ("customer" = String, Path, description = "The caller's reference for them.", max_length = 200, example = "user-42"),
    ),
    responses(
        (status = 204, description = "Nothing is left of it."),
        (status = 400, description = "`INVALID_REQUEST`: no customer has such a name."),
    ),
)]
pub(crate) async fn forget_contact(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    Path(customer): Path<String>,
) -> Result<StatusCode, Problem> {
    // First the key, which makes every copy unreadable; then the copies that are not history.
    if customer.chars().count() > CUSTOMER_CHARACTERS_MAX {
        let message = format!("must be at most {CUSTOMER_CHARACTERS_MAX} characters");
        return Err(Problem::invalid("/customer", message));
    }
    app.contacts.erase(&caller.tenant, &customer).await?;
    let own = app.engine.inventories().into_iter();
    let own =
        own.filter(|one| parts_of_name(&one.name).is_some_and(|(tenant, ..)| tenant == &*caller.tenant));
    let customer: Arc<str> = customer.into();
    let commands = own.map(|one| {
        let action = Action::ForgetContact(ForgetContact { customer: Arc::clone(&customer) });
        (one.number, Command { by: caller.actor, idempotency: None, action })
    });
    for answer in app.engine.submit_all(commands.collect()).await {
        // The key is gone, and perhaps some of the copies: whatever went wrong, it is not so that nothing was done.
        answer.map_err(|_| SubmitError::OutcomeUnknown)?;
    }
    Ok(StatusCode::NO_CONTENT)
}
