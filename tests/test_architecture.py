"""The rooms and who may import whom, held as a table."""

from __future__ import annotations

import ast
from pathlib import Path

import datasheet

PACKAGE = Path(datasheet.__file__).parent
BASE = {"readings", "label_columns", "records", "identity", "seeds", "config", "errors", "files", "resources"}
BASE |= {"strict_json", "visible", "p_values"}

# What the modules of a room may import of our own, besides their own room.
ALLOWED = {
    "cli": {"workflows", "config", "errors", "resources", "visible"},
    "workflows": {"stimulus", "prompts", "judge", "trials", "exchange", "analysis", "sheet", *BASE},
    "stimulus": BASE,
    "prompts": BASE,
    "judge": BASE,
    "testing": {"judge", "prompts", *BASE},
    "trials": {"judge.base", *BASE},
    "exchange": BASE,
    "analysis": {"readings", "label_columns", "records", "seeds", "errors", "p_values"},
    "sheet": {"analysis", *BASE},
}

# Third-party and library modules that belong to one place.
ONLY_IN = {
    "click": ("cli",),
    "weasyprint": ("sheet/pdf.py",),
    "jinja2": ("sheet/html.py",),
    "sqlite3": ("trials/",),
    "scipy": ("analysis",),
    "statsmodels": ("analysis",),
    "aiohttp": ("judge",),
    "threadpoolctl": ("analysis",),
    "jsonschema": ("sheet/schema.py",),
    "pypdf": ("sheet/attachment.py",),
    "distributed": ("judge/cluster.py",),
    "tomllib": ("config.py", "stimulus/bank.py", "stimulus/channels.py", "prompts/variant.py"),
}

HEAVY = {"numpy", "scipy", "statsmodels", "jinja2", "weasyprint", "aiohttp", "jsonschema", "pypdf"}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imports(tree: ast.AST) -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            if module == "datasheet":
                found += [(f"datasheet.{alias.name}", node) for alias in node.names]
            else:
                found.append((module, node))
    return found


def test_there_is_something_to_check() -> None:
    rooms = {place(path).split("/")[0] for path in modules()}
    assert set(ALLOWED) <= rooms
    assert len(modules()) > 40


def test_rooms_import_only_what_they_may() -> None:
    broken = []
    for path in modules():
        room = place(path).split("/")[0]
        for name, _ in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if not name.startswith("datasheet."):
                continue
            target = name.removeprefix("datasheet.")
            top = target.split(".")[0]
            if room in ALLOWED and top not in (room, "__version__"):
                allowed = ALLOWED[room]
                if top not in allowed and not any(target == deep or target.startswith(f"{deep}.") for deep in allowed):
                    broken.append(f"{place(path)} imports {name}")
            if room.endswith(".py") and room not in ("__init__.py", "__main__.py") and top not in BASE:
                broken.append(f"{place(path)} imports {name}")
    assert not broken


def test_libraries_stay_in_their_place() -> None:
    broken = []
    for path in modules():
        for name, _ in imports(ast.parse(path.read_text(encoding="utf-8"))):
            top = name.split(".")[0]
            where = ONLY_IN.get(top)
            if where is not None and not place(path).startswith(where):
                broken.append(f"{place(path)} imports {name}")
            if top == "statsmodels":
                assert name != "statsmodels.api", "statsmodels.api takes seconds to load: import its submodules"
    assert not broken


def test_no_import_of_ours_inside_a_function_but_in_cli() -> None:
    broken = []
    for path in modules():
        if place(path).startswith("cli/"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in functions:
            broken += [
                f"{place(path)}: {function.name} imports {name}"
                for name, _ in imports(function)
                if name.split(".")[0] == "datasheet"
            ]
    assert not broken


def test_analysis_has_no_clock_no_network_and_no_files() -> None:
    forbidden = {"time", "datetime", "random", "socket", "asyncio", "os", "pathlib", "urllib", "sqlite3"}
    broken = [
        f"{place(path)} imports {name}"
        for path in modules()
        if place(path).startswith("analysis/")
        for name, _ in imports(ast.parse(path.read_text(encoding="utf-8")))
        if name.split(".")[0] in forbidden
    ]
    assert not broken


def test_no_import_cycle() -> None:
    graph = {}
    for path in modules():
        name = "datasheet." + place(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
            for inner in ast.walk(node)
        }
        graph[name.removesuffix(".__init__")] = {
            target for target, node in imports(tree) if id(node) not in skipped and target.startswith("datasheet.")
        }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail, name))
        if name in done or name not in graph:
            return
        for target in graph[name]:
            visit(target, (*trail, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def test_the_command_line_starts_light() -> None:
    """What `datasheet --help` loads, by the import statements it reaches."""
    seen: set[Path] = set()
    queue = [PACKAGE / "cli" / "__init__.py"]
    loaded: set[str] = set()
    while queue:
        path = queue.pop()
        if path in seen:
            continue
        seen.add(path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lazy = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
            for inner in ast.walk(node)
        }
        for name, node in imports(tree):
            if id(node) in lazy:
                continue
            loaded.add(name.split(".")[0])
            target = PACKAGE.parent / Path(*name.split("."))
            for candidate in (target.with_suffix(".py"), target / "__init__.py"):
                if name.startswith("datasheet") and candidate.is_file():
                    queue.append(candidate)
    assert not loaded & HEAVY
