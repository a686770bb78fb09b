"""The house: imports point one way, heavy libraries have one door each, every room says what it is for.

All imports count: inside functions, for type checkers only, and by name through importlib.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What each part of proxy/ may import of proxy, besides itself and the bare package (its version). Names are modules;
# a folder's name stands for all in it, so policy.model is one file and grounding a folder.
LAYERS = {
    "grounding": (),
    "yamlfile": ("grounding",),
    "keys": ("grounding", "yamlfile"),
    "policy": ("grounding", "keys", "yamlfile"),
    "upstream": ("grounding",),
    "scoring": ("grounding", "upstream.base"),  # a scorer may ask a model, through the seam
    "guard": ("grounding", "policy.model", "scoring.base", "upstream.base"),
    "observe": ("grounding", "policy.model", "upstream.base", "guard"),
    "page": ("grounding", "policy.model", "guard"),
    "replay": ("grounding", "policy.model", "guard", "scoring.base", "tables", "progress", "files"),
    # Evaluating asks a model through the same seam as a scorer that is one.
    "evaluate": (
        *("grounding", "policy.model", "guard", "scoring.base", "scoring.asking", "upstream.base", "tables"),
        *("progress", "files"),
    ),
    "calibrate": ("grounding", "policy.model", "guard", "scoring.base", "tables", "progress", "files"),
    "access": ("grounding", "policy", "upstream.base", "guard", "settings"),  # tenants are read from the settings
    # Surfaces know who calls, and which fields to refuse; steering is a list of words that imports nothing.
    "surfaces": ("grounding", "policy.model", "upstream.base", "upstream.steering", "guard", "access"),
}
# Where the parts are chosen and joined; these may import everything, and nothing above may import them but as said.
COMPOSITION = {
    *("__init__", "__main__", "admin", "app", "cases", "check", "cli", "demo", "progress", "schema", "settings"),
    *("files", "tables", "throttle"),
}

# Heavy or leaky libraries: the one folder that may know them, in one file.
SINGLE_IMPORTERS = {
    "litellm": "upstream",
    "openvino": "scoring",
    "prometheus_client": "observe",
    "torch": "scoring",
    "transformers": "scoring",
}

# What the core must not touch even though Python ships it: the clock, the outside, and waiting.
NO_CORE = (
    "asyncio concurrent datetime http io logging os pathlib random socket subprocess threading time urllib".split()
)

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "proxy").rglob("*.py"))
}


def imports_of(module: str, source: str, is_package: bool = False) -> set[str]:
    """Everything that a module's source imports, absolute: ``from a import b`` is ``a.b``."""
    package = module if is_package else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                origin = ".".join([*parents, *([base] if base else [])])
                found.update(f"{origin}.{alias.name}" for alias in names)
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found.add(name)
    return found


IMPORTS = {
    module: imports_of(module, path.read_text(encoding="utf-8"), path.name == "__init__.py")
    for module, path in MODULES.items()
}


def module_of(name: str) -> str:
    """The module that an imported name of proxy lives in."""
    while name not in MODULES and "." in name:
        name = name.rpartition(".")[0]
    return name


def within(name: str, part: str) -> bool:
    """Whether a dotted name is ``part`` or lies in it."""
    return f"{name}.".startswith(f"{part}.")


def part_of(module: str) -> str:
    """The file or folder of proxy/ that a module belongs to; the package itself is ``__init__``."""
    return [*module.split("."), "__init__"][1]


def targets_of(names: set[str]) -> set[str]:
    """The modules of proxy among imported names, less the bare package."""
    return {module_of(name) for name in names if within(name, "proxy")} - {"proxy"}


def vendor_of(module: str) -> str | None:
    """The vendor's folder under surfaces/ that a module lies in, if it lies in one."""
    folder = module.split(".")[2:3] if within(module, "proxy.surfaces") else []
    return next((name for name in folder if (ROOT / "proxy" / "surfaces" / name).is_dir()), None)


