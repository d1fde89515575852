//! Columns to Parquet: only the few physical types of a run folder.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// The values of one column.
#[derive(Clone, Debug)]
pub enum Column {
    /// Yes or no.
    Bool(Vec<bool>),
    /// Packets as they were on the wire.
    Bytes(Vec<Vec<u8>>),
    /// Figures, absent if not defined.
    F32(Vec<Option<f32>>),
    /// Figures, absent if not defined.
    F64(Vec<Option<f64>>),
    /// Signed nanoseconds, absent if there are none.
    I64(Vec<Option<i64>>),
    /// Names, absent if there is none. Few distinct ones.
    Text(Vec<Option<Arc<str>>>),
    /// Small counts, absent if there are none.
    U32(Vec<Option<u32>>),
    /// Counts.
    U64(Vec<u64>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::Bytes(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
        }
    }

    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical, required) = match self {
            Self::Bool(_) => (Physical::BOOLEAN, None, true),
            Self::Bytes(_) => (Physical::BYTE_ARRAY, None, true),
            Self::F32(_) => (Physical::FLOAT, None, false),
            Self::F64(_) => (Physical::DOUBLE, None, false),
            Self::I64(_) => (Physical::INT64, None, false),
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), false),
            Self::U32(_) => (Physical::INT32, Some(LogicalType::integer(32, false)), false),
            Self::U64(_) => (Physical::INT64, Some(LogicalType::integer(64, false)), true),
        };
        let repetition = if required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical).build()
    }
}

/// Write a table under a temporary name and rename it, so that a file of that name is always whole.
pub fn write_table(path: &Path, columns: &[(&str, Column)]) -> Result<(), std::io::Error> {
    let partial = path.with_extension("partial");
    let mut file = BufWriter::new(File::create(&partial)?);
    write(&mut file, columns).map_err(std::io::Error::other)?;
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    std::fs::rename(&partial, path)
}

fn write(out: &mut (impl Write + Send), columns: &[(&str, Column)]) -> Result<(), ParquetError> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    debug_assert!(columns.iter().all(|(_, column)| column.len() == rows), "columns of one length");
    let fields = columns.iter().map(|(name, column)| column.field(name).map(Arc::new));
    let schema = Type::group_type_builder("row").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_created_by("legato".to_owned())
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Chunk)
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    if rows > 0 {
        let mut group = file.next_row_group()?;
        for (_, column) in columns {
            let mut writer = group.next_column()?.expect("one writer per column");
            write_column(writer.untyped(), column)?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn write_column(writer: &mut ColumnWriter<'_>, column: &Column) -> Result<(), ParquetError> {
    match (writer, column) {
        (ColumnWriter::BoolColumnWriter(writer), Column::Bool(values)) => writer.write_batch(values, None, None),
        (ColumnWriter::FloatColumnWriter(writer), Column::F32(values)) => {
            let (levels, present) = split(values, |&value| value);
            writer.write_batch(&present, Some(&levels), None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), Column::F64(values)) => {
            let (levels, present) = split(values, |&value| value);
            writer.write_batch(&present, Some(&levels), None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::I64(values)) => {
            let (levels, present) = split(values, |&value| value);
            writer.write_batch(&present, Some(&levels), None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::U64(values)) => {
            let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
            writer.write_batch(&values, None, None)
        }
        (ColumnWriter::Int32ColumnWriter(writer), Column::U32(values)) => {
            let (levels, present) = split(values, |&value: &u32| value.cast_signed());
            writer.write_batch(&present, Some(&levels), None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Bytes(values)) => {
            let values: Vec<ByteArray> = values.iter().map(|bytes| ByteArray::from(bytes.clone())).collect();
            writer.write_batch(&values, None, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(values)) => {
            let (levels, present) = split(values, |text: &Arc<str>| ByteArray::from(text.as_bytes().to_vec()));
            writer.write_batch(&present, Some(&levels), None)
        }
        _ => unreachable!("the schema was made from these columns"),
    }
    .map(drop)
}

/// Definition levels and the values that are present.
fn split<T, U>(values: &[Option<T>], convert: impl Fn(&T) -> U) -> (Vec<i16>, Vec<U>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.iter().flatten().map(convert).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn tables_read_back_as_written_with_the_same_bytes_each_time() {
        let folder = std::env::temp_dir().join(format!("legato-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let columns = [
            ("call", Column::U64(vec![7, u64::MAX])),
            ("name", Column::Text(vec![Some("gcc".into()), None])),
            ("rate_bps", Column::F64(vec![None, Some(1.5)])),
            ("size_bytes", Column::U32(vec![Some(u32::MAX), None])),
            ("keyframe", Column::Bool(vec![true, false])),
            ("bytes", Column::Bytes(vec![vec![], vec![0, 255]])),
        ];
        let (first, second) = (folder.join("a.parquet"), folder.join("b.parquet"));
        write_table(&first, &columns).unwrap();
        write_table(&second, &columns).unwrap();
        assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap());
        let reader = SerializedFileReader::new(File::open(&first).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows[1].get_ulong(0).unwrap(), u64::MAX);
        assert_eq!(rows[0].get_string(1).unwrap(), "gcc");
        assert_eq!(rows[1].get_double(2).unwrap(), 1.5);
        assert_eq!(rows[0].get_uint(3).unwrap(), u32::MAX);
        assert_eq!(rows[1].get_bytes(5).unwrap().data(), [0, 255]);
        assert!(rows[0].get_double(2).is_err(), "absent");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
