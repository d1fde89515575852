//! The sending end of one TCP connection: finds losses by SACK ([rfc6675]) and by timeout ([rfc6298]), retransmits lost
//! segments, and sends new data as the window allows and as fast as the algorithm paces. A value: the caller passes in
//! arrivals and polls for departures.
//!
//! Recovery is that of [rfc6675] with the scoreboard's `pipe`; Limited Transmit ([rfc3042]) follows from it, as a
//! SACKed segment leaves the pipe. Not here: handshakes, Nagle, F-RTO, tail loss probes, RACK (a lost
//! retransmission waits for the timer) and the persist timer (the receiver's window is constant).

use super::config::{MIN_RTO, RECEIVE_WINDOW_BYTES, TcpConfig};
use super::congestion::{AckSample, Cause, Congestion, CongestionControl, Phase};
use super::delivery_rate::DeliveryRate;
use super::packet::{Ack, Segment};
use super::retransmission_timer::RetransmissionTimer;
use super::scoreboard::{News, Scoreboard, Sent};
use legato_units::{DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;

/// One direction of a connection.
pub(super) struct Connection {
    config: TcpConfig,
    number: u32,
    board: Scoreboard,
    control: Box<dyn CongestionControl>,
    timer: RetransmissionTimer,
    delivery: DeliveryRate,
    min_rtt: TimeDelta,
    phase: Phase,
    /// Recovery ends when everything before this byte is acknowledged.
    recovery_point: u64,
    /// The first lost segment leaves regardless of the window.
    must_resend: bool,
    /// RescueRxt: one rescue per recovery, once more than this is acknowledged in order.
    rescue_beyond: u64,
    /// A mark came at a window of one segment: nothing new leaves before.
    marked_until: Option<Timestamp>,
    /// The retransmission timer, while it runs.
    timeout_at: Option<Timestamp>,
    /// Timed out since new data was last acknowledged.
    timed_out: bool,
    /// The application has written up to this byte.
    written: u64,
    /// The application writes no more for now.
    paused: bool,
    held_by: Hold,
    /// The pacer: the next burst, and the rest of the one that left at `burst_at`.
    next_burst_at: Timestamp,
    burst_at: Timestamp,
    burst_left: u64,
    last_sent: Timestamp,
    /// Marks on data before this byte have been handled.
    answered_marks_to: u64,
    /// Confirm the marks to the receiver.
    cwr: bool,
    counts: Counts,
}

/// The counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments that left, retransmissions included.
    pub segments: u64,
    /// Of these, sent before.
    pub retransmissions: u64,
    /// Windows reduced because of loss found by acknowledgments.
    pub recoveries: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Windows reduced because of marks.
    pub marks: u64,
}

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Unknown: it has not been polled since something changed.
    Nothing,
    /// The application has no more.
    Application,
    /// The retransmission timer, after a mark at a window of one segment.
    Mark,
    /// The pacer.
    Pacer,
    /// The receiver's window.
    Receiver,
    /// The congestion window.
    Window,
}

impl Connection {
    /// A connection with nothing to send.
    pub fn new(config: &TcpConfig, rng: &mut ChaCha8Rng) -> Self {
        Self {
            number: 0,
            board: Scoreboard::new(config.segment_bytes),
            control: config.congestion_control.build(config, rng),
            timer: RetransmissionTimer::new(MIN_RTO),
            delivery: DeliveryRate::default(),
            min_rtt: TimeDelta::MAX,
            phase: Phase::Open,
            recovery_point: 0,
            must_resend: false,
            rescue_beyond: u64::MAX,
            marked_until: None,
            timeout_at: None,
            timed_out: false,
            written: 0,
            paused: false,
            held_by: Hold::Nothing,
            next_burst_at: Timestamp::ZERO,
            burst_at: Timestamp::ZERO,
            burst_left: 0,
            last_sent: Timestamp::ZERO,
            answered_marks_to: 0,
            cwr: false,
            counts: Counts::default(),
            config: config.clone(),
        }
    }

    /// Begin connection `number` with `bytes` to send, reusing the memory and the counters of the last one.
    pub fn restart(&mut self, number: u32, bytes: u64, rng: &mut ChaCha8Rng) {
        let mut board = core::mem::replace(&mut self.board, Scoreboard::new(self.config.segment_bytes));
        board.reset();
        let fresh = Self::new(&self.config, rng);
        *self = Self { board, number, written: bytes, counts: self.counts, paused: self.paused, ..fresh };
    }

