//! Reads weights by name from `model.safetensors` and checks their shapes.
//!
//! The file is read tensor by tensor, so that loading needs no second copy of it. No more memory is allocated than the
//! file has bytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use safetensors::tensor::{Dtype, Metadata};

use crate::config::{Config, Family};
use crate::error::{Failure, Result};
use crate::files::WEIGHTS;
use crate::limits::HEADER_BYTES_MAX;

/// An open file of weights.
pub struct Weights {
    path: PathBuf,
    file: File,
    metadata: Metadata,
    /// Offset of the numbers.
    data_from: u64,
    /// Prefix of all names.
    prefix: &'static str,
}

impl Weights {
    /// Opens the weights in the folder of a model. Those of a model with a head have the prefix of its family.
    pub fn of_model(folder: &Path, config: &Config) -> Result<Self> {
        let prefixes: &[&str] = match config.family {
            Family::Bert => &["", "bert."],
            Family::Roberta => &["", "roberta."],
            Family::DistilBert => &["", "distilbert."],
        };
        Self::open(&folder.join(WEIGHTS), prefixes, "embeddings.word_embeddings.weight")
    }

    /// Opens a file. Names have the prefix from `prefixes` with which the tensor `known` exists.
    fn open(path: &Path, prefixes: &[&'static str], known: &str) -> Result<Self> {
        let wrong = |reason: String| Failure::of(path, reason);
        let io = |error: std::io::Error| Failure::of(path, error);
        let mut file = File::open(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| wrong("it is shorter than its own header".to_owned()))?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_BYTES_MAX || length > size.saturating_sub(8) {
            return Err(wrong(format!(
                "its header claims {length} bytes, which is not valid for safetensors"
            )));
        }
        let mut header = Vec::new();
        (&mut file).take(length).read_to_end(&mut header).map_err(io)?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| wrong(error.to_string()))?;
        let data_from = 8 + length;
        let claimed = metadata.data_len() as u64;
        if size - data_from != claimed {
            let found = size - data_from;
            return Err(wrong(format!("its header claims {claimed} bytes of weights, but {found} follow")));
        }
        let prefix = prefixes
            .iter()
            .find(|prefix| metadata.info(&format!("{prefix}{known}")).is_some())
            .ok_or_else(|| wrong(format!("there is no tensor `{known}` in it")))?;
        Ok(Self { path: path.to_owned(), file, metadata, data_from, prefix })
    }

    /// Reads the tensor `name` as 32-bit floats.
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let name = format!("{}{name}", self.prefix);
        let wrong = |reason: String| Failure::of(&self.path, format!("tensor `{name}`: {reason}"));
        let info = self.metadata.info(&name).ok_or_else(|| wrong("it is missing".to_owned()))?;
        if info.shape != shape {
            return Err(wrong(format!("its shape is {:?}, but config.json says {shape:?}", info.shape)));
        }
        let dtype = match info.dtype {
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            other => return Err(wrong(format!("weights of the type {other:?} are not supported"))),
        };
        let (from, to) = info.data_offsets;
        let mut bytes = vec![0; to - from];
        self.file
            .seek(SeekFrom::Start(self.data_from + from as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| wrong(error.to_string()))?;
        Tensor::from_raw_buffer(&bytes, dtype, shape, &Device::Cpu)
            .and_then(|tensor| tensor.to_dtype(DType::F32))
            .map_err(|error| wrong(error.to_string()))
    }

    /// The same file, with names without a prefix.
    pub fn unprefixed(self) -> Self {
        Self { prefix: "", ..self }
    }

    /// Returns the shape of the tensor `name`; None: it does not exist.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.metadata.info(&format!("{}{name}", self.prefix)).map(|info| info.shape.as_slice())
    }

    /// Returns true if the tensor `name` exists.
    pub fn has(&self, name: &str) -> bool {
        self.shape(name).is_some()
    }
}
