//! Whole paths: hand-worked cases, and the speed of the common one.

use super::*;
use crate::Ecn;
use crate::OverTime;
use crate::capacity::{AfterLast, LinkCapacity, Mahimahi, Opportunities, RateSteps, Steps};
use crate::queue::{DropTail, QueueLimit};
use crate::stage::{Bottleneck, Jitter, Loss, Propagation, VaryingLoss};
use legato_units::Burst;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::sync::Arc;

fn packet(n: u64, bytes: u64) -> Packet<u64> {
    Packet { size: DataSize::from_bytes(bytes), flow: 0, ecn: Ecn::NotEct, payload: n }
}
fn ms(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}
fn megabit() -> LinkCapacity {
    LinkCapacity::constant(DataRate::from_mbps(1))
}

#[test]
fn eager_stages_chain_at_the_push_and_exits_come_in_order() {
    let mut path = Path::new([
        Bottleneck::new(megabit(), QueueLimit::Packets(1)).into(),
        Propagation::fixed(TimeDelta::from_millis(50)).into(),
    ])
    .with_drop_notices();
    assert_eq!(path.next_arrival(), None);
    for n in 0..3 {
        path.push(ms(n), packet(n as u64, 1_250));
    }
    assert_eq!(
        path.backlog(ms(2)),
        Backlog { size: DataSize::from_bytes(1_250), delay: Some(TimeDelta::from_millis(10)) }
    );
    assert_eq!(path.min_one_way_delay(), TimeDelta::from_millis(50));
    assert_eq!(path.next_arrival(), Some(ms(60)));
    assert_eq!(path.pop(Timestamp::from_nanos(59_999_999)), None);
    assert_eq!(path.pop(ms(60)).map(|d| (d.at, d.packet.payload)), Some((ms(60), 0)));
    assert_eq!(path.next_arrival(), Some(ms(70)));
    assert_eq!(path.pop(ms(90)).map(|d| (d.at, d.packet.payload)), Some((ms(70), 1)));
    assert_eq!(path.pop(ms(90)), None);
    let notice = path.pop_drop().expect("the third found the queue full");
    assert_eq!((notice.at, notice.packet.payload, notice.reason), (ms(2), 2, DropReason::QueueFull));
    assert_eq!(path.drops(), DropCounts { queue_full: 1, ..DropCounts::default() });
    assert_eq!(path.capacity(ms(0), ms(1)), Some(DataRate::from_mbps(1)));
}

#[test]
fn a_lazy_stage_gives_deadlines_and_feeds_those_after_it() {
    let queue = Box::new(DropTail::new(QueueLimit::Packets(10)));
    let mut path = Path::new([
        Propagation::fixed(TimeDelta::from_millis(5)).into(),
        QueuedBottleneck::new(megabit(), queue).into(),
        Propagation::fixed(TimeDelta::from_millis(50)).into(),
    ]);
    path.push(ms(0), packet(0, 1_250));
    path.push(ms(0), packet(1, 1_250));
    // The bottleneck has them at 5 ms; the first leaves it at 15.
    assert_eq!(path.next_arrival(), Some(ms(15)));
    assert_eq!(path.backlog(ms(5)).size, DataSize::from_bytes(1_250));
    assert_eq!(path.next_arrival(), Some(ms(15)));
    assert_eq!(path.pop(ms(15)), None);
    let out: Vec<_> = core::iter::from_fn(|| path.pop(ms(100))).map(|d| (d.at, d.packet.payload)).collect();
    assert_eq!(out, [(ms(65), 0), (ms(75), 1)]);
    assert_eq!(path.next_arrival(), None);
}

