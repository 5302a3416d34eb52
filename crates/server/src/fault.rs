//! What is wrong with a body or a query string, and where: in the API's words, with a JSON pointer.
//!
//! `serde_json` and `serde_urlencoded` describe a mistake by a Rust type. So that the usual path stays fast, they read every request; a
//! request that they reject is read once more by the deserializer below, whose error is a [`Fault`]. It reads the text one level at a
//! time, so that it needs no tree of the whole body, and delivers the declared fields of a record first.

use std::collections::HashSet;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::value::{CowStrDeserializer, StrDeserializer};
use serde::de::{
    self, Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::by_name::TOO_DEEP;
use crate::limits::NESTING_MAX;
use crate::problem::Problem;

/// Why a JSON text is no `T`; the text must be JSON.
pub(crate) fn of_body<T: DeserializeOwned>(text: &str) -> Problem {
    let body = Node { text: Text::Json(text.trim()), depth: 0 };
    match T::deserialize(body) {
        Err(fault) => fault.with_value(body).problem(),
        Ok(_) => Problem::invalid("", "cannot be read"),
    }
}

/// Why these parameters of a query string are no `T`.
pub(crate) fn of_query<T: DeserializeOwned>(parameters: &[(String, String)]) -> Problem {
    let entries = parameters.iter().map(|(name, text)| (name.clone(), Text::Parameter(text))).collect();
    match T::deserialize(de::value::MapAccessDeserializer::new(Fields::new(entries, 0))) {
        Err(fault) if fault.message == UNKNOWN_FIELD => {
            Fault { message: "is not a known parameter".to_owned(), ..fault }.problem()
        }
        Err(fault) => fault.problem(),
        Ok(_) => Problem::invalid("", "cannot be read"),
    }
}

/// A value as a message shows it: at most [`SHOWN_CHARACTERS_MAX`] characters.
pub(crate) fn shown(text: &str) -> String {
    shorten(&serde_json::Value::from(text).to_string())
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Enough to recognize a value; a body of megabytes must not come back in its error.
const SHOWN_CHARACTERS_MAX: usize = 60;

const UNKNOWN_FIELD: &str = "is not a known field";

/// A mistake and its place.
#[derive(Debug)]
struct Fault {
    /// The way from the mistake out to the root: names of fields and indices.
    steps: Vec<String>,
    message: String,
    /// Whether the message ends with the value, or the value says nothing.
    has_value: bool,
}

impl Fault {
    fn at_value(message: impl Display) -> Fault {
        Fault { steps: Vec::new(), message: message.to_string(), has_value: false }
    }

    fn at_field(field: &str, message: &str) -> Fault {
        Fault { steps: vec![field.to_owned()], message: message.to_owned(), has_value: true }
    }

    fn too_deep() -> Fault {
        Fault { steps: Vec::new(), message: TOO_DEEP.to_owned(), has_value: true }
    }

    /// Adds the value where the mistake is, once.
    fn with_value(mut self, value: Node<'_>) -> Fault {
        if !self.has_value {
            self.message = format!("{}, got {}", self.message, value.shown());
            self.has_value = true;
        }
        self
    }

    /// One step further out, from `value` in the field or element `step`.
    fn inside(self, step: impl Display, value: Node<'_>) -> Fault {
        let mut fault = self.with_value(value);
        fault.steps.push(step.to_string());
        fault
    }

    fn problem(self) -> Problem {
        // The way to what is nested too deep is as long as it may not be.
        if self.message == TOO_DEEP {
            return Problem::invalid("", TOO_DEEP);
        }
        let step = |step: &String| format!("/{}", step.replace('~', "~0").replace('/', "~1"));
        let pointer: String = self.steps.iter().rev().map(step).collect();
        Problem::invalid(&pointer, self.message)
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The deserializer checks types itself, so that what a visitor would call its expectation is never shown.
impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Fault {
        Fault::at_value(message)
    }

    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Fault {
        Fault::at_value("has the wrong type")
    }

    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Fault {
        Fault::at_value("is not a value that this field takes")
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Fault {
        Fault::at_value("has the wrong number of elements")
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Fault {
        Fault::at_value(one_of(words))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Fault {
        Fault::at_field(field, UNKNOWN_FIELD)
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::at_field(field, "is missing")
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault::at_field(field, "is given twice")
    }
}

fn one_of(words: &[&str]) -> String {
    match words {
        [word] => format!("must be {word:?}"),
        _ => {
            let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            format!("must be one of {}", words.join(", "))
        }
    }
}

/// A value, as it was sent.
#[derive(Debug, Clone, Copy)]
enum Text<'de> {
    /// JSON, without white space around it.
    Json(&'de str),
    /// Of a query string, decoded.
    Parameter(&'de str),
}

/// A value, and how many arrays and objects it is inside of.
#[derive(Debug, Clone, Copy)]
struct Node<'de> {
    text: Text<'de>,
    depth: usize,
}

impl<'de> Node<'de> {
    fn shown(self) -> String {
        match self.text {
            Text::Json(text) if text.starts_with('{') => "an object".to_owned(),
            Text::Json(text) if text.starts_with('[') => "an array".to_owned(),
            Text::Json(text) => shorten(text),
            Text::Parameter(text) => shown(text),
        }
    }

    fn must_be<T>(self, what: impl Display) -> Result<T, Fault> {
        Err(Fault::at_value(format!("must be {what}")))
    }

    fn read<T: DeserializeOwned + FromStr>(self) -> Option<T> {
        match self.text {
            Text::Json(text) => serde_json::from_str(text).ok(),
            Text::Parameter(text) => text.parse().ok(),
        }
    }

    fn is_null(self) -> bool {
        matches!(self.text, Text::Json("null"))
    }

    /// Whether it is an integer, of whatever size.
    fn is_integer(self) -> bool {
        let (Text::Json(text) | Text::Parameter(text)) = self.text;
        let digits = text.strip_prefix('-').unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }

    fn is_negative(self) -> bool {
        let (Text::Json(text) | Text::Parameter(text)) = self.text;
        text.starts_with('-')
    }

    fn deeper(self) -> Result<usize, Fault> {
        if self.depth == NESTING_MAX { Err(Fault::too_deep()) } else { Ok(self.depth + 1) }
    }

    /// Its fields, those that are declared first and in their order.
    fn fields(self, declared: &[&str]) -> Result<Fields<'de>, Fault> {
        let Text::Json(text) = self.text else { return self.must_be("an object") };
        let Ok(Entries(entries)) = serde_json::from_str::<Entries<'de>>(text) else {
            return self.must_be("an object");
        };
        let mut entries: Vec<(String, Text<'de>)> =
            entries.into_iter().map(|(name, value)| (name, Text::Json(value.get()))).collect();
        let place = |name: &str| declared.iter().position(|declared| *declared == name);
        entries.sort_by_key(|(name, _)| place(name).unwrap_or(declared.len()));
        Ok(Fields::new(entries, self.deeper()?))
    }

    fn elements(self) -> Result<Elements<'de>, Fault> {
        let Text::Json(text) = self.text else { return self.must_be("an array") };
        let Ok(elements) = serde_json::from_str::<Vec<&'de RawValue>>(text) else {
            return self.must_be("an array");
        };
        Ok(Elements { elements: elements.into_iter(), index: 0, depth: self.deeper()? })
    }
}

macro_rules! deserialize_numbers {
    ($($method:ident $visit:ident $kind:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.read::<$kind>() {
                Some(number) => visitor.$visit(number),
                None if self.is_integer() => {
                    Err(Fault::at_value(if self.is_negative() { "is too small" } else { "is too large" }))
                }
                None => self.must_be("an integer"),
            }
        })*
    };
}

macro_rules! deserialize_as {
    ($($method:ident($($argument:ident: $kind:ty),*) $other:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, Fault> {
            self.$other(visitor)
        })*
    };
}

/// As strict as [`crate::by_name::ByName`] on top of `serde_json`.
impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Text::Json(text) = self.text else { return self.deserialize_str(visitor) };
        match text.as_bytes().first() {
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            Some(_) | None => {
                if let Some(number) = self.read::<u64>() {
                    visitor.visit_u64(number)
                } else if let Some(number) = self.read::<i64>() {
                    visitor.visit_i64(number)
                } else {
                    self.deserialize_f64(visitor)
                }
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.read() {
            Some(value) => visitor.visit_bool(value),
            None => self.must_be("true or false"),
        }
    }

    deserialize_numbers! {
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
        deserialize_i128 visit_i128 i128
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_u128 visit_u128 u128
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.read() {
            Some(number) => visitor.visit_f64(number),
            None => self.must_be("a number"),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.text {
            Text::Parameter(text) => visitor.visit_str(text),
            Text::Json(text) => match serde_json::from_str::<String>(text) {
                Ok(text) => visitor.visit_string(text),
                Err(_) => self.must_be("a string"),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.is_null() { visitor.visit_unit() } else { self.must_be("null") }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(self.elements()?)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self.fields(&[])?)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(self.fields(fields)?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.text {
            Text::Parameter(word) => visitor.visit_enum(CowStrDeserializer::new(word.into())),
            Text::Json(text) => match serde_json::from_str::<String>(text) {
                Ok(word) => visitor.visit_enum(CowStrDeserializer::new(word.into())),
                Err(_) => Err(Fault::at_value(one_of(words))),
            },
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    deserialize_as! {
        deserialize_f32() deserialize_f64
        deserialize_char() deserialize_str
        deserialize_string() deserialize_str
        deserialize_identifier() deserialize_str
        deserialize_bytes() deserialize_str
        deserialize_byte_buf() deserialize_str
        deserialize_unit_struct(_name: &'static str) deserialize_unit
        deserialize_tuple(_length: usize) deserialize_seq
        deserialize_tuple_struct(_name: &'static str, _length: usize) deserialize_seq
    }
}

/// The fields of an object, as they are written.
struct Entries<'de>(Vec<(String, &'de RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'de>, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct Fields<'de> {
    entries: std::vec::IntoIter<(String, Text<'de>)>,
    seen: HashSet<String>,
    current: Option<(String, Node<'de>)>,
    depth: usize,
}

impl<'de> Fields<'de> {
    fn new(entries: Vec<(String, Text<'de>)>, depth: usize) -> Fields<'de> {
        Fields { entries: entries.into_iter(), seen: HashSet::new(), current: None, depth }
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((name, text)) = self.entries.next() else { return Ok(None) };
        // No body and no query has a field twice, whatever reads it.
        if !self.seen.insert(name.clone()) {
            return Err(Fault::at_field(&name, "is given twice"));
        }
        let key = seed.deserialize(StrDeserializer::new(&name))?;
        self.current = Some((name, Node { text, depth: self.depth }));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (name, value) = self.current.take().expect("a value comes after its key");
        seed.deserialize(value).map_err(|fault| fault.inside(name, value))
    }
}

struct Elements<'de> {
    elements: std::vec::IntoIter<&'de RawValue>,
    index: usize,
    depth: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        let value = Node { text: Text::Json(element.get()), depth: self.depth };
        let index = self.index;
        self.index += 1;
        seed.deserialize(value).map(Some).map_err(|fault| fault.inside(index, value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use crate::input::{Object, null_as_default, nullable, parse};
    use crate::problem::Problem;
    use crate::routes::bookings::new_booking::NewBooking;
    use crate::time::{Clock, Day, Moment};

    /// One field of each type that a body can have.
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Sample {
        name: String,
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        words: Option<Vec<String>>,
        count: Option<u32>,
        small: Option<u16>,
        price: Option<i64>,
        rate: Option<f64>,
        flag: Option<bool>,
        word: Option<Word>,
        day: Option<Day>,
        time: Option<Clock>,
        at: Option<Moment>,
        metadata: Option<Object>,
        prices: Option<BTreeMap<String, i64>>,
        #[serde(default, deserialize_with = "nullable")]
        limit: Option<Option<u32>>,
        #[serde(default, deserialize_with = "null_as_default")]
        switch: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Inner {
        quantity: u32,
        only: Option<Only>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        OnHold,
        Sold,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Only {
        Open,
    }

    /// Pointer and message of a problem.
    fn told(problem: &Problem) -> (&str, &str) {
        let error = &problem.more["errors"][0];
        (error["pointer"].as_str().unwrap(), error["message"].as_str().unwrap())
    }

    fn check<T: serde::de::DeserializeOwned + std::fmt::Debug>(rows: &[(&str, &str, &str)]) {
        for (body, pointer, message) in rows {
            let problem = parse::<T>(body.as_bytes()).expect_err(body);
            assert_eq!((problem.code, told(&problem)), ("INVALID_REQUEST", (*pointer, *message)), "{body}");
        }
    }

    #[test]
    fn mistakes_in_bodies_are_told_by_their_place_in_the_words_of_the_api() {
        check::<Sample>(&[
            ("", "/name", "is missing"),
            ("{}", "/name", "is missing"),
            ("null", "", "must be an object, got null"),
            ("[1]", "", "must be an object, got an array"),
            ("7", "", "must be an object, got 7"),
            (r#" "a" "#, "", r#"must be an object, got "a""#),
            (r#"{"name":null}"#, "/name", "must be a string, got null"),
            (r#"{"name":1.50}"#, "/name", "must be a string, got 1.50"),
            (r#"{"name":{}}"#, "/name", "must be a string, got an object"),
            (r#"{"name":"a","nam":1}"#, "/nam", "is not a known field"),
            (r#"{"name":"a","a/b~c":1}"#, "/a~1b~0c", "is not a known field"),
            (r#"{"name":"a","name":"b"}"#, "/name", "is given twice"),
            (r#"{"nam":1,"nam":2,"name":"a"}"#, "/nam", "is not a known field"),
            (r#"{"name":"a","count":"2"}"#, "/count", r#"must be an integer, got "2""#),
            (r#"{"name":"a","count":2.0}"#, "/count", "must be an integer, got 2.0"),
            (r#"{"name":"a","count":true}"#, "/count", "must be an integer, got true"),
            (r#"{"name":"a","count":[]}"#, "/count", "must be an integer, got an array"),
            (r#"{"name":"a","count":-1}"#, "/count", "is too small, got -1"),
            (r#"{"name":"a","count":4294967296}"#, "/count", "is too large, got 4294967296"),
            (r#"{"name":"a","small":65536}"#, "/small", "is too large, got 65536"),
            (r#"{"name":"a","price":"free"}"#, "/price", r#"must be an integer, got "free""#),
            (
                r#"{"name":"a","price":9223372036854775808}"#,
                "/price",
                "is too large, got 9223372036854775808",
            ),
            (r#"{"name":"a","rate":"1"}"#, "/rate", r#"must be a number, got "1""#),
            (r#"{"name":"a","flag":"true"}"#, "/flag", r#"must be true or false, got "true""#),
            (r#"{"name":"a","flag":1}"#, "/flag", "must be true or false, got 1"),
            (r#"{"name":"a","switch":"on"}"#, "/switch", r#"must be true or false, got "on""#),
            (r#"{"name":"a","limit":"none"}"#, "/limit", r#"must be an integer, got "none""#),
            (r#"{"name":"a","word":"gone"}"#, "/word", r#"must be one of "on_hold", "sold", got "gone""#),
            (r#"{"name":"a","word":7}"#, "/word", r#"must be one of "on_hold", "sold", got 7"#),
            (
                r#"{"name":"a","word":{"sold":null}}"#,
                "/word",
                r#"must be one of "on_hold", "sold", got an object"#,
            ),
            (r#"{"name":"a","day":"today"}"#, "/day", r#"must be a date like 2026-12-01, got "today""#),
            (r#"{"name":"a","day":20261201}"#, "/day", "must be a string, got 20261201"),
            (r#"{"name":"a","time":"9:00"}"#, "/time", r#"must be a time of day like 09:00, got "9:00""#),
            (r#"{"name":"a","at":"noon"}"#, "/at", r#"must be a time like 2026-12-24T19:00:00Z, got "noon""#),
            (r#"{"name":"a","inner":7}"#, "/inner", "must be an object, got 7"),
            (r#"{"name":"a","inner":[1]}"#, "/inner", "must be an object, got an array"),
            (r#"{"name":"a","inner":{}}"#, "/inner/quantity", "is missing"),
            (r#"{"name":"a","inner":{"quantity":null}}"#, "/inner/quantity", "must be an integer, got null"),
            (r#"{"name":"a","inner":{"quantity":1,"colour":1}}"#, "/inner/colour", "is not a known field"),
            (r#"{"name":"a","inner":{"quantity":1,"quantity":1}}"#, "/inner/quantity", "is given twice"),
            (
                r#"{"name":"a","inner":{"quantity":1,"only":"shut"}}"#,
                "/inner/only",
                r#"must be "open", got "shut""#,
            ),
            (r#"{"name":"a","list":{}}"#, "/list", "must be an array, got an object"),
            (r#"{"name":"a","list":[{"quantity":1},{}]}"#, "/list/1/quantity", "is missing"),
            (r#"{"name":"a","list":[{"quantity":1},2]}"#, "/list/1", "must be an object, got 2"),
            (r#"{"name":"a","words":"a"}"#, "/words", r#"must be an array, got "a""#),
            (r#"{"name":"a","words":["a",7]}"#, "/words/1", "must be a string, got 7"),
            (r#"{"name":"a","metadata":[]}"#, "/metadata", "must be an object, got an array"),
            (r#"{"name":"a","metadata":{"b":[{"c":1,"c":2}]}}"#, "/metadata/b/0/c", "is given twice"),
            (r#"{"name":"a","prices":{"A":"1"}}"#, "/prices/A", r#"must be an integer, got "1""#),
        ]);
        let long = format!(r#"{{"name":"a","count":"{}"}}"#, "é".repeat(1_000));
        let problem = parse::<Sample>(long.as_bytes()).unwrap_err();
        assert_eq!(told(&problem).1, format!("must be an integer, got \"{}…", "é".repeat(59)));
    }

    #[test]
    fn mistakes_in_bookings_are_told_by_their_place() {
        check::<NewBooking>(&[
            (r#"{"event":"gala"}"#, "/customer", "is missing"),
            (
                r#"{"customer":"ann","id":"mine"}"#,
                "/id",
                r#"must be a UUID like 019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a, got "mine""#,
            ),
            (r#"{"customer":"ann","id":7}"#, "/id", "must be a string, got 7"),
            (r#"{"customer":"ann","best_available":{}}"#, "/best_available/quantity", "is missing"),
            (
                r#"{"customer":"ann","best_available":{"quantity":"2"}}"#,
                "/best_available/quantity",
                r#"must be an integer, got "2""#,
            ),
            (r#"{"customer":"ann","seats":[{"ids":[]}]}"#, "/seats/0/section", "is missing"),
            (
                r#"{"customer":"ann","seats":[{"section":"A","ids":[1]}]}"#,
                "/seats/0/ids/0",
                "must be a string, got 1",
            ),
            (r#"{"customer":"ann","areas":[{"name":"a"}]}"#, "/areas/0/quantity", "is missing"),
            (r#"{"customer":"ann","contact":{"fax":"1"}}"#, "/contact/fax", "is not a known field"),
            (r#"{"customer":"ann","slot":9}"#, "/slot", "must be a string, got 9"),
        ]);
    }
}
