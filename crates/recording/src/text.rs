//! Enums whose values are stored as text in files and on the command line.

/// Defines an enum whose values are stored as text. An unknown text is an error.
macro_rules! texts {
    ($(#[$attribute:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $value:ident = $text:literal,)*
    }) => {
        $(#[$attribute])*
        pub enum $name { $($(#[$doc])* $value,)* }

        impl $name {
            /// All values.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$value),*];

            /// Returns the name in tables, on the command line and in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }
        }

        impl crate::field::Text for $name {
            fn text(&self) -> &str {
                self.name()
            }

            fn from_text(text: std::sync::Arc<str>) -> Result<Self, String> {
                match &*text {
                    $($text => Ok(Self::$value),)*
                    text => Err(format!("kind '{text}' does not exist")),
                }
            }
        }
    };
}

/// Lets a type with `as_str` and `From<&str>` be used, shown and stored like its text.
macro_rules! like_text {
    ($name:ident) => {
        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(out, "{:?}", self.as_str())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                self.as_str() == text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }

        impl crate::field::Text for $name {
            fn text(&self) -> &str {
                self
            }

            fn from_text(text: std::sync::Arc<str>) -> Result<Self, String> {
                Ok(Self::from(&*text))
            }
        }
    };
}

/// Defines an enum whose values are stored as text and that keeps unknown texts of newer versions.
macro_rules! open_texts {
    ($(#[$attribute:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $value:ident = $text:literal,)*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $value,)*
            /// A value of a newer version, as its text.
            Other(std::sync::Arc<str>),
        }

        impl $name {
            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$value => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$value,)*
                    other => Self::Other(other.into()),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::from(text.as_str())
            }
        }

        crate::text::like_text!($name);

        /// Orders by text.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.as_str().cmp(other)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from).map(Self::from)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                String::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }
    };
}

pub(crate) use {like_text, open_texts, texts};

#[cfg(test)]
mod tests {
    use crate::LossKind;

    #[test]
    fn a_text_of_a_newer_version_is_kept() {
        for (text, kind) in [
            ("events", LossKind::Events),
            ("untraced", LossKind::Untraced),
            ("frequency", LossKind::Other("frequency".into())),
        ] {
            assert_eq!(LossKind::from(text), kind);
            assert_eq!((kind.as_str(), kind.to_string()), (text, text.to_owned()));
            let json = serde_json::to_string(&kind).unwrap_or_default();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<LossKind>(&json).ok(), Some(kind));
        }
    }
}
