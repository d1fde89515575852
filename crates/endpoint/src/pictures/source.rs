//! What the camera sees: a generated scene, or a clip in a Y4M file. Pictures are planar 4:2:0, 8 bits, and carry
//! their number (`stamp.rs`), so that the far end can report which one it shows.
//!
//! The generated scene is head and shoulders that sway and turn before a still background. Both are "dead leaves",
//! discs of all sizes that cover each other, whose edges are distributed over sizes like those of natural pictures.
//! Each picture has a little independent noise, as from a camera. Smooth textures do not work: at high quantisers
//! OpenH264 finds no motion in them, needs more bits the coarser it codes, and never leaves its coarsest quantiser
//! again. The scene is the same in every run. Y4M is read a picture at a time and played in a loop.

use crate::error::Error;
use crate::pictures::short_reads::ShortReads;
use crate::pictures::stamp;
use legato_media::FrameRate;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The pictures a call sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureSource {
    /// The generated scene, in this size and at this rate.
    Generated {
        /// Luma columns, even.
        width: u16,
        /// Luma rows, even.
        height: u16,
        /// Pictures per second.
        frame_rate: FrameRate,
    },
    /// No pictures: frames of filler, as large as an encoder would make them, that no decoder accepts. For measuring
    /// the load of calls apart from their codec.
    Filling {
        /// Frames per second.
        frame_rate: FrameRate,
    },
    /// A Y4M file.
    Y4m(PathBuf),
}

/// Makes pictures, one after the other.
#[derive(Debug)]
pub struct Pictures {
    /// Luma columns.
    pub width: u16,
    /// Luma rows.
    pub height: u16,
    /// Pictures per second.
    pub frame_rate: FrameRate,
    /// Its name in tables.
    pub label: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Generated(Scene),
    Y4m(Y4m),
}

impl Pictures {
    /// Open a source; refuses what no encoder here accepts.
    pub fn open(source: &PictureSource) -> Result<Self, Error> {
        match source {
            &PictureSource::Generated { width, height, frame_rate } => {
                let kind = Kind::Generated(Scene::new(width, height));
                Self { width, height, frame_rate, label: format!("generated {width}x{height}"), kind }
                    .checked("the generated picture")
            }
            PictureSource::Filling { .. } => Err(Error::Pictures("filling has no pictures".to_owned())),
            PictureSource::Y4m(path) => {
                let y4m = Y4m::open(path)?;
                let label = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
                let (width, height, frame_rate) = (y4m.width, y4m.height, y4m.frame_rate);
                Self { width, height, frame_rate, label, kind: Kind::Y4m(y4m) }.checked(&path.display().to_string())
            }
        }
    }

    fn checked(self, what: &str) -> Result<Self, Error> {
        let even = |n: u16, most: u16| n.is_multiple_of(2) && (64..=most).contains(&n);
        if even(self.width, 1_920) && even(self.height, 1_080) {
            return Ok(self);
        }
        let size = format!("{}x{}", self.width, self.height);
        Err(Error::Pictures(format!("{what}: {size} is not even, or not between 64x64 and 1920x1080")))
    }

    /// Draw the picture of camera frame `frame` into `picture`. Frames are drawn in order; those between are skipped.
    pub fn draw(&mut self, frame: u64, picture: &mut Vec<u8>) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Generated(scene) => scene.draw(frame, picture),
            Kind::Y4m(y4m) => {
                while y4m.passed < frame {
                    y4m.pass()?;
                }
                y4m.next(picture)?;
            }
        }
        stamp::write(picture, usize::from(self.width), frame);
        Ok(())
    }
}

/// The number of pictures after which the generated scene repeats, except for noise and number.
pub fn scene_period(width: u16, height: u16) -> u64 {
    let (width, height) = (usize::from(width), usize::from(height));
    let (columns, _) = Scene::extent(width, height);
    let sway = (2 * (width / 8)).div_ceil(SWAY_COLUMNS).max(1);
    let turn = (2 * (columns - width)).div_ceil(TURN_COLUMNS).max(1);
    (1..=turn).map(|times| sway * times).find(|period| period.is_multiple_of(turn)).unwrap_or(sway * turn) as u64
}

