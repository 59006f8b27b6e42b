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

# The documentation as a site with search, in target/site; all links are checked.
site *ARGUMENTS:
    cargo run -q --locked -p jobcheck-site -- {{ARGUMENTS}}

# The judge's verdicts on edited recordings, by class of edits.
edits *ARGUMENTS:
    cargo run -p jobcheck-edits --release -- {{ARGUMENTS}}

# Drawn inputs for everything that reads what others have written, until Ctrl-C; `--list` lists the targets.
fuzz-inputs *ARGUMENTS:
    cargo run --release --locked -p jobcheck-inputs -- {{ARGUMENTS}}

# What the program is made of, as CycloneDX; with Go, also the control plane of the tests.
sbom *ARGUMENTS:
    cargo run -q --locked -p jobcheck-sbom -- {{ARGUMENTS}}

# The controllers, the recorder, and the judge for a long time, with all that can happen to them; samples their memory.
soak *ARGUMENTS:
    cargo build --release --locked -p jobcheck
    cargo run --release --locked -p jobcheck --example soak -- {{ARGUMENTS}}

# What breaks if one guard is switched off, for each guard, compared with docs/results/sensitivity.md.
sensitivity *ARGUMENTS:
    cargo run --release --locked -p jobcheck-explorer --example sensitivity -- {{ARGUMENTS}}

# Mutation testing of guards, API server rules, and obligations. Each line tries the mutants that survived the one before.
mutate-specification *ARGUMENTS:
    -cargo mutants --config .cargo/mutants-specification.toml -p jobcheck-spec --test-package jobcheck-spec --baseline skip --timeout 60 {{ARGUMENTS}} -- --lib
    -cargo mutants --config .cargo/mutants-specification.toml -p jobcheck-spec --test-package jobcheck-judge --iterate --baseline skip --timeout 180 {{ARGUMENTS}} -- --test golden
    -cargo mutants --config .cargo/mutants-specification.toml -p jobcheck-spec --test-package jobcheck-explorer --iterate --baseline skip --timeout 600 {{ARGUMENTS}} -- --lib
    cargo mutants --config .cargo/mutants-specification.toml -p jobcheck-spec --test-package jobcheck-tests --iterate --baseline skip --timeout 1200 {{ARGUMENTS}} -- --test suite -- check:: corpus golden judge_

# Mutation testing of the judge. The second line tries the mutants that survived the first.
mutate-judge *ARGUMENTS:
    -cargo mutants --config .cargo/mutants-judge.toml -p jobcheck-judge --test-package jobcheck-judge --baseline skip --timeout 180 {{ARGUMENTS}} -- --lib --test golden
    cargo mutants --config .cargo/mutants-judge.toml -p jobcheck-judge --test-package jobcheck-tests --iterate --baseline skip --timeout 1200 {{ARGUMENTS}} -- --test suite -- corpus golden judge_

# A day of a cluster with 100,000 Jobs for `jobcheck watch-audit`, with a restart at noon.
watch-day JOBS="100000":
    JOBCHECK_DAY_JOBS={{JOBS}} cargo test --release --locked -p jobcheck-watch --test day -- --nocapture

# A release without a tag, from the program that is built already: archive, checksums, krew manifest, packages.
release-dry:
    cargo build --locked -p jobcheck
    deploy/release/release --dry-run --out target/release-dry
    deploy/release/crates

# The judge as WebAssembly, tried in Node, and the page on which logs can be dropped, tried in a browser.
wasm:
    rustup target add wasm32-unknown-unknown
    cargo build --locked --target wasm32-unknown-unknown --profile wasm -p jobcheck-wasm
    node library/wasm/try.mjs target/wasm32-unknown-unknown/wasm/jobcheck_wasm.wasm traces/corpus/invalid/FT-03--released-before-recorded.audit.jsonl
    JOBCHECK_WASM=target/wasm32-unknown-unknown/wasm/jobcheck_wasm.wasm cargo test --locked -p jobcheck --test cli -- dropped::
    library/wasm/page target/wasm32-unknown-unknown/wasm/jobcheck_wasm.wasm > target/judge.html

# The benchmarks, each with the ratio that the documents claim as its gate.
bench NAME *ARGUMENTS:
    cargo bench -p jobcheck-bench --bench {{NAME}} -- {{ARGUMENTS}}
