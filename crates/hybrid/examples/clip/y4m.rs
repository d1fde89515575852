//! Reads a whole Y4M file of planar 4:2:0 pictures.

use legato_hybrid::{Picture, Size};

pub fn read_y4m(bytes: &[u8]) -> Result<(Size, f64, Vec<Picture>), Box<dyn std::error::Error>> {
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or("no Y4M header")?;
    let header = std::str::from_utf8(&bytes[..end])?;
    let field = |letter: char| header.split(' ').skip(1).find_map(|part| part.strip_prefix(letter)).unwrap_or("");
    let size = Size::new(field('W').parse()?, field('H').parse()?)?;
    let (frames, seconds) = field('F').split_once(':').ok_or("no frame rate")?;
    let fps = frames.parse::<f64>()? / seconds.parse::<f64>()?;
    let length = size.width() * size.height() * 3 / 2;
    let pictures = bytes[end + 1..].chunks_exact(length + 6).map(|frame| Picture::from_planar(size, &frame[6..]));
    Ok((size, fps, pictures.collect::<Result<_, _>>()?))
}
