//! Statements: how a value of ours stands in a column, there and back, and how a row becomes a record.
//!
//! Each type says once how it is stored. Reading goes through the model's own constructors, so a row cannot say what the
//! model forbids.

use atlasbridge_model::answer::Source;
use atlasbridge_model::{
    BootTime, Confidence, Fingerprint, Kind, Nonce, PromptId, ReplyId, SessionId, SessionStatus, SightingNo,
    Timestamp,
};
use sqlx::error::BoxDynError;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, Decode, Row, SqlSafeStr, Sqlite, SqliteExecutor, Type};

use crate::notices::NoticeId;
use crate::posts::PostId;
use crate::store::BackendError;

/// One statement, with what belongs in its places, `$1` first.
fn query(
    sql: impl SqlSafeStr,
    cells: impl Cells,
) -> Result<Query<'static, Sqlite, SqliteArguments>, sqlx::Error> {
    let mut arguments = SqliteArguments::default();
    cells.add_to(&mut arguments).map_err(sqlx::Error::Encode)?;
    let sql = sql.into_sql_str();
    // SQLite takes a place that is left empty for NULL: every test sees to it that none is.
    debug_assert_eq!(places(sql.as_str()), arguments.len(), "{}", sql.as_str());
    Ok(sqlx::query_with(sql, arguments))
}

/// The highest number of a place.
fn places(sql: &str) -> usize {
    let numbers = sql.split('$').skip(1);
    let numbers =
        numbers.filter_map(|text| text.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok());
    numbers.max().unwrap_or_default()
}

/// Returns how many rows it changed.
pub(crate) async fn run(
    db: impl SqliteExecutor<'_>,
    sql: impl SqlSafeStr,
    cells: impl Cells,
) -> Result<u64, BackendError> {
    Ok(query(sql, cells)?.execute(db).await?.rows_affected())
}

pub(crate) async fn all<T: Record>(
    db: impl SqliteExecutor<'_>,
    sql: impl SqlSafeStr,
    cells: impl Cells,
) -> Result<Vec<T>, BackendError> {
    query(sql, cells)?.fetch_all(db).await?.iter().map(T::read).collect()
}

/// The first, where there are more.
pub(crate) async fn one<T: Record>(
    db: impl SqliteExecutor<'_>,
    sql: impl SqlSafeStr,
    cells: impl Cells,
) -> Result<Option<T>, BackendError> {
    query(sql, cells)?.fetch_optional(db).await?.as_ref().map(T::read).transpose()
}

/// What a row is read as.
pub(crate) trait Record: Sized {
    fn read(row: &SqliteRow) -> Result<Self, BackendError>;
}

