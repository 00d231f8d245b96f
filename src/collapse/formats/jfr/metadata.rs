//! The types of a chunk: a tree of elements with attributes, as XML would have it.
//!
//! ```text
//! <root><metadata>
//!   <class id="101" name="jdk.ExecutionSample" superType="jdk.jfr.Event">
//!     <field name="startTime" class="9"> <annotation class="196" value="TICKS"/> </field>
//!     <field name="stackTrace" class="27" constantPool="true"/> …
//! ```
//! Names and values are numbers of texts in a table before the tree.

use std::collections::HashMap;

use super::cursor::{ChunkCursor, Text};
use super::layout::Layout;

/// The deepest that elements nest: a JDK nests five.
const DEEPEST: usize = 16;

/// The deepest that types nest in one another: a JDK nests two.
const DEEPEST_TYPE: usize = 8;

/// The most values that one type may be made of: a JDK has some forty.
const LARGEST_TYPE: usize = 4096;

/// The unit of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Ticks of the clock that the chunk's header describes.
    Ticks,
    /// This many nanoseconds.
    Nanos(i64),
}

/// A field of a type.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The number of its type.
    pub class: u64,
    /// True if it is held as the number of a constant.
    pub constant: bool,
    is_array: bool,
    /// The unit, if it is a time.
    pub unit: Option<TimeUnit>,
}

/// A type.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its fields, in their order.
    pub fields: Vec<Field>,
}

/// The types of a chunk by their numbers.
#[derive(Debug, Default)]
pub struct Metadata {
    classes: HashMap<u64, Class>,
}

impl Metadata {
    /// Reads the event that describes the types, behind its size and type; `None` if it is damaged.
    pub fn read(mut cursor: ChunkCursor) -> Option<Metadata> {
        let (_start, _duration, _id) = (cursor.long()?, cursor.long()?, cursor.long()?);
        let mut texts = Vec::new();
        for _ in 0..cursor.count()? {
            texts.push(match cursor.text()? {
                Text::Bytes(text) => String::from_utf8_lossy(&text).into_owned(),
                Text::None | Text::Constant(_) => String::new(),
            });
        }
        let root = Element::read(&mut cursor, 0)?;
        let mut metadata = Metadata::default();
        metadata.classes(&root, &texts);
        Some(metadata)
    }

    fn classes(&mut self, element: &Element, texts: &[String]) {
        for child in &element.children {
            if child.name(texts) != "class" {
                self.classes(child, texts);
                continue;
            }
            let Some(id) = child.number_attribute("id", texts) else { continue };
            let name = own_name(child.attribute("name", texts).unwrap_or_default());
            let fields = child.children.iter().filter(|child| child.name(texts) == "field");
            let fields = fields.map(|field| field.field(texts)).collect();
            self.classes.insert(id, Class { name, fields });
        }
        // What an annotation is called is known only now.
        if element.name(texts) == "metadata" {
            for class in element.children.iter().filter(|child| child.name(texts) == "class") {
                self.units(class, texts);
            }
        }
    }

    /// Notes which fields of a class are times.
    fn units(&mut self, class: &Element, texts: &[String]) {
        let Some(id) = class.number_attribute("id", texts) else { return };
        let fields = class.children.iter().filter(|child| child.name(texts) == "field");
        for (at, field) in fields.enumerate() {
            for annotation in field.children.iter().filter(|child| child.name(texts) == "annotation") {
                let kind =
                    annotation.number_attribute("class", texts).and_then(|kind| self.classes.get(&kind));
                if !kind
                    .is_some_and(|kind| matches!(&kind.name[..], "jdk.jfr.Timespan" | "jdk.jfr.Timestamp"))
                {
                    continue;
                }
                let unit = match annotation.attribute("value", texts) {
                    Some("TICKS") => TimeUnit::Ticks,
                    Some("NANOSECONDS") => TimeUnit::Nanos(1),
                    Some("MICROSECONDS") => TimeUnit::Nanos(1_000),
                    Some("MILLISECONDS" | "MILLISECONDS_SINCE_EPOCH") => TimeUnit::Nanos(1_000_000),
                    Some("SECONDS") => TimeUnit::Nanos(1_000_000_000),
                    _ => continue,
                };
                if let Some(field) = self.classes.get_mut(&id).and_then(|class| class.fields.get_mut(at)) {
                    field.unit = Some(unit);
                }
            }
        }
    }

