use super::*;

/// Needs the superuser: for others the test is skipped with a message.
fn pair() -> Option<Pair> {
    Pair::open().map_err(|why| eprintln!("skipped: {why}")).ok()
}

/// Runs `work` on a thread in the host's namespace.
fn inside<T: Send + 'static>(host: &Host, work: impl FnOnce() -> T + Send + 'static) -> T {
    let namespace = host.namespace.try_clone().unwrap();
    thread::spawn(move || {
        raw::enter_namespace(&namespace).unwrap();
        work()
    })
    .join()
    .unwrap()
}

fn receive(device: &Device) -> Option<Vec<u8>> {
    let mut packet = [0; 2 * MTU_BYTES as usize];
    let length = device.receive(&mut packet, Duration::from_secs(2)).unwrap()?;
    Some(packet[..length].to_vec())
}

#[test]
fn one_hosts_packets_leave_by_its_device_and_enter_the_others() {
    let Some(pair) = pair() else { return };
    let (near, far) = (pair.near.address(), pair.far.address());
    let receiver = inside(&pair.far, move || std::net::UdpSocket::bind((far, 4_000)).unwrap());
    let sender = inside(&pair.near, move || std::net::UdpSocket::bind((near, 0)).unwrap());
    receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    // 28 bytes of headers fill the MTU.
    for size in [0, 1_200, 1_472] {
        sender.send_to(&vec![7; size], (far, 4_000)).unwrap();
        let packet = receive(pair.near.device()).unwrap();
        assert_eq!((packet.len(), packet[0] >> 4, packet[9]), (28 + size, 4, 17));
        assert_eq!((&packet[12..16], &packet[16..20]), (&near.octets()[..], &far.octets()[..]));
        pair.far.device().send(&packet).unwrap();
        let mut got = [0; 2_000];
        let (length, from) = receiver.recv_from(&mut got).unwrap();
        assert_eq!((length, from), (size, sender.local_addr().unwrap()));
    }
}

#[test]
fn only_sent_packets_arrive_and_old_ones_can_be_discarded() {
    let Some(pair) = pair() else { return };
    let mut packet = [0; 64];
    assert_eq!(pair.near.device().receive(&mut packet, Duration::from_millis(300)).unwrap(), None);
    let far = pair.far.address();
    let sender = inside(&pair.near, || std::net::UdpSocket::bind("0.0.0.0:0").unwrap());
    assert!((0..5).all(|_| sender.send_to(b"old", (far, 9)).is_ok()));
    pair.near.device().drain();
    assert_eq!(pair.near.device().receive(&mut packet, Duration::ZERO).unwrap(), None);
}

#[test]
fn the_process_itself_stays_where_it_was() {
    let before = std::fs::read_link("/proc/self/ns/net").unwrap();
    let Some(pair) = pair() else { return };
    assert_eq!(std::fs::read_link("/proc/self/ns/net").unwrap(), before);
    let inner = inside(&pair.near, || std::fs::read_link("/proc/thread-self/ns/net").unwrap());
    assert_ne!(inner, before);
    let devices = inside(&pair.near, || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap());
    assert!(devices.contains("legato-near") && !devices.contains("legato-far"));
}