def wrong_imports(module: str, names: set[str]) -> list[str]:
    """What a module imports of proxy and may not: what is not under it, and another vendor's folder."""
    part = part_of(module)
    allowed = [f"proxy.{name}" for name in (part, *LAYERS[part])]
    return sorted(
        target
        for target in targets_of(names)
        if not any(within(target, name) for name in allowed) or vendor_of(target) not in {None, vendor_of(module)}
    )


def test_every_import_is_seen():
    """The reader of imports sees those in functions, for type checkers, relative ones and those by name."""
    source = """
import a.b
from proxy import one
from . import two
from ..upper import three
if TYPE_CHECKING:
    from c import d
def function():
    import e as f
    importlib.import_module("g")
    import_module("h.i")
    __import__("j")
"""
    expected = {"a.b", "proxy.one", "proxy.room.two", "proxy.upper.three", "c.d", "e", "g", "h.i", "j"}
    assert imports_of("proxy.room.desk", source) == expected
    assert imports_of("proxy.room", "from . import two", is_package=True) == {"proxy.room.two"}


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        ("proxy.grounding.tags", "proxy.guard"),
        ("proxy.guard.record", "proxy.upstream"),
        ("proxy.guard.record", "proxy.observe"),
        ("proxy.observe.log", "proxy.surfaces"),
        ("proxy.observe.log", "proxy.scoring"),
        ("proxy.surfaces.base", "proxy.surfaces.openai"),
        ("proxy.surfaces.bedrock", "proxy.surfaces.openai"),
        ("proxy.surfaces.bedrock", "proxy.policy"),
    ],
)
def test_a_wrong_import_is_found(module, wrong):
    """An import upwards, past a seam or into another vendor's folder is found among good ones."""
    good = {"json", "proxy.__version__", "proxy.grounding.errors.CallerError", f"{module}.name"}
    assert wrong_imports(module, good) == []
    assert wrong_imports(module, {*good, f"{wrong}.name"}) == [wrong]


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    """A module imports of proxy only its own folder and the layers under it, and of vendors only its own."""
    part = part_of(module)
    assert part in LAYERS.keys() | COMPOSITION, f"proxy/{part} has no layer yet: give it one here"
    if part in LAYERS:
        assert wrong_imports(module, IMPORTS[module]) == []


@pytest.mark.parametrize("module", [module for module in MODULES if part_of(module) == "grounding"])
def test_the_core_is_pure(module):
    """The core imports the standard library alone, and of that nothing that tells time, waits or reaches outside."""
    roots = {name.split(".")[0] for name in IMPORTS[module]}
    assert roots - sys.stdlib_module_names <= {"proxy"}
    assert not roots & set(NO_CORE)


def test_there_are_no_cycles():
    """No module reaches itself through its imports."""
    try:
        TopologicalSorter({module: targets_of(names) - {module} for module, names in IMPORTS.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' ← '.join(error.args[1])}")


@pytest.mark.parametrize(("library", "folder"), SINGLE_IMPORTERS.items())
def test_each_heavy_library_has_one_importer(library, folder):
    """A library that we keep at arm's length is imported by one file, in the folder it belongs to."""
    importers = [module for module, names in IMPORTS.items() if any(within(name, library) for name in names)]
    assert len(importers) <= 1
    assert all(part_of(module) == folder for module in importers)


def test_importing_the_application_is_light():
    """Importing the application loads none of the heavy libraries: they wait until they are needed."""
    heavy = {"botocore", "litellm", "openvino", "torch", "transformers"}
    code = f"import sys, proxy.app; sys.exit(', '.join(sorted({heavy} & sys.modules.keys())) or 0)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert (done.returncode, done.stderr.strip()) == (0, "")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is_for(module):
    """Each module opens with a docstring."""
    assert ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES)
def test_nothing_depends_on_tests(module):
    """The program imports neither its tests nor the tools that only tests need."""
    roots = {name.split(".")[0] for name in IMPORTS[module]}
    test_modules = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    assert not roots & ({"tests", "pytest", "hypothesis", "azure", "boto3", "openai"} | test_modules)
