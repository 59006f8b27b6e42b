# Commands for contributors. CONTRIBUTING.md explains them; `just` alone lists them.

_list:
    @just --list --unsorted

# Judge a trace, as a user would.
replay *TRACES:
    cargo run --release -- replay {{TRACES}}

# Format, lints and links: what fails most often, in about a minute once built.
quick:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --locked -p jobcheck-prose

# All tests but those on a real control plane.
test:
    cargo test --locked -- --skip live::

# Everything that CI runs.
ci:
    .ci/run

# Accept every kind of expected output: snapshots, generated pages, the corpus, golden verdicts. Read the diff.
bless:
    JOBCHECK_BLESS=1 cargo test --locked -p jobcheck-tests --test suite

# The documentation of the crates.
doc:
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --document-private-items --locked --open

# The judge's verdicts on edited recordings, by class of edits.
edits *ARGUMENTS:
    cargo run -p jobcheck-edits --release -- {{ARGUMENTS}}

# The benchmarks, each with the ratio that the documents claim as its gate.
bench NAME *ARGUMENTS:
    cargo bench -p jobcheck-bench --bench {{NAME}} -- {{ARGUMENTS}}
