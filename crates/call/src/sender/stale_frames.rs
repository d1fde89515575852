//! Frames that wait too long in the pacer, where the controller wants them dropped.

use super::Sender;
use legato_control::{Event, PacerQueue};

impl Sender {
    /// Before a picture is coded: drop frames that have waited longer than the decision allows. The picture is then a
    /// key frame, since its reference was never sent, and takes over the numbers of the dropped packets.
    pub(super) fn drop_stale_frames(&mut self) {
        let Some(longest) = self.decision.sending.drop_queued else { return };
        let Some(dropped) = self.pacer.drop_frames(self.now, longest) else { return };
        self.numbering.give_back(&dropped);
        self.keyframes.require(self.now);
        self.tell(&Event::PacerQueue(PacerQueue { size: self.pacer.queued(), drain: self.pacer.drain_time() }));
    }
}
