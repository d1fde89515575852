//! A call between two others, over the emulated link: the reference for our own calls.
//!
//! Two sockets on the loopback interface are between the two ends. Each end takes one of them for the other end,
//! because the session descriptions pass through here and come out with these addresses instead of the ends' own. Or
//! each end is in a separate network namespace (`legato_tun`), and the link is between the namespaces. Then ends reach
//! each other under their addresses, and may be programs that know nothing of WebRTC or Legato.
//!
//! Nothing is decrypted: ICE, DTLS and media are between the two, and packets are recorded by their clear headers. So
//! there are no feedback, frame or encoder records, frames count as captured when their first packet leaves, and the
//! sender's target is the one that its browser reports.

use crate::clock::{Clock, wait};
use crate::connection::offered::repair_types;
use crate::error::Error;
use crate::listener::Listener;
use crate::mail::{Mail, link_report};
use crate::network::ends::{Ends, Outside};
use crate::network::flow::Watched;
use crate::network::link::{Link, Place};
use crate::outcome::{CallReport, Outcome};
use crate::thread::CallThread;
use legato_trace::LogLevel;
use legato_units::TimeDelta;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// The parts of a call between others.
pub struct RelaySetup {
    /// The network: each end has a socket of the loopback interface before it, or is in a namespace.
    pub place: Place,
    /// The recorded duration, from the first media packet, or from the opening if everything is watched.
    pub duration: TimeDelta,
    /// The level of recording.
    pub level: LogLevel,
    /// Of media, the call begins with the first; of everything, at once, and frames are unknown.
    pub watched: Watched,
}

/// Sockets that stand for the other end, towards the sending end and towards the receiving one.
pub(crate) type Addresses = (SocketAddr, SocketAddr);

/// Put the link between the two.
pub(crate) fn open(setup: RelaySetup) -> Result<(Option<Addresses>, CallThread), Error> {
    let RelaySetup { place, duration, level, watched } = setup;
    let (ends, addresses) = match place.hosts() {
        None => {
            let ((near, near_address), (far, far_address)) = (Outside::socket()?, Outside::socket()?);
            (Ends::Others { near, far }, Some((near_address, far_address)))
        }
        Some(hosts) => (Ends::Tuns(hosts.try_clone()?, watched), None),
    };
    let base = Clock::starting_now();
    let thread = CallThread::start(base, |mail, inbox, shared| {
        let link = place.open(ends, link_report(mail))?;
        let mut listener = Listener::new(base, duration, level, shared);
        if watched == Watched::Everything {
            listener.expect_no_frames();
            link.ready(base);
        }
        Ok(move || run(link, listener, &inbox))
    })?;
    Ok((addresses, thread))
}

/// The sending end's offer, as the receiving end is to see it.
pub(crate) fn pass_offer(
    sdp: &str,
    addresses: Option<Addresses>,
    thread: Option<&CallThread>,
) -> Result<String, Error> {
    thread.map_or(Ok(()), |thread| thread.send(Mail::RepairTypes(repair_types(sdp))))?;
    addresses.map_or_else(|| Ok(sdp.to_owned()), |(_, far)| readdressed(sdp, far))
}

/// The receiving end's answer, as the sending end is to see it.
pub(crate) fn pass_answer(sdp: &str, addresses: Option<Addresses>) -> Result<String, Error> {
    addresses.map_or_else(|| Ok(sdp.to_owned()), |(near, _)| readdressed(sdp, near))
}

/// `sdp` with one candidate at `address` instead of the original ones.
fn readdressed(sdp: &str, address: SocketAddr) -> Result<String, Error> {
    let (ip, port) = (address.ip(), address.port());
    let mut out = String::with_capacity(sdp.len());
    let mut written = false;
    for line in sdp.lines() {
        if line.starts_with("a=candidate:") {
            if !written {
                out.push_str(&format!("a=candidate:1 1 udp 2130706431 {ip} {port} typ host\r\n"));
                written = true;
            }
            continue;
        }
        out.push_str(line.trim_end());
        out.push_str("\r\n");
    }
    if !written {
        return Err(Error::Sdp(
            "a session description names no candidate: it was made before any was found".to_owned(),
        ));
    }
    Ok(out)
}

fn run(link: Link, mut listener: Listener, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
    let mut stopped = false;
    while !stopped && !listener.is_over()? {
        match inbox.recv_timeout(wait(listener.now(), listener.due())) {
            Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => {
                listener.stop()?;
                stopped = true;
            }
            Ok(Mail::Link(event)) => listener.take(&event),
            Ok(Mail::RepairTypes(types)) => listener.expect_repair(types),
            Ok(Mail::Target(target)) => listener.aim(target),
            // Of calls in which the endpoint sends or receives.
            Ok(Mail::Answer(_) | Mail::Decoded(_) | Mail::Encoded(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok(listener.finish(link, CallReport { stopped, ..CallReport::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_out_with_only_the_relays_address() {
        let sdp = "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96 97\r\na=candidate:1 1 udp 5 10.0.0.1 9 typ host\r\n\
                   a=candidate:2 1 tcp 5 10.0.0.1 9 typ host\r\na=rtpmap:97 rtx/90000\r\na=mid:0\r\n";
        let passed = readdressed(sdp, "127.0.0.1:4000".parse().unwrap()).unwrap();
        assert!(passed.contains("a=candidate:1 1 udp 2130706431 127.0.0.1 4000 typ host\r\n"));
        assert!(!passed.contains("10.0.0.1 9") && passed.ends_with("a=mid:0\r\n"));
        assert!(readdressed("v=0\r\n", "127.0.0.1:4000".parse().unwrap()).is_err());
    }
}
