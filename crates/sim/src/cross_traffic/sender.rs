//! A TCP flow's sending end: a workload and its connections, one after another.

use super::config::TcpConfig;
use super::connection::{Connection, Counts};
use super::packet::{Ack, Segment};
use super::workload::{BurstTimes, Workload};
use legato_units::{DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;

/// A TCP sender. After each call that passes it something, and at [`TcpSender::next_deadline`] (there
/// [`TcpSender::on_deadline`] first), call [`TcpSender::poll`] until it returns `None`.
pub struct TcpSender {
    config: TcpConfig,
    rng: ChaCha8Rng,
    connection: Connection,
    /// When its fetches begin, if that is not its own to decide.
    bursts: Option<BurstTimes>,
    /// Connections begun.
    begun: u32,
    completed: u32,
    /// Bytes of completed connections.
    acked_before: u64,
    state: State,
    paused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Data is to be sent or acknowledged.
    Connected,
    /// When the next connection begins.
    Idle(Timestamp),
    /// Nothing will ever be sent again.
    Over,
}

impl TcpSender {
    /// A sender whose workload begins at `start`. All randomness is drawn from `rng`.
    pub fn new(config: &TcpConfig, start: Timestamp, mut rng: ChaCha8Rng) -> Self {
        let connection = Connection::new(config, &mut rng);
        let first = start.saturating_add(config.workload.first_idle(&mut rng));
        Self {
            config: config.clone(),
            rng,
            connection,
            bursts: None,
            begun: 0,
            completed: 0,
            acked_before: 0,
            state: State::Idle(first),
            paused: false,
        }
    }

    /// The same with fetches that begin together with others' ([`Workload::Bursts`]): every flow of a group gets an equal
    /// `rng`. Another workload is not changed.
    pub fn in_group(mut self, start: Timestamp, rng: ChaCha8Rng) -> Self {
        if let Workload::Bursts(_) = &self.config.workload {
            let times = BurstTimes::new(start, rng);
            self.state = State::Idle(times.next());
            self.bursts = Some(times);
        }
        self
    }

    /// An acknowledgment came.
    pub fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        if self.state != State::Connected {
            return;
        }
        self.connection.on_ack(now, ack);
        if self.connection.is_complete() {
            self.completed += 1;
            self.state = match &mut self.bursts {
                Some(times) => {
                    times.advance();
                    State::Idle(times.next().max(now))
                }
                None => {
                    let idle = self.config.workload.next_idle(&mut self.rng);
                    idle.map_or(State::Over, |idle| State::Idle(now.saturating_add(idle)))
                }
            };
        }
    }

    /// The deadline has come.
    pub fn on_deadline(&mut self, now: Timestamp) {
        if self.state == State::Connected {
            self.connection.on_deadline(now);
        }
    }

    /// The next segment that leaves at `now`, until there is none.
    #[inline]
    pub fn poll(&mut self, now: Timestamp) -> Option<Segment> {
        match self.state {
            State::Connected => self.connection.poll(now),
            State::Idle(until) if until <= now && !self.paused => {
                self.begin();
                self.connection.poll(now)
            }
            State::Idle(_) | State::Over => None,
        }
    }

    /// When to call [`TcpSender::on_deadline`] and [`TcpSender::poll`] again if nothing arrives before.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        match self.state {
            State::Connected => self.connection.next_deadline(),
            State::Idle(until) if !self.paused => Some(until),
            State::Idle(_) | State::Over => None,
        }
    }

    /// The application writes nothing more until [`TcpSender::resume`]: sent data are repaired, and no fetch begins.
    pub fn pause(&mut self) {
        self.paused = true;
        self.connection.set_paused(true);
    }

    /// The application resumes writing; poll afterwards. A fetch whose time has passed begins at once.
    pub fn resume(&mut self) {
        self.paused = false;
        self.connection.set_paused(false);
    }

    /// Both ends are gone: nothing leaves any more.
    pub fn stop(&mut self) {
        self.state = State::Over;
    }

    /// Bytes acknowledged in order, of all connections.
    pub fn acked(&self) -> DataSize {
        DataSize::from_bytes(self.acked_before) + self.connection.acked()
    }
    /// Counters over all its connections.
    pub fn counts(&self) -> &Counts {
        self.connection.counts()
    }
    /// Connections begun and completed.
    pub fn connections(&self) -> (u32, u32) {
        (self.begun, self.completed)
    }
    /// The congestion window.
    pub fn window(&self) -> DataSize {
        self.connection.window()
    }
    /// Payload believed to be in the network.
    pub fn in_flight(&self) -> DataSize {
        self.connection.in_flight()
    }
    /// The smoothed round-trip time, once there is one.
    pub fn smoothed_rtt(&self) -> Option<TimeDelta> {
        self.connection.smoothed_rtt()
    }

    fn begin(&mut self) {
        self.acked_before += self.connection.acked().as_bytes();
        let bytes = self.config.workload.transfer_bytes(&mut self.rng);
        self.connection.restart(self.begun, bytes, &mut self.rng);
        self.begun += 1;
        self.state = State::Connected;
    }
}