/// Write the first `frames` pictures of a source as a Y4M file.
pub fn write_y4m(source: &PictureSource, frames: u64, path: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Pictures(format!("{}: {error}", path.display()));
    let mut pictures = Pictures::open(source)?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    let Pictures { width, height, frame_rate, .. } = pictures;
    let (per, seconds) = frame_rate.as_ratio();
    writeln!(file, "YUV4MPEG2 W{width} H{height} F{per}:{seconds} Ip A1:1 C420jpeg").map_err(failed)?;
    let mut picture = Vec::new();
    for frame in 0..frames {
        pictures.draw(frame, &mut picture)?;
        file.write_all(b"FRAME\n").and_then(|()| file.write_all(&picture)).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

/// The generated scene: a texture larger than the picture, parts of which are background and figure.
#[derive(Debug)]
struct Scene {
    width: usize,
    height: usize,
    /// Luma, `SCENE_SCALE` times as wide and high as the picture; then both chromas, of half that size.
    planes: [Vec<u8>; 3],
}

/// The texture's size in pictures, as a fraction.
const SCENE_SCALE: (usize, usize) = (3, 2);
/// Columns the figure moves per picture …
const SWAY_COLUMNS: usize = 1;
/// … and its texture within it; even, because of chroma.
const TURN_COLUMNS: usize = 2;
/// Radii of the leaves, in luma samples …
const RADII: (f64, f64) = (6.0, 160.0);
/// … with one per this many samples: each point is covered five times over.
const SAMPLES_A_LEAF: usize = 150;
/// One in this many samples takes new noise in a picture.
const NOISE_SHARE: u32 = 5;

impl Scene {
    fn new(width: u16, height: u16) -> Self {
        let (width, height) = (usize::from(width), usize::from(height));
        let (columns, rows) = Self::extent(width, height);
        let mut planes = [vec![128; columns * rows], vec![128; columns * rows / 4], vec![128; columns * rows / 4]];
        let mut random = Lcg(0x9e37_79b9);
        for _ in 0..columns * rows / SAMPLES_A_LEAF {
            // Radii as 1/r³: as many leaves' edges at each size, as in natural pictures.
            let (least, most) = RADII;
            let share = 1.0 - (least / most) * (least / most);
            let radius = least / (1.0 - random.ratio() * share).sqrt();
            let (x, y) = (random.ratio() * columns as f64, random.ratio() * rows as f64);
            let values = [24 + random.below(200), 96 + random.below(64), 96 + random.below(64)];
            for (plane, value) in planes.iter_mut().zip(values) {
                let half = if plane.len() == columns * rows { 1.0 } else { 2.0 };
                fill_disc(plane, columns / half as usize, x / half, y / half, radius / half, value as u8);
            }
        }
        Self { width, height, planes }
    }

    /// Columns and rows of the luma texture.
    fn extent(width: usize, height: usize) -> (usize, usize) {
        let (times, over) = SCENE_SCALE;
        ((width * times / over).next_multiple_of(2), (height * times / over).next_multiple_of(2))
    }

    fn draw(&self, frame: u64, picture: &mut Vec<u8>) {
        let (width, height) = (self.width, self.height);
        let (columns, rows) = Self::extent(width, height);
        // The figure's position, swaying, and the part of the texture it shows, turning.
        let frame = frame as usize;
        let sway = there_and_back(frame * SWAY_COLUMNS, width / 8) & !1;
        let (left, top) = (there_and_back(frame * TURN_COLUMNS, columns - width), rows - height);
        picture.clear();
        for (plane, half) in self.planes.iter().zip([1, 2, 2]) {
            let (width, height, columns) = (width / half, height / half, columns / half);
            for row in 0..height {
                let start = picture.len();
                picture.extend_from_slice(&plane[row * columns..][..width]);
                if let Some(within) = figure(row, width, height) {
                    let shift = sway / half;
                    let seen = &plane[(row + top / half) * columns + left / half..][within.clone()];
                    picture[start + within.start + shift..][..within.len()].copy_from_slice(seen);
                }
            }
        }
        let mut random = Lcg(frame as u32 ^ 0x9e37_79b9);
        for sample in &mut picture[..width * height] {
            let drawn = random.next();
            if (drawn >> 16).is_multiple_of(NOISE_SHARE) {
                *sample = sample.saturating_add_signed(((drawn >> 24) % 5) as i8 - 2);
            }
        }
    }
}

/// The columns of head (a disc) or shoulders in a row, before swaying.
fn figure(row: usize, width: usize, height: usize) -> Option<std::ops::Range<usize>> {
    let (x, y) = (width as f64 * 0.45, row as f64 / height as f64);
    let half = if y < 0.6 {
        let (above, radius) = (y - 0.38, 0.22);
        (radius * radius - above * above).max(0.0).sqrt() * height as f64
    } else {
        (0.2 + 0.4 * (y - 0.6)) * width as f64
    };
    let (from, to) = ((x - half) as usize, (x + half) as usize);
    (to > from).then_some(from..to)
}

/// A linear congruential generator: sufficient for the scene, and the same everywhere.
struct Lcg(u32);

impl Lcg {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }

    /// 0 to less than 1.
    fn ratio(&mut self) -> f64 {
        f64::from(self.next() >> 8) / f64::from(1 << 24)
    }

    fn below(&mut self, most: u32) -> u32 {
        (self.next() >> 16) % most
    }
}

fn fill_disc(plane: &mut [u8], columns: usize, x: f64, y: f64, radius: f64, value: u8) {
    let rows = plane.len() / columns;
    let within = |at: f64, most: usize| (at.max(0.0) as usize).min(most);
    for row in within(y - radius, rows)..within(y + radius + 1.0, rows) {
        let dy = row as f64 - y;
        let half = (radius * radius - dy * dy).max(0.0).sqrt();
        let (from, to) = (within(x - half, columns), within(x + half, columns));
        plane[row * columns + from..row * columns + to].fill(value);
    }
}

/// 0, 1, …, `most`, …, 1, 0, 1, …
fn there_and_back(step: usize, most: usize) -> usize {
    let phase = step % (2 * most).max(1);
    if phase <= most { phase } else { 2 * most - phase }
}

/// A Y4M file of 8-bit 4:2:0.
#[derive(Debug)]
struct Y4m {
    path: PathBuf,
    file: BufReader<ShortReads<File>>,
    width: u16,
    height: u16,
    frame_rate: FrameRate,
    /// Start of the first picture.
    first: u64,
    /// Number of pictures read, over all rounds.
    passed: u64,
}

/// The maximum length of a header line.
const MAX_HEADER_BYTES: u64 = 1_024;

impl Y4m {
    fn open(path: &Path) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| Error::Pictures(format!("{}: {why}", path.display()));
        let mut file = BufReader::new(ShortReads::open(path).map_err(|error| failed(&error))?);
        let header = read_line(&mut file).ok_or_else(|| failed(&"no Y4M file"))?;
        let mut fields = header.split(' ');
        if fields.next() != Some("YUV4MPEG2") {
            return Err(failed(&"no Y4M file: it does not begin with YUV4MPEG2"));
        }
        let (mut width, mut height, mut rate) = (0, 0, None);
        for field in fields {
            let (key, value) = field.split_at(field.len().min(1));
            match key {
                "W" => width = value.parse().map_err(|_| failed(&format!("W{value} is not a width")))?,
                "H" => height = value.parse().map_err(|_| failed(&format!("H{value} is not a height")))?,
                "F" => {
                    let parts = value.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    rate = parts.and_then(|(frames, seconds)| FrameRate::new(frames, seconds));
                    rate.ok_or_else(|| failed(&format!("F{value} is not a frame rate up to 240")))?;
                }
                "C" if !matches!(value, "420" | "420jpeg" | "420mpeg2" | "420paldv") => {
                    return Err(failed(&format!("C{value}: only 8-bit 4:2:0 can be sent")));
                }
                "I" if value != "p" && value != "?" => return Err(failed(&"interlaced pictures cannot be sent")),
                _ => {}
            }
        }
        let frame_rate = rate.unwrap_or(FrameRate::THIRTY);
        let first = file.stream_position().map_err(|error| failed(&error))?;
        let mut y4m = Self { path: path.to_owned(), file, width, height, frame_rate, first, passed: 0 };
        y4m.next(&mut Vec::new())?;
        y4m.rewind()?;
        y4m.passed = 0;
        Ok(y4m)
    }

    fn rewind(&mut self) -> Result<(), Error> {
        let moved = self.file.seek(SeekFrom::Start(self.first));
        moved.map(drop).map_err(|error| Error::Pictures(format!("{}: {error}", self.path.display())))
    }

    /// Find the next picture; the first after the last.
    fn find(&mut self) -> Result<usize, Error> {
        if self.file.fill_buf().is_ok_and(<[u8]>::is_empty) {
            self.rewind()?;
        }
        if !read_line(&mut self.file).is_some_and(|line| line.starts_with("FRAME")) {
            return Err(self.cut_off());
        }
        self.passed += 1;
        Ok(usize::from(self.width) * usize::from(self.height) * 3 / 2)
    }

    fn next(&mut self, picture: &mut Vec<u8>) -> Result<(), Error> {
        picture.resize(self.find()?, 0);
        self.file.read_exact(picture).map_err(|_| self.cut_off())
    }

    /// Skip a picture.
    fn pass(&mut self) -> Result<(), Error> {
        let bytes = self.find()?;
        self.file.seek_relative(bytes as i64).map_err(|_| self.cut_off())
    }

    fn cut_off(&self) -> Error {
        Error::Pictures(format!("{}: a picture is cut off", self.path.display()))
    }
}

