# `make demo` and `make test` do all set-up: each makes what it needs and nothing else is typed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo picture quick test coverage lint docs bench clean redis-server

demo: $(VENV)/installed
	cd example_project && ../$(BIN)/python -m example.demo

# These rooms need no server, no crawl and no other process.
QUICK := house keys settings extraction fingerprint report rule url_patterns \
    core/test_analysis
quick: $(VENV)/installed-test
	$(BIN)/pytest -q --numprocesses auto --maxprocesses 4 -k "not redis" \
	    $(foreach name,$(QUICK),$(wildcard tests/$(name) tests/$(name).py tests/test_$(name).py))

test: $(VENV)/installed-test redis-server
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal

coverage: $(VENV)/installed-test,coverage redis-server
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal \
	    --cov scrapy_simhash --cov-report term-missing:skip-covered

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build -W -n --keep-going -b html docs out/docs

# The picture of the report in the README, of the newsroom's crawl; it needs chromium.
picture: $(VENV)/installed
	rm -rf out/picture && mkdir -p out/picture
	cd example_project && ../$(BIN)/scrapy crawl newsroom --nolog -s SIMHASH_ACTION=flag \
	    -s SIMHASH_LOG=../out/picture/dedup.jsonl
	$(BIN)/scrapy simhash report out/picture/dedup.jsonl -o out/picture/report.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1000,1000 \
	    --screenshot=docs/_static/report.png out/picture/report.html

# A choice of them, in minutes; FULL=1 takes everything, and hours.
bench: $(VENV)/installed-test
	$(BIN)/python -m benchmarks.comparison
	$(BIN)/python -m benchmarks.crawl $(if $(FULL),--pages 2000)
	$(BIN)/python -m benchmarks.index $(if $(FULL),--full)
ifdef FULL
	$(BIN)/python -m benchmarks.verdict --rivals
	$(BIN)/python -m benchmarks.redis --race 8
	$(BIN)/python -m benchmarks.faults
	$(BIN)/python -m benchmarks.crawl --growth
	$(BIN)/python -m benchmarks.recrawl
	$(BIN)/python -m benchmarks.sparing
	$(BIN)/python -m benchmarks.corpus --pages 1000000
endif

# The tests want a real redis-server. Root may install one, which is said first; where there is none
# and none may be installed, the tests that need it are skipped.
redis-server:
	@command -v redis-server >/dev/null || { \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "redis-server is missing: installing it with apt-get"; \
	        apt-get update -qq && apt-get install -qq -y redis-server >/dev/null; \
	    else \
	        echo "redis-server is missing: tests that need it are skipped"; \
	    fi; \
	}

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# What stands behind the hyphen are extras.
$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis
