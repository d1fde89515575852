//! Where trained policies are found: by name in folders, or by path. Loaded policies are kept, so that
//! many calls read each once.

use legato_control::policy::{self, Model};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Folders of policies, `NAME/policy.toml` each. Clones share the loaded policies.
#[derive(Clone, Default)]
pub struct Policies {
    folders: Arc<[PathBuf]>,
    places: Arc<BTreeMap<String, String>>,
    loaded: Arc<Mutex<BTreeMap<String, Arc<Model>>>>,
}

/// The maximum size of a policy.toml or of weights.
const MAX_BYTES: u64 = 64 << 20;

impl Policies {
    /// Policies of these folders; if two have one of the same name, the first folder's.
    pub fn of(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { folders: folders.into_iter().collect(), ..Self::default() }
    }

    /// The same, with the paths of policies whose names are not in the folders.
    pub fn with_places(self, places: BTreeMap<String, String>) -> Self {
        Self { places: Arc::new(places), ..self }
    }

    /// Policies named by a path relative to `folder`, which is the scenario's.
    pub fn beside(folder: &Path) -> Self {
        Self::of([folder.to_owned()])
    }

    /// A file by its path from one of the folders, or by its own path; at most as large as a policy may be.
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        let places = self.folders.iter().map(|folder| folder.join(name)).chain([PathBuf::from(name)]);
        places.into_iter().find_map(|path| {
            let size = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?.len();
            if size > MAX_BYTES { None } else { std::fs::read(path).ok() }
        })
    }

    /// A policy by name or path.
    pub fn model(&self, name: &str) -> Result<Arc<Model>, String> {
        let mut loaded = self.loaded.lock().expect("nothing panics while loading a policy");
        if let Some(model) = loaded.get(name) {
            return Ok(Arc::clone(model));
        }
        let place = self.places.get(name).map_or(name, String::as_str);
        let model = policy::load(place, |file| self.file(file).map(Into::into))?;
        loaded.insert(name.to_owned(), Arc::clone(&model));
        Ok(model)
    }
}
