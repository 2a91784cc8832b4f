//! Passes faults of background work to JavaScript.

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use siftd_engine::{BackgroundFault, FaultReporter};

/// A failure of background work. Shape: `BackgroundFault` in `ts/engine/background-faults.ts`.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct Fault {
    /// The kind of work that failed: a value of `backgroundFaultKinds`.
    pub kind: String,
    /// Id of the index; null for work on behalf of all indexes.
    pub index: Option<String>,
    /// The file or directory concerned.
    pub file: String,
    /// The error in one line.
    pub reason: String,
}

/// A JavaScript function that any thread may call with a fault. The reference is weak: it does not keep the event loop
/// alive.
#[napi]
pub type ReportFault = ThreadsafeFunction<Fault, (), Fault, Status, false, true>;

/// Queues faults for `report`, which runs on its event loop's thread. After the loop has ended, faults are dropped.
pub fn reporter(report: ReportFault) -> FaultReporter {
    FaultReporter::new(move |BackgroundFault { kind, index, file, reason }| {
        let fault = Fault {
            kind: kind.name().to_owned(),
            index: index.as_deref().map(str::to_owned),
            file: file.display().to_string(),
            reason: reason.clone(),
        };
        report.call(fault, ThreadsafeFunctionCallMode::NonBlocking);
    })
}
