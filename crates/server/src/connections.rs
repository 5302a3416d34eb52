//! The open connections, and which of them has to make room when there are too many, of one client network or in all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::client_network::ClientNetwork;
use crate::guarded::Progress;
use crate::limits::{CONNECTIONS_DEFAULT, CONNECTIONS_PER_ADDRESS_DEFAULT, EVICTED_CONNECTIONS_MAX};

/// How many connections may be open at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) in_all: usize,
    pub(crate) per_network: usize,
    /// Whether clients on this machine count as one network, too.
    pub(crate) count_loopback: bool,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
            in_all: CONNECTIONS_DEFAULT,
            per_network: CONNECTIONS_PER_ADDRESS_DEFAULT,
            count_loopback: false,
        }
    }
}

pub(crate) struct Connections {
    limits: ConnectionLimits,
    open: Mutex<Open>,
    next_id: AtomicU64,
    none_is_left: Notify,
}

#[derive(Default)]
struct Open {
    /// With those that were evicted and have not ended yet.
    in_all: usize,
    by_network: HashMap<ClientNetwork, ConnectionsOfNetwork>,
}

/// The connections of one network that were not evicted, by their ids.
#[derive(Default)]
struct ConnectionsOfNetwork(HashMap<u64, Arc<Progress>>);

impl ConnectionsOfNetwork {
    /// How many are idle, and the one of them that has been for longest.
    fn idle(&self) -> Option<(usize, u64)> {
        let mut idle_connections = 0;
        let idle = self.0.iter().filter_map(|(id, other)| Some((other.idle_since()?, *id)));
        let (_, oldest) = idle.inspect(|_| idle_connections += 1).min()?;
        Some((idle_connections, oldest))
    }

    fn evict(&mut self, id: u64) {
        if let Some(evicted) = self.0.remove(&id) {
            evicted.evict();
        }
    }
}

impl Open {
    /// Evicts a connection of the network that has the most idle ones. Returns whether there was one.
    fn evict_one(&mut self) -> bool {
        let networks = self.by_network.values_mut();
        let idle =
            networks.filter_map(|network| network.idle().map(|(count, oldest)| (count, oldest, network)));
        let Some((_, oldest, network)) = idle.max_by_key(|(count, _, _)| *count) else { return false };
        network.evict(oldest);
        true
    }

    fn count_of(&self, network: ClientNetwork) -> usize {
        self.by_network.get(&network).map_or(0, |others| others.0.len())
    }

    /// Counts a connection by its network. If that has as many as it may, its longest idle one is evicted for it.
    fn count_by(
        &mut self,
        network: ClientNetwork,
        per_network: usize,
        id: u64,
        progress: &Arc<Progress>,
    ) -> Result<(), TooMany> {
        let others = self.by_network.entry(network).or_default();
        if others.0.len() >= per_network {
            let (_, oldest) = others.idle().ok_or(TooMany::OfNetwork)?;
            others.evict(oldest);
        }
        others.0.insert(id, Arc::clone(progress));
        Ok(())
    }

    fn forget(&mut self, network: Option<ClientNetwork>, id: u64) {
        if let Some(network) = network
            && let Some(others) = self.by_network.get_mut(&network)
        {
            others.0.remove(&id);
            if others.0.is_empty() {
                self.by_network.remove(&network);
            }
        }
    }
}

/// Why a connection is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// And no counted one is idle.
    InAll,
    /// And none of its connections is idle.
    OfNetwork,
}

/// An open connection. Dropped when it is over.
pub(crate) struct OpenConnection {
    connections: Arc<Connections>,
    /// `None` if it is not counted by its network.
    network: Option<ClientNetwork>,
    id: u64,
    pub(crate) progress: Arc<Progress>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Connections> {
        let (open, next_id, none_is_left) = (Mutex::default(), AtomicU64::new(0), Notify::new());
        Arc::new(Connections { limits, open, next_id, none_is_left })
    }

    /// Admits a connection. If its network has too many, the one of them that has been idle for longest is closed for it. If there are
    /// too many in all, it is the longest idle one of the network with the most idle ones. A trusted proxy's are those of many clients,
    /// and count for none.
    pub(crate) fn admit(
        self: &Arc<Connections>,
        address: IpAddr,
        is_trusted_proxy: bool,
    ) -> Result<OpenConnection, TooMany> {
        let network = self.network_of(address, is_trusted_proxy);
        let progress = Arc::new(Progress::new());
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        let per_network = self.limits.per_network;
        let evicts_own = network.is_some_and(|network| open.count_of(network) >= per_network);
        let is_full = open.in_all >= self.limits.in_all;
        let is_overfull = open.in_all >= self.limits.in_all.saturating_add(EVICTED_CONNECTIONS_MAX);
        if is_overfull || is_full && !evicts_own && !open.evict_one() {
            return Err(TooMany::InAll);
        }
        if let Some(network) = network {
            open.count_by(network, per_network, id, &progress)?;
        }
        open.in_all += 1;
        drop(open);
        Ok(OpenConnection { connections: Arc::clone(self), network, id, progress })
    }

    /// Where a connection is counted; `None` if only in all.
    fn network_of(&self, address: IpAddr, is_trusted_proxy: bool) -> Option<ClientNetwork> {
        let is_exempt_loopback = address.to_canonical().is_loopback() && !self.limits.count_loopback;
        (!is_exempt_loopback && !is_trusted_proxy).then(|| ClientNetwork::from(address))
    }

