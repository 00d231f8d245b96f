//! A writer of small recordings, field by field: types, constants and events as async-profiler's
//! `flightRecorder.cpp` and OpenJDK's `JfrChunkWriter` lay them out.

/// Writes numbers as a chunk of a kind does.
#[derive(Clone, Copy)]
pub struct Numbers {
    compressed: bool,
}

/// Compressed integers, as all writers use them by default.
pub fn compressed() -> Numbers {
    Numbers { compressed: true }
}

/// Integers of fixed size.
pub fn fixed() -> Numbers {
    Numbers { compressed: false }
}

impl Numbers {
    fn number(self, number: u64, size: usize) -> Vec<u8> {
        if !self.compressed {
            return number.to_be_bytes()[8 - size..].to_vec();
        }
        let (mut left, mut bytes) = (number, Vec::new());
        while left >= 0x80 && bytes.len() < 8 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
        bytes
    }

    /// An `int`.
    pub fn int(self, number: u32) -> Vec<u8> {
        self.number(number.into(), 4)
    }

    /// A `long`, or the number of a constant.
    pub fn long(self, number: u64) -> Vec<u8> {
        self.number(number, 8)
    }

    /// A text in UTF-8.
    pub fn text(self, text: &str) -> Vec<u8> {
        [vec![3], self.int(text.len() as u32), text.as_bytes().to_vec()].concat()
    }

    /// An event: its size counts itself.
    pub fn event(self, class: u64, fields: &[Vec<u8>]) -> Vec<u8> {
        let body = [self.long(class), fields.concat()].concat();
        let size = |own: usize| (body.len() + own) as u32;
        let mut own = if self.compressed { 1 } else { 4 };
        while self.compressed && self.int(size(own)).len() > own {
            own += 1;
        }
        [self.int(size(own)), body].concat()
    }

    /// A pool of constants.
    pub fn pool(self, class: u64, constants: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut pool = [self.long(class), self.int(constants.len() as u32)].concat();
        for (number, value) in constants {
            pool.extend(self.long(*number));
            pool.extend(value);
        }
        pool
    }

    /// A checkpoint of pools.
    pub fn checkpoint(self, pools: &[Vec<u8>]) -> Vec<u8> {
        let zero = self.long(0);
        let count = self.int(pools.len() as u32);
        self.event(1, &[zero.clone(), zero.clone(), zero, vec![0], count, pools.concat()])
    }

    /// The description of types.
    pub fn metadata(self, root: &Element) -> Vec<u8> {
        let mut texts = Vec::new();
        let tree = root.write(self, &mut texts);
        let zero = self.long(0);
        let table: Vec<u8> = texts.iter().flat_map(|text| self.text(text)).collect();
        self.event(0, &[zero.clone(), zero.clone(), zero, self.int(texts.len() as u32), table, tree])
    }

    /// A chunk that begins a second after 1970 at tick 1000 of a million a second, and takes two seconds.
    pub fn chunk(self, state: u8, events: &[Vec<u8>]) -> Vec<u8> {
        let events = events.concat();
        let size = if state == 0 { 68 + events.len() as u64 } else { 0 };
        let mut chunk = b"FLR\0\0\x02\0\x01".to_vec();
        for number in [size, 0, 0, 1_000_000_000, 2_000_000_000, 1000, 1_000_000] {
            chunk.extend(number.to_be_bytes());
        }
        chunk.extend([state, 0, 0, u8::from(self.compressed)]);
        chunk.extend(events);
        chunk
    }
}

/// An element of the description of types.
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Element>,
}

impl Element {
    /// An element with children.
    pub fn of(name: &'static str, attributes: &[(&'static str, &str)], children: Vec<Element>) -> Element {
        let attributes = attributes.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Element { name, attributes, children }
    }

    /// A type by number and name; fields are `name type`, with `*` for a constant and `[]` for an array.
    pub fn class(id: u64, name: &str, fields: &[&str]) -> Element {
        let fields = fields.iter().map(|field| {
            let (name, class) = field.split_once(' ').expect("name and type");
            let number = class.trim_end_matches(['*', '[', ']', '!']);
            let mut attributes = vec![("name", name.to_owned()), ("class", number.to_owned())];
            if class.contains('*') {
                attributes.push(("constantPool", "true".to_owned()));
            }
            if class.contains("[]") {
                attributes.push(("dimension", "1".to_owned()));
            }
            // A time in ticks.
            let ticks = Element::of("annotation", &[("class", "90"), ("value", "TICKS")], vec![]);
            let children = if class.contains('!') { vec![ticks] } else { vec![] };
            Element { name: "field", attributes, children }
        });
        let children = fields.collect();
        Element { children, ..Element::of("class", &[("id", &id.to_string()), ("name", name)], vec![]) }
    }

    /// The same types with other names.
    pub fn renamed(mut self, new: &dyn Fn(&str) -> String) -> Element {
        for (_, name) in self.attributes.iter_mut().filter(|(key, _)| self.name == "class" && *key == "name")
        {
            *name = new(name);
        }
        self.children = self.children.into_iter().map(|child| child.renamed(new)).collect();
        self
    }

    fn write(&self, numbers: Numbers, texts: &mut Vec<String>) -> Vec<u8> {
        let mut text = |text: &str| {
            let at = texts.iter().position(|known| known == text).unwrap_or_else(|| {
                texts.push(text.to_owned());
                texts.len() - 1
            });
            numbers.int(at as u32)
        };
        let mut bytes = text(self.name);
        bytes.extend(numbers.int(self.attributes.len() as u32));
        for (key, value) in &self.attributes {
            bytes.extend(text(key));
            bytes.extend(text(value));
        }
        bytes.extend(numbers.int(self.children.len() as u32));
        self.children.iter().for_each(|child| bytes.extend(child.write(numbers, texts)));
        bytes
    }
}

/// The description of these types, and of those that all recordings have.
pub fn types(events: Vec<Element>) -> Element {
    let mut classes = vec![
        Element::class(1, "boolean", &[]),
        Element::class(4, "int", &[]),
        Element::class(5, "long", &[]),
        Element::class(8, "java.lang.String", &[]),
        Element::class(20, "java.lang.Class", &["name 24*"]),
        Element::class(21, "java.lang.Thread", &["osName 8", "osThreadId 5", "javaName 8", "javaThreadId 5"]),
        Element::class(22, "jdk.types.StackTrace", &["truncated 1", "frames 26[]"]),
        Element::class(23, "jdk.types.Method", &["type 20*", "name 24*", "hidden 1"]),
        Element::class(24, "jdk.types.Symbol", &["string 8"]),
        Element::class(25, "jdk.types.FrameType", &["description 8"]),
        Element::class(
            26,
            "jdk.types.StackFrame",
            &["method 23*", "lineNumber 4", "bytecodeIndex 4", "type 25*"],
        ),
        Element::class(27, "jdk.types.ThreadState", &["name 8"]),
        Element::class(90, "jdk.jfr.Timespan", &[]),
    ];
    classes.extend(events);
    Element::of("root", &[], vec![Element::of("metadata", &[], classes), Element::of("region", &[], vec![])])
}
