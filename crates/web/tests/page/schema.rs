//! `api/openapi.json`, and whether a value is as it says: as much of JSON Schema as that file uses, and no more.

use serde_json::Value;

use crate::client::Response;

pub(crate) struct Description(Value);

impl Description {
    pub(crate) fn read() -> Self {
        Self(serde_json::from_str(include_str!("../../api/openapi.json")).unwrap())
    }

    /// Each operation whose good answer is JSON, as `GET /api/me`.
    pub(crate) fn telling(&self) -> Vec<String> {
        let paths = self.0["paths"].as_object().unwrap();
        let operations = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (path, method, operation))
        });
        operations
            .filter(|(_, _, operation)| {
                operation["responses"]["200"]["content"]["application/json"].is_object()
            })
            .map(|(path, method, _)| format!("{} {path}", method.to_uppercase()))
            .collect()
    }

    /// Fails where an answer is not one that the description has for this operation.
    #[track_caller]
    pub(crate) fn check(&self, operation: &str, response: &Response) {
        let (method, path) = operation.split_once(' ').unwrap();
        let described = &self.0["paths"][path][method.to_lowercase()];
        let answer = &described["responses"][response.status.to_string()];
        assert!(answer.is_object(), "{operation} does not describe {}", response.status);
        let schema = &answer["content"]["application/json"]["schema"];
        if schema.is_object() {
            self.check_value(operation, schema, &response.json());
        }
    }

    #[track_caller]
    pub(crate) fn check_named(&self, name: &str, value: &Value) {
        self.check_value(name, &self.0["components"]["schemas"][name], value);
    }

    #[track_caller]
    fn check_value(&self, what: &str, schema: &Value, value: &Value) {
        if let Err(problem) = self.fits(schema, value) {
            panic!("{what}: {problem}\nin {value:#}");
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        for (keyword, wanted) in schema.as_object().ok_or("a schema is an object")? {
            match keyword.as_str() {
                "$ref" => {
                    let name = wanted.as_str().and_then(|path| path.strip_prefix("#/components/schemas/"));
                    let named = name.and_then(|name| self.0["components"]["schemas"].get(name));
                    self.fits(named.ok_or_else(|| format!("{wanted} leads nowhere"))?, value)?;
                }
                "type" => fits_type(wanted, value)?,
                "enum" => match wanted.as_array().is_some_and(|known| known.contains(value)) {
                    true => (),
                    false => return Err(format!("{value} is none of {wanted}")),
                },
                "anyOf" | "oneOf" => {
                    let fitting = wanted.as_array().ok_or("a list of schemas")?;
                    let fitting = fitting.iter().filter(|schema| self.fits(schema, value).is_ok()).count();
                    if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                        return Err(format!("{value} fits {fitting} of {wanted}"));
                    }
                }
                "required" => self.has_all(wanted, value)?,
                "properties" | "additionalProperties" => self.fits_properties(schema, value)?,
                "items" => {
                    for item in value.as_array().into_iter().flatten() {
                        self.fits(wanted, item)?;
                    }
                }
                "maxItems" => {
                    let most = wanted.as_u64().ok_or("a number")?;
                    if value.as_array().is_some_and(|items| items.len() as u64 > most) {
                        return Err(format!("more than {most} items"));
                    }
                }
                "minimum" | "maximum" | "pattern" | "format" | "description" => (),
                unknown => return Err(format!("this checker does not know {unknown}")),
            }
        }
        Ok(())
    }

    fn has_all(&self, wanted: &Value, value: &Value) -> Result<(), String> {
        let missing = wanted
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .find(|name| value.get(name).is_none());
        match missing {
            Some(name) => Err(format!("{name} is missing")),
            None => Ok(()),
        }
    }

    fn fits_properties(&self, schema: &Value, value: &Value) -> Result<(), String> {
        for (name, found) in value.as_object().into_iter().flatten() {
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(known), _) => {
                    self.fits(known, found).map_err(|problem| format!("{name}: {problem}"))?
                }
                (None, Value::Bool(false)) => return Err(format!("{name} is not described")),
                (None, Value::Object(_)) => self.fits(&schema["additionalProperties"], found)?,
                (None, _) => (),
            }
        }
        Ok(())
    }
}

fn fits_type(wanted: &Value, value: &Value) -> Result<(), String> {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let fits = match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => false,
    };
    match fits {
        true => Ok(()),
        false => Err(format!("{value} is not of type {wanted}")),
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let description = Description::read();
    let fits = |value: &str| {
        let schema = &description.0["components"]["schemas"]["Choice"];
        description.fits(schema, &serde_json::from_str(value).unwrap())
    };
    assert_eq!(fits(r#"{"label":"Yes","effect":"accepts"}"#), Ok(()));
    for wrong in [
        r#"{"label":"Yes"}"#,
        r#"{"label":1,"effect":"accepts"}"#,
        r#"{"label":"Yes","effect":"explodes"}"#,
        r#"{"label":"Yes","effect":"accepts","more":1}"#,
        "[]",
    ] {
        assert!(fits(wrong).is_err(), "{wrong}");
    }
}
