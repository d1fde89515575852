//! How many parity packets a frame gets, and which share of the target that takes from the encoder.

use legato_control::PacketReports;
use legato_units::DataRate;
use legato_wire::parity::{MAX_PACKETS, MAX_PARITY};
use std::str::FromStr;

/// What decides how much parity there is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ParityRule {
    /// The controller: its `fec_rate`.
    #[default]
    Controller,
    /// This share of the packets of each frame, from 0 to [`ParityRule::MAX_SHARE`].
    Share(f64),
    /// As many packets per frame as the losses reported lately need.
    Adaptive,
}

/// A word that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parity {0}: controller, adaptive or a share from 0 to {max} is needed", max = ParityRule::MAX_SHARE)]
pub struct UnknownRule(String);

impl ParityRule {
    /// More parity than media is not sent.
    pub const MAX_SHARE: f64 = 0.5;
}

impl FromStr for ParityRule {
    type Err = UnknownRule;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "controller" => Ok(Self::Controller),
            "adaptive" => Ok(Self::Adaptive),
            share => {
                let share = share.parse().ok().filter(|share| (0.0..=Self::MAX_SHARE).contains(share));
                share.map(Self::Share).ok_or_else(|| UnknownRule(word.to_owned()))
            }
        }
    }
}

/// A rule and its inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ParityShare {
    pub rule: ParityRule,
    /// Of the packets reported lately.
    loss_ratio: f64,
    /// Packets reported, as many as count.
    reported: u32,
    /// Parity packets that a fixed share has not had so far.
    owed: f64,
}

/// Under the adaptive rule, a frame is beyond repair by parity once in a hundred.
const UNREPAIRED_RATIO: f64 = 0.01;
/// Losses are a mean over about so many packets: two seconds of 1.5 Mbit/s.
const MEMORY_PACKETS: u32 = 256;

impl ParityShare {
    /// Feedback came.
    pub fn learn(&mut self, reports: &PacketReports) {
        if self.rule != ParityRule::Adaptive {
            return;
        }
        for report in reports.iter() {
            self.reported = (self.reported + 1).min(MEMORY_PACKETS);
            let lost = f64::from(u8::from(!report.arrived()));
            self.loss_ratio += (lost - self.loss_ratio) / f64::from(self.reported);
        }
    }

    /// The share of all packets that is parity, where frames have so many of both; `None`: the controller's rate.
    pub fn ratio(&self, packets: u16) -> Option<f64> {
        match self.rule {
            ParityRule::Controller => None,
            ParityRule::Share(share) => Some(share),
            ParityRule::Adaptive => {
                let packets = packets.clamp(1, MAX_PACKETS);
                let parity = (0..=packets / 2).find(|&parity| self.repairs(packets, parity)).unwrap_or(packets / 2);
                Some(f64::from(parity) / f64::from(packets))
            }
        }
    }

    /// Parity packets of a frame of `media` packets; `None`: as the controller's rate has paid for.
    pub fn packets(&mut self, media: u16) -> Option<u16> {
        let most = media.min(MAX_PARITY.into()).min(MAX_PACKETS.saturating_sub(media));
        match self.rule {
            ParityRule::Controller => None,
            ParityRule::Share(share) => {
                self.owed += f64::from(media) * share / (1.0 - share);
                let parity = (self.owed as u16).min(most);
                // What a large frame could not have is not made up for by the next.
                self.owed = (self.owed - f64::from(parity)).min(1.0);
                Some(parity)
            }
            ParityRule::Adaptive => {
                Some((0..=most).find(|&parity| self.repairs(media + parity, parity)).unwrap_or(most))
            }
        }
    }

