# SPDX-License-Identifier: AGPL-3.0-or-later
# make run: set up, then the app. make test: set up, then every test. The rest is for developers.

PYTHON ?= python3
PORT   ?= 8501
VENV   := .venv
BIN    := $(VENV)/bin
CACHE  := $(or $(RAGSCOPE_CACHE_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ragscope)
AXE    := 4.14.1
READY  := $(VENV)/.ready-$(shell cksum < requirements.txt | cut -d' ' -f1)

.PHONY: run test check setup demo packages browser
run: setup
	@echo "Ragscope: http://127.0.0.1:$(PORT)"
	@exec $(BIN)/streamlit run app.py --server.port $(PORT)

test: setup browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

setup: packages
	@echo "2/2 Weaviate and the embedding weights (once for all checkouts)"
	@$(BIN)/python -m rag_core setup

demo: setup
	$(BIN)/python -m rag_core demo

packages: $(READY)
$(READY): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Ragscope needs Python 3.11 or newer: name it with make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "1/2 Python packages into $(VENV): about 1.8 GB, one to three minutes"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --quiet -r requirements.txt
	@rm -f $(VENV)/.ready-*
	@touch $@

# Chromium for the browser tests, axe-core for one of them: they skip, and say so, where these cannot be installed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    apt-get install -y -qq chromium tesseract-ocr fonts-noto-core >/dev/null; } || \
	  echo "Chromium is not here and cannot be installed without root: the browser tests will be skipped."
	@test -f "$(CACHE)/axe-core-$(AXE).tgz" || \
	  { mkdir -p "$(CACHE)" && npm pack --silent --fetch-retries=0 --pack-destination "$(CACHE)" axe-core@$(AXE) >/dev/null 2>&1; } || \
	  echo "npm cannot fetch axe-core: the test of the screens' accessibility will be skipped."