    /// The type of a number.
    pub fn class(&self, id: u64) -> Option<&Class> {
        self.classes.get(&id)
    }

    /// The layout of a field; `None` if its type is not described, or is made of too many.
    pub fn layout(&self, field: &Field) -> Option<Layout> {
        self.field_layout(field, 0, &mut LARGEST_TYPE.clone())
    }

    fn fields_layout(&self, class: &Class, depth: usize, left: &mut usize) -> Option<Layout> {
        let fields = class.fields.iter().map(|field| self.field_layout(field, depth, left));
        Some(Layout::Struct(fields.collect::<Option<_>>()?))
    }

    fn field_layout(&self, field: &Field, depth: usize, left: &mut usize) -> Option<Layout> {
        *left = left.checked_sub(1)?;
        let class = self.class(field.class)?;
        let one = match &class.name[..] {
            _ if field.constant => Layout::Long,
            "boolean" | "byte" => Layout::Byte,
            "short" => Layout::Short { signed: true },
            "char" => Layout::Short { signed: false },
            "int" => Layout::Int,
            "long" => Layout::Long,
            "float" => Layout::Float(4),
            "double" => Layout::Float(8),
            "java.lang.String" => Layout::Text,
            _ if depth < DEEPEST_TYPE => self.fields_layout(class, depth + 1, left)?,
            _ => return None,
        };
        Some(if field.is_array { Layout::Array(Box::new(one)) } else { one })
    }
}

/// The name of a type as JDK 11 and later call it. Oracle's JDK 9 and 10 had the recorder in packages of their own:
/// `com.oracle.jdk.ExecutionSample`, `com.oracle.jfr.types.StackTrace`.
fn own_name(name: &str) -> String {
    let packages = [
        ("com.oracle.jfr.types.", "jdk.types."),
        ("com.oracle.jfr.", "jdk.jfr."),
        ("com.oracle.jdk.", "jdk."),
    ];
    let found = packages.iter().find_map(|(old, new)| Some((name.strip_prefix(old)?, new)));
    found.map_or_else(|| name.to_owned(), |(rest, new)| format!("{new}{rest}"))
}

/// An element of the tree, by the numbers of its texts.
struct Element {
    name: usize,
    attributes: Vec<(usize, usize)>,
    children: Vec<Element>,
}

impl Element {
    fn read(cursor: &mut ChunkCursor, depth: usize) -> Option<Element> {
        if depth > DEEPEST {
            return None;
        }
        let name = cursor.count()?;
        let mut element = Element { name, attributes: Vec::new(), children: Vec::new() };
        for _ in 0..cursor.count()? {
            element.attributes.push((cursor.count()?, cursor.count()?));
        }
        for _ in 0..cursor.count()? {
            element.children.push(Element::read(cursor, depth + 1)?);
        }
        Some(element)
    }

    fn name<'t>(&self, texts: &'t [String]) -> &'t str {
        texts.get(self.name).map_or("", |name| name)
    }

    fn attribute<'t>(&self, key: &str, texts: &'t [String]) -> Option<&'t str> {
        let found = self.attributes.iter().find(|(name, _)| texts.get(*name).is_some_and(|name| name == key));
        texts.get(found?.1).map(|value| &value[..])
    }

    fn number_attribute(&self, key: &str, texts: &[String]) -> Option<u64> {
        self.attribute(key, texts)?.parse().ok()
    }

    fn field(&self, texts: &[String]) -> Field {
        Field {
            name: self.attribute("name", texts).unwrap_or_default().to_owned(),
            class: self.number_attribute("class", texts).unwrap_or(u64::MAX),
            constant: self.attribute("constantPool", texts) == Some("true"),
            is_array: self.attribute("dimension", texts).is_some_and(|dimension| dimension != "0"),
            unit: None,
        }
    }
}