    /// Resolves when all connections are over. None may be admitted meanwhile.
    pub(crate) async fn all_over(&self) {
        loop {
            let none_is_left = self.none_is_left.notified();
            if self.open.lock().in_all == 0 {
                return;
            }
            none_is_left.await;
        }
    }
}

impl OpenConnection {
    /// Counts a connection of a trusted proxy by the client that the proxy names, as if the client had connected by itself.
    pub(crate) fn count_by(&mut self, client: IpAddr, is_trusted_proxy: bool) -> Result<(), TooMany> {
        if let Some(network) = self.connections.network_of(client, is_trusted_proxy) {
            let mut open = self.connections.open.lock();
            open.count_by(network, self.connections.limits.per_network, self.id, &self.progress)?;
            self.network = Some(network);
        }
        Ok(())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.in_all -= 1;
        open.forget(self.network, self.id);
        if open.in_all == 0 {
            self.connections.none_is_left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits { in_all: 10, per_network: 3, count_loopback: false };

    fn admit(connections: &Arc<Connections>, address: &str) -> Result<OpenConnection, TooMany> {
        connections.admit(address.parse().unwrap(), false)
    }

    async fn is_evicted(connection: &OpenConnection) -> bool {
        tokio::time::timeout(Duration::from_millis(1), connection.progress.evicted()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn network_with_too_many_connections_loses_the_one_that_has_been_idle_longest() {
        let connections = Connections::new(LIMITS);
        let mut own = Vec::new();
        for host in ["2001:db8::1", "2001:db8::2", "2001:db8::3"] {
            own.push(admit(&connections, host).unwrap());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let others = admit(&connections, "2001:db8:0:1::1").unwrap();
        own[0].progress.set_answering(true);
        own.push(admit(&connections, "2001:db8::4").unwrap());
        let mut evicted = Vec::new();
        for connection in &own {
            evicted.push(is_evicted(connection).await);
        }
        assert_eq!(evicted, [false, true, false, false], "the first is busy");
        assert!(!is_evicted(&others).await);
        own.iter().for_each(|connection| connection.progress.set_answering(true));
        assert_eq!(admit(&connections, "2001:db8::5").err(), Some(TooMany::OfNetwork), "none is idle");
        assert!(admit(&connections, "2001:db8:0:1::2").is_ok());
        assert!(connections.admit("2001:db8::5".parse().unwrap(), true).is_ok(), "a proxy");
        drop(own);
        assert!(admit(&connections, "2001:db8::6").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn full_server_loses_the_longest_idle_connection_of_the_network_with_the_most() {
        let connections = Connections::new(ConnectionLimits { in_all: 4, ..LIMITS });
        let mut open = Vec::new();
        for host in ["192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.2"] {
            open.push(admit(&connections, host).unwrap());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        open[1].progress.set_answering(true);
        let new = admit(&connections, "192.0.2.3").expect("another one makes room");
        let mut evicted = Vec::new();
        for connection in open.iter().chain([&new]) {
            evicted.push(is_evicted(connection).await);
        }
        assert_eq!(
            evicted,
            [false, false, true, false, false],
            "the oldest is another network's, and the next is busy"
        );
        open.remove(2);
        open.iter().chain([&new]).for_each(|connection| connection.progress.set_answering(true));
        assert_eq!(admit(&connections, "192.0.2.4").err(), Some(TooMany::InAll), "none is idle");
        assert_eq!(connections.open.lock().by_network.len(), 3, "it is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn connection_of_a_proxy_counts_by_the_client_that_the_proxy_names() {
        let connections = Connections::new(LIMITS);
        let of_client = |client: &str| {
            let mut connection = connections.admit("10.0.0.1".parse().unwrap(), true).unwrap();
            let counted = connection.count_by(client.parse().unwrap(), false);
            connection.progress.set_answering(true);
            counted.map(|()| connection)
        };
        let open = ["192.0.2.1"; 3].map(|client| of_client(client).ok().unwrap());
        assert_eq!(of_client("192.0.2.1").err(), Some(TooMany::OfNetwork));
        let other = of_client("192.0.2.2").ok().unwrap();
        open[1].progress.set_answering(false);
        assert!(of_client("192.0.2.1").is_ok());
        assert!(is_evicted(&open[1]).await);
        drop((open, other));
        assert!(connections.open.lock().by_network.is_empty() && connections.open.lock().in_all == 0);
    }

    #[tokio::test]
    async fn loopback_counts_only_if_asked_and_all_connections_have_a_limit() {
        for (count_loopback, expected) in [(false, TooMany::InAll), (true, TooMany::OfNetwork)] {
            let connections = Connections::new(ConnectionLimits { count_loopback, ..LIMITS });
            let mut open = Vec::new();
            let refused = loop {
                match admit(&connections, "::ffff:127.0.0.1") {
                    Ok(connection) => {
                        connection.progress.set_answering(true);
                        open.push(connection);
                    }
                    Err(refused) => break refused,
                }
            };
            assert_eq!(refused, expected);
            let over = tokio::spawn({
                let connections = Arc::clone(&connections);
                async move { connections.all_over().await }
            });
            tokio::task::yield_now().await;
            assert!(!over.is_finished());
            drop(open);
            over.await.unwrap();
            assert!(connections.open.lock().by_network.is_empty());
        }
    }
}
