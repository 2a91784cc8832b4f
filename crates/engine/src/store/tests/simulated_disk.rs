//! A disk in memory. Records the order of its operations and computes the files left by a crash.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tantivy::directory::FileSlice;

use crate::background_fault::FaultReporter;
use crate::store::{Disk, DiskFile};

/// An operation on the disk. Files have numbers, like inodes.
#[derive(Debug, Clone)]
enum Step {
    Create { name: String, file: usize },
    Write { file: usize, bytes: Vec<u8> },
    Sync { file: usize },
    Rename { from: String, to: String },
    Remove { name: String },
    SyncNames,
}

/// Unsynced data that survives a crash. A disk may behave in any of these ways.
#[derive(Debug, Clone, Copy)]
pub enum CrashSurvival {
    /// No unsynced data.
    None,
    /// Names, but not the content of files.
    Names,
    /// Names, and the first half of the unsynced content of each file.
    Half,
    /// All data, as after the end of the process alone.
    All,
}

/// Content and names, current and as last synced.
#[derive(Debug, Default)]
struct State {
    files: Vec<Vec<u8>>,
    synced: Vec<usize>,
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
}

impl State {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Create { name, file } => {
                assert_eq!(*file, self.files.len());
                self.files.push(Vec::new());
                self.synced.push(0);
                self.names.insert(name.clone(), *file);
            }
            Step::Write { file, bytes } => self.files[*file].extend_from_slice(bytes),
            Step::Sync { file } => self.synced[*file] = self.files[*file].len(),
            Step::Rename { from, to } => {
                let file = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), file);
            }
            Step::Remove { name } => {
                self.names.remove(name);
            }
            Step::SyncNames => self.synced_names = self.names.clone(),
        }
    }

    fn survivors(&self, survival: CrashSurvival) -> BTreeMap<String, Vec<u8>> {
        let names = match survival {
            CrashSurvival::None => &self.synced_names,
            CrashSurvival::Names | CrashSurvival::Half | CrashSurvival::All => &self.names,
        };
        let content = |file: usize| {
            let (all, synced) = (&self.files[file], self.synced[file]);
            let count = match survival {
                CrashSurvival::None | CrashSurvival::Names => synced,
                CrashSurvival::Half => synced.midpoint(all.len()),
                CrashSurvival::All => all.len(),
            };
            all[..count].to_vec()
        };
        names.iter().map(|(name, &file)| (name.clone(), content(file))).collect()
    }
}

/// The disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk {
    inner: Arc<Mutex<(State, Vec<Step>)>>,
    /// True if syncing and removing names fails.
    fails: Arc<AtomicBool>,
    /// True if opening commit files fails.
    hides_commits: Arc<AtomicBool>,
    faults: FaultReporter,
}

impl SimulatedDisk {
    /// Creates a disk with these files, all of them synced.
    pub fn holding(files: BTreeMap<String, Vec<u8>>) -> Self {
        let disk = Self::default();
        for (name, bytes) in files {
            let mut file = disk.create(&name).unwrap();
            file.write_all(&bytes).unwrap();
            file.sync().unwrap();
        }
        disk.sync_names().unwrap();
        disk
    }

    /// Reports files that cannot be removed to `faults`.
    pub fn reporting(self, faults: FaultReporter) -> Self {
        Self { faults, ..self }
    }

    /// Sets if syncing and removing names fails.
    pub fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }

    /// Sets if opening commit files fails, as without a free descriptor.
    pub fn hide_commits(&self, hides: bool) {
        self.hides_commits.store(hides, Ordering::Relaxed);
    }

    fn check(&self) -> io::Result<()> {
        if self.fails.load(Ordering::Relaxed) { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    /// Returns the number of operations so far.
    pub fn steps(&self) -> usize {
        self.inner.lock().unwrap().1.len()
    }

    /// Returns the files after a crash behind each operation, beginning with a crash before the first.
    pub fn crashes(&self, survival: CrashSurvival) -> impl Iterator<Item = BTreeMap<String, Vec<u8>>> {
        let steps = self.inner.lock().unwrap().1.clone();
        let mut state = State::default();
        let first = state.survivors(survival);
        let others = steps.into_iter().map(move |step| {
            state.take(&step);
            state.survivors(survival)
        });
        std::iter::once(first).chain(others)
    }

    fn take(&self, step: Step) {
        let (state, steps) = &mut *self.inner.lock().unwrap();
        state.take(&step);
        steps.push(step);
    }
}

struct Written {
    disk: SimulatedDisk,
    file: usize,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.take(Step::Write { file: self.file, bytes: bytes.to_vec() });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for Written {
    fn sync(&mut self) -> io::Result<()> {
        self.disk.take(Step::Sync { file: self.file });
        Ok(())
    }
}

impl Disk for SimulatedDisk {
    fn path(&self) -> &Path {
        Path::new("/simulated_disk")
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = self.inner.lock().unwrap().0.files.len();
        self.take(Step::Create { name: name.to_owned(), file });
        Ok(Box::new(Written { disk: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<FileSlice> {
        if self.hides_commits.load(Ordering::Relaxed) && name.starts_with("commit-") {
            return Err(io::Error::from_raw_os_error(24));
        }
        let state = &self.inner.lock().unwrap().0;
        let file = state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(FileSlice::from(state.files[*file].clone()))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.take(Step::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.check()?;
        self.take(Step::Remove { name: name.to_owned() });
        Ok(())
    }

    fn faults(&self) -> &FaultReporter {
        &self.faults
    }

    fn sync_names(&self) -> io::Result<()> {
        self.check()?;
        self.take(Step::SyncNames);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let state = &self.inner.lock().unwrap().0;
        let files = state.names.iter();
        Ok(files.map(|(name, &file)| (name.clone(), state.files[file].len() as u64)).collect())
    }
}
