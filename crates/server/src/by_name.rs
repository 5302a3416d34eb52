//! Records by the names of their fields only. What `serde` derives also takes an array of the values in the order in which
//! the fields happen to be written, and `{"open": null}` for the word `"open"`. No caller is promised that, and a body that was
//! not understood as it was meant can sell seats.
//!
//! And nothing that is nested deeper than it may be: who passes everything that is inside something can count how deep that is, and
//! nobody has to look at each letter for it.

use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};

use crate::limits::NESTING_MAX;

/// A deserializer, and everything that it hands out on the way to the fields inside.
pub(crate) struct ByName<T> {
    inner: T,
    /// How many arrays and objects it is inside of.
    depth: usize,
}

impl<T> ByName<T> {
    /// Of a whole.
    pub(crate) fn new(inner: T) -> ByName<T> {
        ByName { inner, depth: 0 }
    }

    /// Something else at the same depth.
    fn beside<U>(&self, inner: U) -> ByName<U> {
        ByName { inner, depth: self.depth }
    }
}

/// What is told of what is nested too deep.
pub(crate) const TOO_DEEP: &str = "must not be nested deeper than 32";
const _: () = assert!(NESTING_MAX == 32, "as it is told");

/// What is inside an array or object that is itself inside of so many.
fn inside<T, E: Error>(inner: T, depth: usize) -> Result<ByName<T>, E> {
    if depth == NESTING_MAX {
        return Err(E::custom(TOO_DEEP));
    }
    Ok(ByName { inner, depth: depth + 1 })
}

macro_rules! deserialize_alike {
    ($($method:ident($($argument:ident: $kind:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.beside(visitor);
            self.inner.$method($($argument,)* visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ByName<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(Record { visitor, depth: self.depth })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_str(Word(visitor))
    }

    deserialize_alike! {
        deserialize_any() deserialize_bool() deserialize_char() deserialize_str() deserialize_string()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_bytes() deserialize_byte_buf() deserialize_option()
        deserialize_unit() deserialize_seq() deserialize_map() deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str) deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(length: usize) deserialize_tuple_struct(name: &'static str, length: usize)
    }
}

macro_rules! visit_alike {
    ($($method:ident($kind:ty))*) => {
        $(fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ByName<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(f)
    }

    visit_alike! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128) visit_f64(f64)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = self.beside(inner);
        self.inner.visit_some(inner)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let inner = self.beside(inner);
        self.inner.visit_newtype_struct(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(inside(list, self.depth)?)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(inside(entries, self.depth)?)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, word: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(word)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for ByName<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.beside(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for ByName<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.beside(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ByName<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.beside(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// Takes an object for a record, and calls it by no name of ours.
struct Record<V> {
    visitor: V,
    depth: usize,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Record<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(inside(fields, self.depth)?)
    }
}

/// Takes text for one word of a closed list.
struct Word<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Word<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        self.0.visit_enum(CowStrDeserializer::new(word.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::ByName;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        name: Option<String>,
        inner: Option<Inner>,
        #[serde(default)]
        list: Vec<Inner>,
        #[serde(default)]
        word: Option<Word>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        number: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        Open,
    }

    fn read(text: &str) -> Result<Outer, serde_json::Error> {
        Outer::deserialize(ByName::new(&mut serde_json::Deserializer::from_str(text)))
    }

    #[test]
    fn fields_are_read_by_name() {
        let text = r#"{"name":"a\n","inner":{"number":1},"list":[{"number":2}],"word":"open"}"#;
        let outer = Outer {
            name: Some("a\n".into()),
            inner: Some(Inner { number: 1 }),
            list: vec![Inner { number: 2 }],
            word: Some(Word::Open),
        };
        assert_eq!(read(text).unwrap(), outer);
    }

    #[test]
    fn fields_are_not_read_by_place_and_words_are_text() {
        for (text, message) in [
            ("[null,null]", "invalid type: sequence, expected an object"),
            (r#"{"inner":[1]}"#, "invalid type: sequence, expected an object"),
            (r#"{"list":[[1]]}"#, "invalid type: sequence, expected an object"),
            (r#"{"word":{"open":null}}"#, "invalid type: map, expected a string"),
            (r#"{"word":"shut"}"#, "unknown variant `shut`, expected `open`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