fn read_line(file: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    file.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line).ok()?;
    if line.pop() != Some(b'\n') {
        return None;
    }
    String::from_utf8(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(picture: &[u8], width: usize) -> u32 {
        stamp::read(picture, width, 1.0).unwrap()
    }

    #[test]
    fn generated_pictures_move_carry_their_number_and_repeat() {
        let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
        let (mut pictures, mut again) = (Pictures::open(&source).unwrap(), Pictures::open(&source).unwrap());
        let (mut first, mut second, mut same) = (Vec::new(), Vec::new(), Vec::new());
        pictures.draw(0, &mut first).unwrap();
        pictures.draw(0xa5_0001, &mut second).unwrap();
        again.draw(0xa5_0001, &mut same).unwrap();
        assert_eq!((number(&first, 320), number(&second, 320)), (0, 0xa5_0001));
        assert_eq!((first.len(), second == same, first == second), (320 * 180 * 3 / 2, true, false));
    }

    #[test]
    fn the_scene_repeats_without_a_cut() {
        assert_eq!((scene_period(1_280, 720), scene_period(320, 180), scene_period(640, 360)), (640, 160, 320));
        let source = PictureSource::Generated { width: 176, height: 144, frame_rate: FrameRate::THIRTY };
        let period = scene_period(176, 144);
        let mut pictures = Pictures::open(&source).unwrap();
        let drawn = [0, 1, period - 1, period].map(|frame| {
            let mut picture = Vec::new();
            pictures.draw(frame, &mut picture).unwrap();
            // Noise moves a sample by a few steps; chroma has none.
            picture.split_off(176 * 144)
        });
        assert!(drawn[0] == drawn[3] && drawn[0] != drawn[2] && drawn[0] != drawn[1]);
    }

    #[test]
    fn a_clip_is_played_in_a_loop() {
        let path = std::env::temp_dir().join(format!("legato-{}.y4m", std::process::id()));
        let mut bytes = b"YUV4MPEG2 W64 H64 F25:1 Ip C420jpeg\n".to_vec();
        for value in [50, 100] {
            bytes.extend(b"FRAME\n");
            bytes.extend([value; 64 * 64 * 3 / 2]);
        }
        std::fs::write(&path, &bytes).unwrap();
        let mut pictures = Pictures::open(&PictureSource::Y4m(path.clone())).unwrap();
        let mut shown = Vec::new();
        for frame in 0..3 {
            let mut picture = Vec::new();
            pictures.draw(frame, &mut picture).unwrap();
            shown.push(picture[64 * 64 - 1]);
        }
        assert_eq!(shown, [50, 100, 50]);
        bytes.truncate(bytes.len() - 9);
        std::fs::write(&path, &bytes).unwrap();
        let mut cut = Pictures::open(&PictureSource::Y4m(path.clone())).unwrap();
        cut.draw(0, &mut Vec::new()).unwrap();
        assert!(cut.draw(1, &mut Vec::new()).unwrap_err().to_string().ends_with("a picture is cut off"));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_written_clip_is_the_source() {
        let source = PictureSource::Generated { width: 320, height: 180, frame_rate: FrameRate::THIRTY };
        let path = std::env::temp_dir().join(format!("legato-written-{}.y4m", std::process::id()));
        write_y4m(&source, 3, &path).unwrap();
        let mut written = Pictures::open(&PictureSource::Y4m(path.clone())).unwrap();
        assert_eq!((written.width, written.height, written.frame_rate), (320, 180, FrameRate::THIRTY));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for frame in 0..3 {
            written.draw(frame, &mut theirs).unwrap();
        }
        Pictures::open(&source).unwrap().draw(2, &mut ours).unwrap();
        assert!(ours == theirs);
        // Another round, skipping one: 3, 4 and 5 are 0, 1 and 2.
        let mut sixth = Vec::new();
        written.draw(5, &mut sixth).unwrap();
        stamp::write(&mut ours, 320, 5);
        assert!(sixth == ours);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn invalid_clips_are_refused_with_the_reason() {
        let missing = Pictures::open(&PictureSource::Y4m("nowhere.y4m".into())).unwrap_err().to_string();
        assert!(missing.starts_with("nowhere.y4m: "), "{missing}");
        let odd = PictureSource::Generated { width: 321, height: 180, frame_rate: FrameRate::THIRTY };
        assert!(Pictures::open(&odd).unwrap_err().to_string().contains("321x180"));
    }
}
