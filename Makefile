# Thin targets: what they do is in package.json's scripts and in `memagent`.
.DEFAULT_GOAL := build
.PHONY: build demo test lint chaos long drill study tamper wide misbehaviours record-histories conformance parity bench base schema clean prepare

CASES ?= ../shared/cases
SEED ?= 1
STEPS ?= 2000
TORCH_POLICY ?= ../shared/bench/torch_policy
BENCH ?= ../shared/bench

prepare:
	@sh scripts/prepare.sh

build: prepare ## Install and compile; afterwards `npx memagent` works from here.
	@npm run --silent build

demo: build ## The laptop recipe from raw data to verdict.
	@node dist/cli/main.js demo

test: build lint ## Build, lint, run every test.
	@npm test --silent

lint: prepare ## Types, code rules, format, import direction; two at a time.
	@$(MAKE) --silent -j2 lint-code lint-types lint-format lint-imports

lint-types lint-code lint-format lint-imports:
	@npm run --silent $(subst lint-,lint:,$@)

chaos: build ## Hurt a laptop run at seeded places: processes, network, disk, checkpoints, clocks; compare its bytes.
	@npm run --silent chaos -- --seed $(SEED)

long: build ## Train for thousands of tiny steps and run many pipelines at once: history, memory, bytes.
	@npm run --silent long -- --steps $(STEPS)

drill: build ## Deploy, kill and cancel while the laptop recipe runs, and time what follows.
	@npm run --silent drill

study: build ## Five seeds and the ablations of the laptop recipe; writes docs/learning.md.
	@npm run --silent study

wide: build ## Evaluate 3,200 samples of 64 chunks against a server without latency (BENCH=folder, TOKENIZER=folder).
	@node dist/scripts/wide-evaluation.js --bench $(BENCH) --tokenizer $(TOKENIZER)

tamper: build ## Change one byte in each kind of file of a copy of RUN=folder; print what verify says.
	@node dist/scripts/tamper-table.js $(RUN)

misbehaviours: build ## Every misbehaviour of a training job through the pipeline, on real Ray heads; writes docs/misbehaviours.md.
	@UPDATE_DOCS=1 npx vitest run test/e2e/ray-misbehaviours.test.ts

record-histories: build ## Record the workflow histories that the replay tests hold the code against.
	@npm run --silent record-histories

conformance: build ## Run the case files of CASES=folder.
	@node dist/cli/main.js conformance $(CASES)

parity: build ## Compare models that the engine writes with transformers (MEMAGENT_PYTHON, else an environment of its own).
	@npm run --silent parity

bench: build ## The embedded policy against PyTorch (TORCH_POLICY=folder of the yardstick).
	@npm run --silent bench -- --torch $(TORCH_POLICY)

base: build ## Train the laptop's base model again.
	@npm run --silent build:base

schema: build ## Write recipes/recipe.schema.json.
	@npm run --silent build:schema

clean: ## Remove what was built; packages and runs stay.
	@rm -rf dist .eslintcache
