# Two commands on a fresh machine: `make demo` and `make test`. Each makes .venv and installs what is pinned.
PYTHON ?= python3
BIN := .venv/bin
# mypy's Django plugin loads the settings; it must not start a server for that.
SIN_SERVIDOR := DATABASE_URL=postgresql://nadie@/nada SECRET_KEY=lint CLAVE_REGISTRO=lint CLAVE_SELLO=lint

.PHONY: demo test lint bench mensajes limpiar

demo: .venv/.listo
	@$(BIN)/python manage.py demo $(ARGS)

test: .venv/.listo-dev
	$(BIN)/python -m pytest $(ARGS)

lint: .venv/.listo-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(SIN_SERVIDOR) $(BIN)/mypy .

bench: .venv/.listo-dev
	$(BIN)/python -m benchmarks $(if $(JSON),--json $(JSON)) $(ARGS)

# Needs GNU gettext to collect; compiles with Babel.
mensajes: .venv/.listo-dev
	$(SIN_SERVIDOR) $(BIN)/python manage.py makemessages --locale en --no-location --ignore .venv
	$(BIN)/pybabel compile --domain django --directory locale

.venv/.listo: requirements.txt
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements.txt
	@touch $@

.venv/.listo-dev: requirements-dev.txt .venv/.listo
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	@touch $@

limpiar:
	rm -rf .venv .datos