    /// The application stops writing, or resumes. Sent data are still repaired.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
        self.held_by = Hold::Nothing;
    }

    /// Whether everything written is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.board.acked_to() >= self.written
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }
    pub fn acked(&self) -> DataSize {
        DataSize::from_bytes(self.board.acked_to())
    }
    pub fn in_flight(&self) -> DataSize {
        DataSize::from_bytes(self.board.pipe_bytes())
    }
    pub fn window(&self) -> DataSize {
        DataSize::from_bytes(self.control.window_bytes())
    }
    pub fn smoothed_rtt(&self) -> Option<TimeDelta> {
        self.timer.smoothed()
    }

    /// An acknowledgment came.
    pub fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        if ack.connection != self.number {
            return;
        }
        let prior_in_flight_bytes = self.board.pipe_bytes();
        let prior_phase = self.phase;
        let window_limited = self.held_by != Hold::Application && self.held_by != Hold::Receiver;
        let news = self.board.on_ack(ack);
        if news.acked_bytes > 0 {
            self.timer.on_sample(now - ack.echo);
            self.timed_out = false;
        }
        let (rtt, rate) = self.measure(now, &news);
        self.change_phase(now, &news, prior_in_flight_bytes, ack.ece);
        self.control.on_ack(&AckSample {
            now,
            phase: prior_phase,
            acked_bytes: news.acked_bytes,
            delivered_bytes: news.delivered_bytes,
            lost_bytes: news.lost_bytes,
            prior_in_flight_bytes,
            in_flight_bytes: self.board.pipe_bytes(),
            window_limited,
            marked: ack.ece && self.config.ecn,
            srtt: self.timer.smoothed().unwrap_or(TimeDelta::ZERO),
            rtt,
            total_delivered_bytes: self.delivery.delivered(),
            newest_stamp_bytes: news.newest.map(|newest| newest.stamp.delivered),
            rate,
        });
        if self.control.holds_back() {
            self.delivery.mark_app_limited(self.board.pipe_bytes());
        }
        // [rfc6298] §5.2 and §5.3: restarted when new data is acknowledged, off when nothing is outstanding.
        if self.board.is_empty() {
            self.timeout_at = None;
        } else if news.acked_bytes > 0 {
            self.timeout_at = Some(now + self.timer.timeout());
        }
        self.held_by = Hold::Nothing;
    }

    fn measure(
        &mut self,
        now: Timestamp,
        news: &News,
    ) -> (Option<TimeDelta>, Option<super::delivery_rate::RateSample>) {
        let Some(newest) = &news.newest else { return (None, None) };
        let rtt = (!newest.ambiguous).then(|| now - newest.sent);
        self.min_rtt = rtt.map_or(self.min_rtt, |rtt| rtt.min(self.min_rtt));
        let floor = if self.min_rtt == TimeDelta::MAX { TimeDelta::ZERO } else { self.min_rtt };
        (rtt, self.delivery.on_ack(now, news.delivered_bytes, newest.sent, &newest.stamp, floor))
    }

    /// Recovery ends, begins, or a mark is handled.
    fn change_phase(&mut self, now: Timestamp, news: &News, prior_in_flight_bytes: u64, marked: bool) {
        if self.phase != Phase::Open && self.board.acked_to() >= self.recovery_point {
            self.phase = Phase::Open;
            self.must_resend = false;
            self.control.on_recovered();
        }
        let cause = if self.phase != Phase::Open {
            return;
        } else if self.board.has_loss() {
            // [rfc6675] §5 (4): RecoveryPoint = HighData; (4.3) sends the first lost segment at once.
            self.phase = Phase::Recovery;
            self.recovery_point = self.board.next_seq();
            self.board.begin_recovery();
            // RescueRxt becomes the end of that segment when it leaves.
            (self.must_resend, self.rescue_beyond) = (self.board.next_lost().is_some(), u64::MAX);
            self.counts.recoveries += 1;
            Cause::Loss
        } else if marked && self.config.ecn && self.board.acked_to() > self.answered_marks_to {
            // [rfc3168] §6.1.2: as for a loss, at most once per window of data.
            self.counts.marks += 1;
            // [rfc3168] §6.1.2, [rfc9438] §4.6: at one segment the rate falls further by the retransmission timer.
            if self.control.window_bytes() <= u64::from(self.config.segment_bytes) {
                self.marked_until = Some(now + self.timer.timeout());
            }
            Cause::Mark
        } else {
            return;
        };
        self.answered_marks_to = self.board.next_seq();
        self.cwr = self.config.ecn;
        self.control.on_congestion(&Congestion {
            cause,
            prior_in_flight_bytes,
            in_flight_bytes: self.board.pipe_bytes(),
            delivered_bytes: news.delivered_bytes,
            total_delivered_bytes: self.delivery.delivered(),
        });
    }

    /// Its deadline has come.
    pub fn on_deadline(&mut self, now: Timestamp) {
        if self.timeout_at.is_some_and(|at| at <= now) {
            let in_flight = self.board.pipe_bytes();
            // [rfc6298] §5.4, §5.5 and §5.6: send the first again, double the timeout, start the timer.
            self.timer.on_timeout();
            self.timeout_at = Some(now + self.timer.timeout());
            self.control.on_timeout(in_flight, self.timed_out);
            self.timed_out = true;
            self.board.on_timeout();
            self.phase = Phase::Timeout;
            self.recovery_point = self.board.next_seq();
            self.must_resend = true;
            self.marked_until = None;
            self.counts.timeouts += 1;
        }
        self.held_by = Hold::Nothing;
    }

    /// When [`Connection::on_deadline`] is due, or [`Connection::poll`] has a segment again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let held_until = match self.held_by {
            Hold::Mark => self.marked_until,
            Hold::Pacer => Some(self.next_burst_at),
            _ => None,
        };
        match (self.timeout_at, held_until) {
            (Some(timeout), Some(until)) => Some(timeout.min(until)),
            (timeout, until) => timeout.or(until),
        }
    }

    /// The next segment that leaves, until there is none.
    pub fn poll(&mut self, now: Timestamp) -> Option<Segment> {
        let segment_bytes = u64::from(self.config.segment_bytes);
        let in_flight = self.board.pipe_bytes();
        if !self.must_resend && self.marked_until.is_some_and(|until| until > now) {
            self.held_by = Hold::Mark;
            return None;
        }
        if !self.must_resend && in_flight + segment_bytes > self.control.window_bytes() {
            self.held_by = Hold::Window;
            return None;
        }
        let Some(next) = self.choose() else {
            if self.held_by == Hold::Application {
                self.delivery.mark_app_limited(in_flight);
            }
            return None;
        };
        if in_flight == 0 {
            self.begin_burst_after_idle(now);
        }
        if !self.must_resend && !self.pacer_lets_go(now) {
            self.held_by = Hold::Pacer;
            return None;
        }
        Some(self.send(now, next))
    }

    /// [rfc6675] §4, NextSeg: lost data, else new data, else possibly lost data, else, once, the last not SACKed.
    fn choose(&mut self) -> Option<Next> {
        if self.phase != Phase::Open
            && let Some(number) = self.board.next_lost()
        {
            return Some(Next::Again(number));
        }
        let next_seq = self.board.next_seq();
        let left = if self.paused { 0 } else { self.written - next_seq };
        let bytes = left.min(u64::from(self.config.segment_bytes));
        self.held_by = if bytes == 0 {
            Hold::Application
        } else if next_seq + bytes - self.board.acked_to() > RECEIVE_WINDOW_BYTES {
            Hold::Receiver
        } else {
            return Some(Next::New(bytes as u16));
        };
        if self.phase != Phase::Recovery {
            return None;
        }
        if let Some(number) = self.board.next_doubtful() {
            return Some(Next::Again(number));
        }
        if self.board.acked_to() <= self.rescue_beyond {
            return None;
        }
        self.board.highest_unsacked().map(Next::Rescue)
    }

    fn send(&mut self, now: Timestamp, next: Next) -> Segment {
        let stamp = self.delivery.on_send(now, self.board.pipe_bytes() == 0);
        let (seq, bytes, retransmission) = match next {
            Next::New(bytes) => {
                let seq = self.board.next_seq();
                self.board.push(Sent::new(now, bytes, stamp));
                (seq, bytes, false)
            }
            Next::Again(number) => {
                let (seq, bytes) = self.board.resend(number, now, stamp);
                if self.must_resend {
                    self.rescue_beyond = seq + u64::from(bytes);
                }
                (seq, bytes, true)
            }
            Next::Rescue(number) => {
                // [rfc6675] §4, NextSeg (4): RescueRxt = RecoveryPoint.
                self.rescue_beyond = self.recovery_point;
                let (seq, bytes) = self.board.rescue(number, now, stamp);
                (seq, bytes, true)
            }
        };
        self.must_resend = false;
        self.counts.segments += 1;
        self.counts.retransmissions += u64::from(retransmission);
        self.last_sent = now;
        self.pace(now, bytes);
        // [rfc6298] §5.1: the timer runs while anything is outstanding.
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.timer.timeout());
        }
        // [rfc3168] §6.1.2 and §6.1.5: new data confirms the marks; retransmissions are not ECN-capable.
        let ect = self.config.ecn && !retransmission;
        let cwr = ect && core::mem::take(&mut self.cwr);
        Segment { seq, sent: now, connection: self.number, bytes, retransmission, ect, cwr }
    }

    /// Nothing is in flight, and a segment is about to leave.
    fn begin_burst_after_idle(&mut self, now: Timestamp) {
        if self.delivery.is_app_limited() {
            self.control.on_app_limited_restart();
        }
        // [rfc5681] §4.1: after more than a retransmission timeout without sending, begin as at the start.
        if self.phase == Phase::Open && self.counts.segments > 0 && now - self.last_sent > self.timer.timeout() {
            self.control.on_idle_restart();
        }
    }

    fn pacer_lets_go(&self, now: Timestamp) -> bool {
        now >= self.next_burst_at || (now == self.burst_at && self.burst_left > 0)
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.1: the next leaves after size / rate; a quantum leaves at once.
    fn pace(&mut self, now: Timestamp, bytes: u16) {
        let Some((rate, quantum)) = self.control.pacing() else { return };
        if self.burst_at != now || self.burst_left == 0 {
            (self.burst_at, self.burst_left) = (now, quantum);
        }
        self.burst_left = self.burst_left.saturating_sub(u64::from(bytes));
        let spacing = DataSize::from_bytes(u64::from(bytes)) / rate;
        self.next_burst_at = self.next_burst_at.max(now).saturating_add(spacing);
    }
}

/// The next segment.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// This many bytes of new data.
    New(u16),
    /// The segment with this number.
    Again(u64),
    /// The same, the last of the window.
    Rescue(u64),
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