/// Opportunities at 10, 10 and 20 ms, again every 20: each 1,500 bytes. Propagation 5 ms.
#[test]
fn a_mahimahi_link_sends_at_its_opportunities() {
    let table = Arc::new(Opportunities::new([10, 10, 20]).expect("valid"));
    let link = Mahimahi::new(table);
    let mut path = Path::new([
        Bottleneck::new(link, QueueLimit::Packets(3)).into(),
        Propagation::fixed(TimeDelta::from_millis(5)).into(),
    ]);
    // One goes into transmission, three wait, the fifth finds the queue full.
    for (n, bytes) in [1_500, 800, 800, 1_500, 100].into_iter().enumerate() {
        path.push(ms(0), packet(n as u64, bytes));
    }
    // At 30 ms there are two more, at 40 one: an idle link loses those it does not use.
    path.push(ms(31), packet(5, 1_500));
    let out: Vec<_> = core::iter::from_fn(|| path.pop(ms(500))).map(|d| (d.at, d.packet.payload)).collect();
    // The second is in 10 ms' other opportunity with 700 bytes to spare; the third needs 100 more of
    // 20 ms' one; the fourth the 1,400 left there and 100 of 30 ms'.
    assert_eq!(out, [(ms(15), 0), (ms(15), 1), (ms(25), 2), (ms(35), 3), (ms(45), 5)]);
    assert_eq!(path.drops().queue_full, 1);
}

/// 1 Mbit/s, an outage from 10 to 50 ms, then 2 Mbit/s. 1,250 bytes = 10,000 bits.
#[test]
fn an_outage_holds_what_is_on_the_wire_and_what_waits() {
    let rates = [(0, 1_000), (10, 0), (50, 2_000)];
    let rates = rates.map(|(at, kbps)| (TimeDelta::from_millis(at), DataRate::from_kbps(kbps)));
    let table = RateSteps::new(rates, TimeDelta::from_millis(100), AfterLast::Hold).expect("valid");
    let mut path = Path::new([Bottleneck::new(Steps::new(Arc::new(table)), QueueLimit::Unlimited).into()]);
    path.push(ms(4), packet(0, 1_250));
    path.push(ms(5), packet(1, 1_250));
    assert_eq!(path.backlog(ms(20)), Backlog { size: DataSize::from_bytes(1_250), delay: None });
    assert_eq!(path.backlog(ms(51)).delay, Some(TimeDelta::from_millis(5)));
    assert_eq!(path.capacity(ms(0), ms(100)), Some(DataRate::from_kbps(1_100)));
    // 6,000 bits by 10 ms, 4,000 in 2 ms from 50 on; then 5 ms.
    let out: Vec<_> = core::iter::from_fn(|| path.pop(ms(500))).map(|d| d.at).collect();
    assert_eq!(out, [ms(52), ms(57)]);
}

#[test]
fn a_path_without_stages_delivers_at_once() {
    let mut path = Path::new([]);
    path.push(ms(3), packet(7, 100));
    assert_eq!(path.next_arrival(), Some(ms(3)));
    assert_eq!(path.pop(ms(3)).map(|d| d.packet.payload), Some(7));
    assert_eq!(path.next_arrival(), None);
}

#[test]
fn packets_that_never_leave_are_never_due() {
    let mut path = Path::new([Bottleneck::new(LinkCapacity::constant(DataRate::ZERO), QueueLimit::Unlimited).into()]);
    path.push(ms(0), packet(0, 100));
    path.push(ms(0), packet(1, 100));
    assert_eq!(path.next_arrival(), None);
    assert_eq!(path.pop(Timestamp::from_secs(1 << 30)), None);
    assert_eq!(path.backlog(ms(1)).delay, None);
}

