//! Which macroblock travels in which packet: neighbours in different ones.
//!
//! Macroblock (x, y) is in packet (x + slant y) mod N. The slant makes the macroblocks of a packet a lattice whose
//! shortest vector is as long as it can be, so a lost packet leaves holes far from each other.

/// The most packets of a frame.
pub(crate) const MOST_PACKETS: u8 = 64;

/// The order of a frame's macroblocks over its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interleave {
    columns: usize,
    rows: usize,
    packets: usize,
    slant: usize,
    /// Steps to the three nearest macroblocks of the same packet that come before in raster order, nearest first.
    near: [(isize, isize); 3],
}

impl Interleave {
    pub(crate) fn new(columns: usize, rows: usize, packets: u8) -> Self {
        let packets = usize::from(packets.clamp(1, MOST_PACKETS));
        let slant = (0..packets).max_by_key(|&slant| (shortest(packets, slant), std::cmp::Reverse(slant))).unwrap_or(0);
        let mut steps: Vec<_> = before(packets, slant).collect();
        steps.sort_by_key(|&(dx, dy)| (dx * dx + dy * dy, dy, dx));
        let mut near = [(0, 0); 3];
        for (to, from) in near.iter_mut().zip(steps) {
            *to = from;
        }
        Self { columns, rows, packets, slant, near }
    }
    /// The macroblocks of a packet in raster order.
    pub(crate) fn of_packet(&self, packet: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.rows).flat_map(move |y| {
            let first = (packet + self.packets - self.slant * y % self.packets) % self.packets;
            (first..self.columns).step_by(self.packets).map(move |x| (x, y))
        })
    }
    /// Packets of the frame.
    pub(crate) const fn packets(&self) -> usize {
        self.packets
    }
    /// The index of the macroblock so many steps from (`x`, `y`); `None` outside the frame.
    #[inline]
    pub(crate) fn index(&self, x: usize, y: usize, dx: isize, dy: isize) -> Option<usize> {
        let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
        (x < self.columns && y < self.rows).then_some(y * self.columns + x)
    }
    /// How much further the packets lie whose motion a packet repeats: as far apart as can be, since losses come in bursts.
    pub(crate) fn shifts(&self, copies: u8) -> impl Iterator<Item = usize> + use<> {
        let (packets, parts) = (self.packets, usize::from(copies) + 1);
        let mut before = 0;
        (1..parts).map(move |part| part * packets / parts).filter(move |&shift| {
            let new = shift > before;
            before = shift;
            new
        })
    }
    /// Steps to the three nearest macroblocks of the packet that lies `shift` before a macroblock's own, nearest first.
    pub(crate) fn beside(&self, shift: usize) -> [(isize, isize); 3] {
        let reach = self.packets.min(9) as isize;
        let (packets, slant, shift) = (self.packets as isize, self.slant as isize, shift as isize);
        let mut steps: Vec<(isize, isize)> = (-reach..=reach)
            .flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)))
            .filter(|(dx, dy)| (dx + slant * dy + shift).rem_euclid(packets) == 0)
            .collect();
        steps.sort_by_key(|&(dx, dy)| (dx * dx + dy * dy, dy, dx));
        std::array::from_fn(|i| steps.get(i).copied().unwrap_or((isize::MIN / 2, 0)))
    }
    /// Places of the nearest earlier macroblocks of the same packet, `None` outside the frame.
    #[inline]
    pub(crate) fn near(&self, x: usize, y: usize) -> [Option<usize>; 3] {
        self.near.map(|(dx, dy)| if (dx, dy) == (0, 0) { None } else { self.index(x, y, dx, dy) })
    }
}

/// Steps to earlier macroblocks of the same packet.
fn before(packets: usize, slant: usize) -> impl Iterator<Item = (isize, isize)> {
    // The shortest step is at most sqrt(1.16 packets).
    let (reach, packets, slant) = (packets.min(9) as isize, packets as isize, slant as isize);
    (-reach..=0).flat_map(move |dy| {
        (-reach..=reach)
            .filter(move |dx| (dy < 0 || *dx < 0) && (dx + slant * dy).rem_euclid(packets) == 0)
            .map(move |dx| (dx, dy))
    })
}

fn shortest(packets: usize, slant: usize) -> isize {
    before(packets, slant).map(|(dx, dy)| dx * dx + dy * dy).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_macroblock_is_in_one_packet() {
        for packets in [1, 2, 3, 7, 8, 12] {
            let order = Interleave::new(22, 18, packets);
            let mut seen = vec![0; 22 * 18];
            for packet in 0..usize::from(packets) {
                for (x, y) in order.of_packet(packet) {
                    assert_eq!((x + order.slant * y) % order.packets, packet);
                    seen[y * 22 + x] += 1;
                }
            }
            assert!(seen.iter().all(|&count| count == 1), "{packets}");
        }
    }

    /// Eight packets: (2, 2) is the shortest of a lattice of density 1/8 with the slant 3 or 5.
    #[test]
    fn macroblocks_of_a_packet_are_far_apart() {
        let distance = |packets| {
            let order = Interleave::new(22, 18, packets);
            order.near[0].0.pow(2) + order.near[0].1.pow(2)
        };
        assert_eq!([1, 2, 4, 5, 8].map(distance), [1, 2, 4, 5, 8]);
    }
}