    /// Whether more than `parity` of so many packets are lost once in a hundred times or more rarely, if losses are
    /// independent: a binomial tail.
    fn repairs(&self, packets: u16, parity: u16) -> bool {
        let (loss, arrival) = (self.loss_ratio, 1.0 - self.loss_ratio);
        if arrival <= 0.0 {
            return false;
        }
        // The chance of no loss, then of each number from that of one loss fewer.
        let mut chance = (0..packets).fold(1.0, |chance, _| chance * arrival);
        let mut repaired = chance;
        for lost in 1..=parity {
            chance *= f64::from(packets - lost + 1) / f64::from(lost) * loss / arrival;
            repaired += chance;
        }
        1.0 - repaired <= UNREPAIRED_RATIO
    }

    /// The part of `target` for all but parity; `packets`: of a frame at that rate.
    pub fn without(&self, target: DataRate, packets: u16, decided: DataRate) -> DataRate {
        target.saturating_sub(self.ratio(packets).map_or(decided, |ratio| target.scale(ratio)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losing(loss_ratio: f64) -> ParityShare {
        ParityShare { rule: ParityRule::Adaptive, loss_ratio, ..ParityShare::default() }
    }

    /// A fifth of the packets: one of five, two of ten; of frames of two, a half each time.
    #[test]
    fn a_fixed_share_is_met_over_frames() {
        let mut fifth = ParityShare { rule: ParityRule::Share(0.2), ..ParityShare::default() };
        assert_eq!([4, 4, 8].map(|media| fifth.packets(media)), [Some(1), Some(1), Some(2)]);
        let of_two: u16 = (0..100).filter_map(|_| fifth.packets(2)).sum();
        assert_eq!((of_two, fifth.ratio(4)), (50, Some(0.2)));
        // A key frame beyond the code's size has none, and nothing is owed to the next ones for it.
        assert_eq!(fifth.packets(256), Some(0));
        assert_eq!(fifth.packets(4), Some(2));
    }

    /// Worked by hand for a loss of 0.1. Of 4 packets none is lost with 0.6561, so none is not enough. More than one of
    /// 5 is lost with 1 - 0.59049 - 0.32805 = 0.081; more than two of 6 with 0.0159; more than three of 7 with 0.0027.
    #[test]
    fn losses_say_how_much_is_needed() {
        assert_eq!(losing(0.1).packets(4), Some(3));
        assert_eq!(losing(0.0).packets(4), Some(0));
        // 0.001: one of 4 is lost with 0.004, one of 20 with 0.02.
        assert_eq!((losing(0.001).packets(4), losing(0.001).packets(20)), (Some(0), Some(1)));
        // Never more than media, and none beyond the code.
        assert_eq!((losing(0.6).packets(3), losing(1.0).packets(3)), (Some(3), Some(3)));
        assert_eq!((losing(0.1).packets(255), losing(0.1).packets(256)), (Some(1), Some(0)));
        assert!(losing(0.1).ratio(8).unwrap() > losing(0.02).ratio(8).unwrap());
        assert!(losing(1.0).ratio(9).unwrap() <= ParityRule::MAX_SHARE);
    }

    #[test]
    fn rules_have_names_and_shares_are_numbers() {
        let rule = |word: &str| word.parse::<ParityRule>().map_err(|error| error.to_string());
        assert_eq!((rule("controller"), rule("adaptive")), (Ok(ParityRule::Controller), Ok(ParityRule::Adaptive)));
        assert_eq!((rule("0.2"), rule("0")), (Ok(ParityRule::Share(0.2)), Ok(ParityRule::Share(0.0))));
        for word in ["0.6", "-0.1", "nan", "", "some"] {
            let refused = format!("parity {word}: controller, adaptive or a share from 0 to 0.5 is needed");
            assert_eq!(rule(word), Err(refused));
        }
    }

    #[test]
    fn the_encoder_gets_what_parity_leaves() {
        let (target, decided) = (DataRate::from_kbps(1_000), DataRate::from_kbps(100));
        let fifth = ParityShare { rule: ParityRule::Share(0.2), ..ParityShare::default() };
        assert_eq!(fifth.without(target, 5, decided), DataRate::from_kbps(800));
        assert_eq!(ParityShare::default().without(target, 5, decided), DataRate::from_kbps(900));
    }
}
