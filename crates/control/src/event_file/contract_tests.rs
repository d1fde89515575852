//! The page of the contract says how everything is written, and nothing else is.

use super::*;
use crate::{FrameReport, PacerQueue};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/reference/contract.md");

fn examples() -> impl Iterator<Item = &'static str> {
    let (_, rest) = PAGE.split_once("```json\n").expect("the page has examples");
    rest.split_once("```").expect("the block ends").0.lines()
}

/// The number of an event's kind: a new kind does not compile until it has one.
fn number(event: &Event) -> usize {
    match event {
        Event::Deadline => 0,
        Event::FrameCaptured(_) => 1,
        Event::FrameEncoded(_) => 2,
        Event::FrameReport(_) => 3,
        Event::Limits(_) => 4,
        Event::PacerQueue(_) => 5,
        Event::PacketReceived(_) => 6,
        Event::PacketsSent(_) => 7,
        Event::ReceiverReport(_) => 8,
        Event::RemoteEstimate(_) => 9,
        Event::RoundTripTime(_) => 10,
        Event::RouteChange => 11,
        Event::RtcpArrived => 12,
        Event::TransportFeedback(_) => 13,
    }
}

#[test]
fn every_example_of_the_page_is_written_as_it_was_read() {
    let mut events = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for example in examples() {
        let line: Line = serde_json::from_str(example).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(serde_json::to_string(&line).expect("plain values"), example);
        kinds.extend(example.split('"').nth(1).filter(|_| !matches!(line, Line::Future(_))));
        match line {
            Line::Event(_, event) => {
                events.insert(number(&event));
            }
            Line::Future(_) => kinds.extend(example.split('"').nth(3)),
            _ => {}
        }
    }
    assert_eq!(events.len(), 14, "an example of each event");
    assert_eq!(kinds.len(), 7 - 1 + 1 + 7, "an example of each line: {kinds:?}");
}

#[test]
fn the_page_names_the_version() {
    assert!(PAGE.contains(&format!("**This is version {CONTRACT_VERSION}.**")));
}

/// A field that is missing or unknown is an error: another version is never read as this one.
#[test]
fn no_field_may_be_missing_or_new() {
    for example in examples().filter(|example| example.contains("{\"frame_report\"")) {
        assert!(serde_json::from_str::<Line>(&example.replace("\"rendered\":true,", "")).is_err());
        assert!(serde_json::from_str::<Line>(&example.replace("\"rendered\"", "\"new\":1,\"rendered\"")).is_err());
    }
    assert!(serde_json::from_str::<PacerQueue>(r#"{"size_bytes":1}"#).is_err());
    assert!(serde_json::from_str::<FrameReport>("{}").is_err());
}