/// A struct that is a row. Each field stands in the column of its name, or of the one that is said after `=`; after `=>` is
/// who reads a field that stands in several.
macro_rules! record {
    ($(#[$about:meta])* $sight:vis struct $type:ident {
        $($(#[$meaning:meta])* $seen:vis $field:ident: $kind:ty $(= $column:literal)? $(=> $read:path)?,)*
    }) => {
        $(#[$about])*
        $sight struct $type { $($(#[$meaning])* $seen $field: $kind,)* }

        impl $crate::sql::Record for $type {
            fn read(row: &sqlx::sqlite::SqliteRow) -> Result<Self, $crate::store::BackendError> {
                Ok(Self { $($field: $crate::sql::record!(@ row $field $(= $column)? $(=> $read)?)?,)* })
            }
        }
    };
    (@ $row:ident $field:ident) => { $crate::sql::get($row, stringify!($field)) };
    (@ $row:ident $field:ident = $column:literal) => { $crate::sql::get($row, $column) };
    (@ $row:ident $field:ident => $read:path) => { $read($row) };
}
pub(crate) use record;

/// A row of one column.
impl<T: Stored> Record for T {
    fn read(row: &SqliteRow) -> Result<Self, BackendError> {
        T::of(row.try_get(0)?).ok_or(unreadable("value"))
    }
}

/// The value in a column.
pub(crate) fn get<T: Stored>(row: &SqliteRow, column: &'static str) -> Result<T, BackendError> {
    T::of(row.try_get(column)?).ok_or(unreadable(column))
}

pub(crate) fn unreadable(what: &'static str) -> BackendError {
    BackendError::Unreadable { what }
}

/// A value that stands in a column: as a number or as a text.
pub(crate) trait Stored: Sized {
    type Cell: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + 'static;

    /// `None`: nothing of ours has written this.
    fn of(cell: Self::Cell) -> Option<Self>;
}

impl<T: Stored> Stored for Option<T> {
    type Cell = Option<T::Cell>;

    fn of(cell: Self::Cell) -> Option<Self> {
        match cell {
            Some(cell) => T::of(cell).map(Some),
            None => Some(None),
        }
    }
}

/// A type, what stands in the column, and the ways there and back.
macro_rules! stored {
    ($($type:ty as $cell:ty: $there:expr, $back:expr;)*) => {$(
        impl $crate::sql::Stored for $type {
            type Cell = $cell;
            fn of(cell: $cell) -> Option<Self> {
                let back: fn($cell) -> Option<$type> = $back;
                back(cell)
            }
        }

        impl $crate::sql::Cells for $type {
            fn add_to(&self, arguments: &mut sqlx::sqlite::SqliteArguments) -> Result<(), sqlx::error::BoxDynError> {
                let there: fn(&$type) -> $cell = $there;
                sqlx::Arguments::add(arguments, there(self))
            }
        }
    )*};
}
pub(crate) use stored;

stored! {
    i64 as i64: |number| *number, Some;
    u8 as i64: |number| i64::from(*number), |number| number.try_into().ok();
    u16 as i64: |number| i64::from(*number), |number| number.try_into().ok();
    u32 as i64: |number| i64::from(*number), |number| number.try_into().ok();
    i32 as i64: |number| i64::from(*number), |number| number.try_into().ok();
    u64 as i64: |number| *number as i64, |number| Some(number as u64);
    bool as bool: |is| *is, Some;
    Timestamp as i64: |at| at.0, |millis| Some(Timestamp(millis));
    BootTime as i64: |at| at.0, |millis| Some(BootTime(millis));
    SightingNo as i64: |no| no.0.into(), |no| no.try_into().ok().map(SightingNo);
    Confidence as i64: |sure| sure.hundredths().into(), |sure| sure.try_into().ok().and_then(Confidence::new);
    PostId as i64: |id| id.0, |id| Some(PostId(id));
    NoticeId as i64: |id| id.0, |id| Some(NoticeId(id));
    String as String: String::clone, Some;
    Vec<String> as String: |list| serde_json::json!(list).to_string(), |list| serde_json::from_str(&list).ok();
    SessionId as String: SessionId::to_string, |id| id.parse().ok();
    PromptId as String: PromptId::to_string, |id| id.parse().ok();
    ReplyId as String: ReplyId::to_string, |id| id.parse().ok();
    Nonce as String: Nonce::to_hex, |digits| digits.parse().ok();
    Fingerprint as String: Fingerprint::to_string, |digits| digits.parse().ok();
    Kind as String: |kind| kind.as_str().to_owned(), |name| name.parse().ok();
    SessionStatus as String: |status| status.as_str().to_owned(), |name| name.parse().ok();
    Source as String: Source::to_string, |name| Some(name.as_str().into());
}

/// What belongs in the places of a statement, in their order.
pub(crate) trait Cells {
    fn add_to(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError>;
}

impl Cells for &str {
    fn add_to(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
        arguments.add(*self)
    }
}

impl<T: Cells> Cells for &T {
    fn add_to(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
        (*self).add_to(arguments)
    }
}

/// `T` is one value: nothing leaves one place empty.
impl<T: Cells> Cells for Option<T> {
    fn add_to(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
        match self {
            Some(value) => value.add_to(arguments),
            None => arguments.add(None::<i64>),
        }
    }
}

/// Several, one after the other; some of them may be several themselves.
macro_rules! tuples {
    ($($($name:ident: $type:ident),*;)*) => {$(
        impl<$($type: Cells),*> Cells for ($($type,)*) {
            fn add_to(&self, _arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
                let ($($name,)*) = self;
                $($name.add_to(_arguments)?;)*
                Ok(())
            }
        }
    )*};
}

tuples! {
    ;
    a: A, b: B;
    a: A, b: B, c: C;
    a: A, b: B, c: C, d: D;
    a: A, b: B, c: C, d: D, e: E;
    a: A, b: B, c: C, d: D, e: E, f: F;
    a: A, b: B, c: C, d: D, e: E, f: F, g: G;
    a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H;
}
