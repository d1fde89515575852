//! Which vector width the processor has. The same code is compiled for each; no bit depends on it.

/// Work that is compiled for each width.
pub(super) trait Wide {
    /// `PANELS` of a matrix are computed together; their number changes the speed and no bit of the result.
    fn run<const PANELS: usize>(self);
}

/// How wide a vector of f32 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// 16: x86-64 with AVX-512.
    #[cfg(target_arch = "x86_64")]
    Sixteen,
    /// 8: x86-64 with AVX2.
    #[cfg(target_arch = "x86_64")]
    Eight,
    /// 4: every machine we build for.
    Four,
}

impl Lanes {
    /// The widest on this machine.
    pub(super) fn of_this_machine() -> Self {
        *Self::all().first().unwrap_or(&Self::Four)
    }

    /// All that run here, widest first.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                all.push(Self::Sixteen);
            }
            if is_x86_feature_detected!("avx2") {
                all.push(Self::Eight);
            }
        }
        all.push(Self::Four);
        all
    }

    /// The work, with as many panels together as there are registers for.
    #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "calls what needs a processor's wider vectors"))]
    pub(super) fn run(self, work: impl Wide) {
        match self {
            // SAFETY: `all` lists it only if the processor has AVX-512.
            #[cfg(target_arch = "x86_64")]
            Self::Sixteen => unsafe { run_sixteen(work) },
            // SAFETY: `all` lists it only if the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Self::Eight => unsafe { run_eight(work) },
            Self::Four => work.run::<2>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn run_sixteen(work: impl Wide) {
    work.run::<4>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_eight(work: impl Wide) {
    work.run::<4>();
}
