//! Runs a script on a document.
//!
//! Scripts are written in Rhai. They see only `doc` and `context`: no files, clock, randomness or modules. `limits`
//! restricts their time and memory, so that endless scripts and values fail like any other faulty script.

use std::rc::Rc;

use rhai::{AST, Dynamic, Engine, EvalAltResult, Scope};
use serde_json::{Map, Value};

use crate::bounded;
use crate::convert::{Reader, object_to_script};
use crate::limits::{
    CALLS_MAX, ELEMENTS_MAX, EXPRESSION_DEPTHS_MAX, FUNCTIONS_MAX, SCRIPT_BYTES_MAX, STEPS_MAX,
    STRING_BYTES_MAX, VARIABLES_MAX,
};
use crate::meter::Meter;
use crate::{Failure, failed};

/// A compiled script.
pub struct Script {
    engine: Engine,
    ast: AST,
    context: Dynamic,
    meter: Rc<Meter>,
}

/// The result of a script for a document.
#[derive(Debug, PartialEq)]
pub enum Edited {
    /// The document did not change.
    Unchanged,
    /// The document has new content. Keys keep their order; new keys come last.
    Changed(Map<String, Value>),
    /// The document is to be deleted.
    Deleted,
}

impl Script {
    /// Compiles a script. `meter` limits the resources of its runs.
    ///
    /// # Errors
    /// `bad_request` if it does not compile.
    pub fn compile(
        function: &str,
        context: Option<&Map<String, Value>>,
        meter: Meter,
    ) -> Result<Self, Failure> {
        if function.len() > SCRIPT_BYTES_MAX {
            let message =
                format!("the function has {} bytes, the most are {SCRIPT_BYTES_MAX}", function.len());
            return Err(Failure::new("bad_request", message));
        }
        let meter = Rc::new(meter);
        let engine = sandbox(&meter);
        let ast = engine.compile(function).map_err(|error| {
            Failure::new("bad_request", format!("the function does not compile: {error}"))
        })?;
        let context = context.map_or(Ok(Dynamic::UNIT), |context| object_to_script(context, &meter))?;
        Ok(Self { engine, ast, context, meter })
    }

    /// Runs the script on a document.
    ///
    /// # Errors
    /// `edit_documents_by_function_error` if it fails, exceeds its limits or leaves something other than a document.
    pub fn run(&self, document: &Map<String, Value>) -> Result<Edited, Failure> {
        self.meter.begin().map_err(failed)?;
        let edited = self.edit(document);
        // An exceeded limit takes precedence over the outcome.
        self.meter.end().map_err(failed)?;
        edited
    }

    fn edit(&self, document: &Map<String, Value>) -> Result<Edited, Failure> {
        let mut scope = Scope::new();
        scope.push_constant_dynamic("context", self.context.clone());
        scope.push_dynamic("doc", object_to_script(document, &self.meter)?);
        let run = self.engine.run_ast_with_scope(&mut scope, &self.ast);
        if let Some(exceeded) = self.meter.exceeded() {
            return Err(failed(exceeded));
        }
        run.map_err(|error| failed(reason(&error)))?;
        let edited = scope.get_value::<Dynamic>("doc").unwrap_or(Dynamic::UNIT);
        if edited.is_unit() {
            return Ok(Edited::Deleted);
        }
        let kind = edited.type_name();
        let Some(fields) = edited.read_lock::<rhai::Map>() else {
            return Err(failed(format!("`doc` must stay an object or become `()`, but it is now a {kind}")));
        };
        self.meter.outcome(|| {
            let mut reader = Reader::default();
            let edited = reader.object(&fields, Some(document), 0)?;
            Ok(if edited == *document { Edited::Unchanged } else { Edited::Changed(edited) })
        })
    }
}

fn reason(error: &EvalAltResult) -> String {
    match error.unwrap_inner() {
        EvalAltResult::ErrorTooManyOperations(_) => {
            format!("it took more than {STEPS_MAX} steps for one document")
        }
        _ => error.to_string(),
    }
}

fn sandbox(meter: &Rc<Meter>) -> Engine {
    let mut engine = Engine::new();
    engine
        .set_max_operations(STEPS_MAX)
        .set_max_call_levels(CALLS_MAX)
        .set_max_expr_depths(EXPRESSION_DEPTHS_MAX.0, EXPRESSION_DEPTHS_MAX.1)
        .set_max_string_size(STRING_BYTES_MAX)
        .set_max_array_size(ELEMENTS_MAX)
        .set_max_map_size(ELEMENTS_MAX)
        .set_max_functions(FUNCTIONS_MAX)
        .set_max_variables(VARIABLES_MAX)
        .disable_symbol("eval")
        // Scripts must not use the terminal or delay the server.
        .on_print(|_| {})
        .on_debug(|_, _, _| {})
        .register_fn("sleep", |_: i64| {})
        .register_fn("sleep", |_: f64| {});
    bounded::register(&mut engine);
    // Rhai's own step counter restarts in each callback of a native function, so the meter has its own.
    let meter = Rc::clone(meter);
    engine.on_progress(move |_| meter.step().is_err().then_some(Dynamic::UNIT));
    engine
}

#[cfg(test)]
mod tests;