#[test]
fn packets_of_one_instant_have_the_same_fate_together_and_singly() {
    use crate::stage::JitterConfig;
    use rand_core::SeedableRng;
    let over = |steps: [(i64, i64); 3], period: i64| {
        let delta = TimeDelta::from_millis;
        OverTime::new(steps.map(|(at, value)| (delta(at), value)), Some(delta(period))).expect("valid")
    };
    let delays = over([(0, 50), (800, 90), (2_000, 10)], 2_950).map(TimeDelta::from_millis);
    let losses = over([(0, 0), (310, 8), (1_004, 40)], 1_100);
    let path = |loss: f64, limit: QueueLimit| {
        let rng = rand_chacha::ChaCha8Rng::seed_from_u64;
        let serial = Some(DataRate::from_mbps(10));
        Path::<u64>::new([
            Loss::new(loss, rng(1)).expect("a ratio").into(),
            VaryingLoss::new(losses.map(|percent| percent as f64 / 100.0), rng(3)).expect("ratios").into(),
            Bottleneck::new(megabit(), limit).into(),
            Propagation::over_time(delays.clone()).expect("valid").into(),
            Jitter::new(JitterConfig { serial, ..JitterConfig::default() }, rng(2)).into(),
        ])
        .with_drop_notices()
    };
    let rescaled =
        QueueLimit::Time { span: TimeDelta::from_millis(90), reference: DataRate::from_kbps(1), rescale: true };
    let limits =
        [QueueLimit::Packets(20), QueueLimit::Bytes(DataSize::from_bytes(9_000)), rescaled, QueueLimit::Unlimited];
    for (loss, limit) in [0.1, 0.003].into_iter().flat_map(|loss| limits.map(|limit| (loss, limit))) {
        let (mut one_by_one, mut together, mut exits) = (path(loss, limit), path(loss, limit), Vec::new());
        for round in 0..500_u64 {
            let (now, packets) = (ms(round as i64 * 10), (round % 7 + 1) as u16);
            let burst = Burst {
                packets,
                first: DataSize::from_bytes(400 + 10 * (round % 11)),
                smaller: (round % u64::from(packets)) as u16,
            };
            exits.clear();
            let lost = together.pass(now, burst, &mut exits).to_vec();
            for place in 0..usize::from(packets) {
                one_by_one.push(now, packet(place as u64, burst.size_bytes(place as u16)));
            }
            let drops = std::iter::from_fn(|| one_by_one.pop_drop());
            let drops: Vec<_> =
                drops.map(|d| Lost { place: d.packet.payload as u16, at: d.at, reason: d.reason }).collect();
            assert_eq!(lost, drops, "{limit:?} {round}");
            let came: Vec<_> = std::iter::from_fn(|| one_by_one.pop(Timestamp::MAX)).map(|d| d.at).collect();
            let out: Vec<_> = exits.iter().copied().filter(|&at| at < Timestamp::MAX).collect();
            assert_eq!(out, came, "{limit:?} {round}");
        }
        assert_eq!(together.drops(), one_by_one.drops());
        assert_eq!(together.backlog(ms(5_001)), one_by_one.backlog(ms(5_001)));
        assert!(together.drops().random > 0);
    }
}

#[test]
fn a_burst_on_a_dead_link_is_stuck_except_for_drops() {
    let mut dead =
        Path::<()>::new([Bottleneck::new(LinkCapacity::constant(DataRate::ZERO), QueueLimit::Packets(1)).into()]);
    let mut exits = Vec::new();
    let lost = dead.pass(ms(0), Burst { packets: 3, first: DataSize::from_bytes(100), smaller: 0 }, &mut exits);
    assert_eq!(lost.iter().map(|lost| lost.place).collect::<Vec<_>>(), [2]);
    assert_eq!(exits, [Timestamp::MAX; 3]);
    assert_eq!((dead.next_arrival(), dead.stuck(), dead.drops().queue_full), (None, 2, 1));
}

fn lossy_path() -> Path<u64> {
    let link = LinkCapacity::constant(DataRate::from_mbps(1));
    Path::new([
        Loss::new(0.2, ChaCha8Rng::seed_from_u64(5)).expect("a ratio").into(),
        Bottleneck::new(link, QueueLimit::Packets(4)).into(),
        Propagation::fixed(TimeDelta::from_millis(20)).into(),
    ])
    .with_drop_notices()
}

#[test]
fn a_packet_has_the_fate_it_has_when_pushed() {
    let (mut keeps, mut decides) = (lossy_path(), lossy_path());
    for n in 0..500u64 {
        let (now, size) = (Timestamp::from_millis(n as i64 * 6), DataSize::from_bytes(1_250));
        keeps.push(now, Packet { size, flow: 0, ecn: Ecn::NotEct, payload: n });
        match decides.pass_packet(now, size, &mut Ecn::NotEct) {
            Ok(at) => {
                let exit = keeps.pop(Timestamp::MAX).map(|exit| (exit.at, exit.packet.payload));
                assert_eq!(exit, Some((at, n)));
            }
            Err(Lost { at, reason, .. }) => {
                let drop = keeps.pop_drop().map(|DropNotice { at, packet, reason }| (at, packet.payload, reason));
                assert_eq!(drop, Some((at, n, reason)));
            }
        }
    }
    assert!(decides.drops().random > 50 && decides.drops().queue_full > 20);
    assert_eq!(keeps.drops(), decides.drops());
}
