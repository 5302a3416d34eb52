//! Connections: taking them, bounding them, and letting them finish.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

/// Connections without a request for so long are closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// What was taken is answered within this time after the server was asked to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// Serves until `stop` resolves, then answers what was taken.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "no connection could be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        // Answers are small and must not wait for more.
        drop(stream.set_nodelay(true));
        let service = router.clone().layer(axum::Extension(ConnectInfo::<SocketAddr>(address)));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that goes away is no news.
            drop(connection.await);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections were still open after {} s", DRAIN_TIMEOUT.as_secs());
    }
}
