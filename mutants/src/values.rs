//! The values that a function may return instead of its own, by the type that it declares.

use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// At most so many for one function.
const MOST: usize = 4;

/// Expressions that replace what a function returns; those that do not compile are dropped later.
pub fn of_return(declared: &ReturnType) -> Vec<String> {
    match declared {
        ReturnType::Default => vec!["()".into()],
        ReturnType::Type(_, of) => {
            let mut values = of_type(of);
            values.truncate(MOST);
            values
        }
    }
}

fn of_type(of: &Type) -> Vec<String> {
    let texts = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
    match of {
        Type::Never(_) | Type::ImplTrait(_) => Vec::new(),
        Type::Paren(inner) => of_type(&inner.elem),
        Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        Type::Tuple(tuple) => {
            let parts: Vec<_> = tuple.elems.iter().map(of_type).collect();
            let most = parts.iter().map(Vec::len).max().unwrap_or(0);
            if parts.iter().any(Vec::is_empty) {
                return Vec::new();
            }
            let row = |at: usize| {
                parts.iter().map(|part| part[at.min(part.len() - 1)].as_str()).collect::<Vec<_>>().join(", ")
            };
            (0..most).map(|at| format!("({})", row(at))).collect()
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(_) if reference.mutability.is_none() => texts(&["&[]"]),
            Type::Path(path) if path.path.is_ident("str") => texts(&["\"\"", "\"xyzzy\""]),
            _ => texts(&["Box::leak(Box::new(Default::default()))"]),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let inner = match &last.arguments {
                PathArguments::AngleBracketed(list) => list.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(inner) => Some(inner),
                    _ => None,
                }),
                _ => None,
            };
            let wrapped = |form: fn(&str) -> String| {
                inner.map_or_else(Vec::new, |inner| of_type(inner).iter().map(|v| form(v)).collect())
            };
            match last.ident.to_string().as_str() {
                "bool" => texts(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => texts(&["0", "1"]),
                "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => texts(&["0", "1", "-1"]),
                "f32" | "f64" => texts(&["0.0", "1.0", "-1.0"]),
                "String" => texts(&["String::new()", "\"xyzzy\".into()"]),
                "Ordering" => texts(&["std::cmp::Ordering::Equal", "std::cmp::Ordering::Less"]),
                "Option" => [texts(&["None"]), wrapped(|value| format!("Some({value})"))].concat(),
                // `Result<T>` of a module is fine too: what is wrong does not compile.
                "Result" if inner.is_none() => texts(&["Ok(Default::default())"]),
                "Result" => wrapped(|value| format!("Ok({value})")),
                "Vec" => [texts(&["Vec::new()"]), wrapped(|value| format!("vec![{value}]"))].concat(),
                "Box" => wrapped(|value| format!("Box::new({value})")),
                _ => texts(&["Default::default()"]),
            }
        }
        _ => texts(&["Default::default()"]),
    }
}
