# One command each; every one sets up what it needs in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
FILE   ?=
INDEX  ?= 0
# So many processes run the tests: those that wait for a browser or a kernel leave a core to others.
WORKERS ?= 3

# The tests start many processes: without its bytecode each of them would compile all anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo lab test oldest notebooks check bench clean

# Replay a conversation and write a page: make demo, make demo FILE=chat.json INDEX=3
demo: $(VENV)/.core
	$(BIN)/koogbook demo $(if $(FILE),"$(FILE)") --index $(INDEX)

lab: $(VENV)/.lab
	$(BIN)/koogbook lab

test: check
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --ignore-glob='*/test_limits_*.py'
	$(BIN)/python -m pytest tests/*/test_limits_*.py
	KOOGBOOK_STATIC=1 $(BIN)/python -m pytest --nbval --nbval-current-env --nbval-cell-timeout=60 notebooks

# What runs in a kernel once more, with an older ipykernel, whose clicks come on another thread; it stands in a folder of
# its own before the newer one.
oldest: $(VENV)-oldest/.test
	PYTHONPATH=$(VENV)-oldest $(BIN)/python -m pytest -n 2 --dist loadfile tests/notebook/test_kernel.py tests/notebook/test_frame.py tests/notebook/test_extension.py tests/notebook/test_limits_of_interrupts.py

# Run the notebooks anew and keep their outputs.
notebooks: $(VENV)/.test
	$(BIN)/python notebooks/run.py

check: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers 2

bench: $(VENV)/.test
	$(BIN)/python tests/benchmarks/run.py

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "koogbook needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.core: $(VENV)/.python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.lab: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[lab]'
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[lab,test]'
	touch $@

$(VENV)-oldest/.test: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --no-deps --target $(VENV)-oldest 'ipykernel==7.3.*'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
