# SPDX-License-Identifier: Apache-2.0
"""The plugin that fits the installed DALI: found, or compiled into the user's cache, and its operators registered."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tricodec import installation
from tricodec._tricodec import __version__
from tricodec.compress import use_installed_library
from tricodec.dali._arguments import accept_arguments, refuse_fractions
from tricodec.dali._dali_install import DaliInstall, describe

LIBRARY_NAME = "libtricodec_dali.so"
#: Loads the core and then LIBRARY_NAME, which lies beside it; for programs that do not import tricodec.
PRELOAD_NAME = "libtricodec_dali_preload.so"
SOURCE_DIR = Path(__file__).parent / "plugin"
#: Where the build of the package puts a plugin for the DALI that it found.
PREBUILT_DIR = Path(__file__).parent / "lib"
_SCHEMAS = (
    "tricodec__DecodeVideo", "tricodec__Transform", "tricodec__EncodeVideo", "tricodec__Compress",
    "tricodec__Decompress", "tricodec__ReadVideo",
)  # fmt: skip
_DYNAMIC = "nvidia.dali.experimental.dynamic"
_FLAGS = (
    "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
    "-Wl,--exclude-libs,ALL",  # cmake/options.cmake says why
)  # fmt: skip

_log = logging.getLogger("tricodec.dali")


class PluginError(ImportError):
    """There is no DALI plugin for the installed DALI. The text gives the reason and the remedy."""


def cache_dir() -> Path:
    """The directory that holds compiled plugins: ``$XDG_CACHE_HOME/tricodec/dali``."""
    try:
        return installation.cache_dir() / "dali"
    except RuntimeError as error:
        message = "no home directory to keep the compiled DALI plugin in; set XDG_CACHE_HOME to a writable directory"
        raise PluginError(message) from error


def cached_or_built(install: DaliInstall, *, force: bool = False) -> Path:
    """The plugin for `install`, from the cache, or freshly compiled, which `force` demands."""
    compiler = find_compiler()
    folder = cache_dir() / _key(install)
    if compiler is None:
        # Whatever compiled it was good enough: a machine may lose its compiler after the first use.
        found = [] if force else sorted(folder.glob(f"*/{LIBRARY_NAME}"))
        if found:
            return found[0]
        raise PluginError(_no_tools("no C++ compiler is found (CXX, g++, c++, clang++)", install))
    library = folder / _digest(compiler_version(compiler))[:12] / LIBRARY_NAME
    if library.is_file() and not force:
        return library
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with _lock(library.with_name("lock")):
            if library.is_file() and not force:  # another process was faster
                return library
            _compile(compiler, install, library)
    except OSError as error:
        raise PluginError(
            f"the compiled DALI plugin cannot be stored in {library.parent}: {error}; set XDG_CACHE_HOME to a writable "
            "directory"
        ) from error
    return library


def find_compiler() -> str | None:
    """The C++ compiler: ``$CXX``, else g++, c++ or clang++ on the PATH."""
    names = (os.environ.get("CXX"), "g++", "c++", "clang++")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def compiler_version(compiler: str) -> str:
    """The path and the first line that the compiler prints of itself."""
    run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return f"{compiler}: {run.stdout.partition(chr(10))[0]}"


def _compile(compiler: str, install: DaliInstall, library: Path) -> None:
    if not install.cuda_include_dir:
        lacking = "CUDA's headers (cuda_runtime_api.h), which DALI's own include, are not found"
        raise PluginError(_no_tools(lacking, install))
    core = installation.library_path()
    run_path = f"-Wl,-rpath,{core.parent},-rpath,$ORIGIN"
    operators = [compiler, *_FLAGS, *install.defines]
    for directory in (*install.include_dirs, install.cuda_include_dir):
        operators += ["-isystem", directory]
    operators += [f"-I{installation.include_dir()}", f"-I{SOURCE_DIR}", "-x", "c++", "-", "-x", "none"]
    operators += [f"-L{install.library_dir}", "-ldali", "-ldali_core", str(core), run_path, "-Wl,-z,defs,-z,now"]
    preload = [compiler, *_FLAGS, f'-DTRICODEC_CORE="{core.name}"', f'-DTRICODEC_DALI_OPERATORS="{LIBRARY_NAME}"']
    preload += ["-x", "c++", "-", "-x", "none", run_path, "-ldl"]
    facts = {
        "dali_version": install.version, "tricodec_version": __version__, "compiler": compiler_version(compiler),
        "machine": platform.machine(), "command": shlex.join(operators),
    }  # fmt: skip
    # DALI's headers are most of the work: as one translation unit the operators' sources read them once.
    preload_source = SOURCE_DIR / "preload.cpp"
    sources = [source for source in sorted(SOURCE_DIR.rglob("*.cpp")) if source != preload_source]
    _log.info("compiling the DALI plugin for DALI %s (once; kept in %s)", install.version, library.parent)
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        folder = Path(scratch)
        _run_compiler(preload, [preload_source], folder / PRELOAD_NAME, install)
        _run_compiler(operators, sources, folder / LIBRARY_NAME, install)
        facts_file = folder / library.with_suffix(".json").name
        facts_file.write_text(json.dumps(facts, indent=2) + "\n")
        for name in (facts_file.name, PRELOAD_NAME, LIBRARY_NAME):  # the operators last: they say that all is there
            (folder / name).replace(library.with_name(name))


def _run_compiler(command: list[str], sources: list[Path], output: Path, install: DaliInstall) -> None:
    command = [*command, "-o", str(output)]
    unit = "".join(f'#include "{source}"\n' for source in sources)
    run = subprocess.run(command, input=unit, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = "\n".join((run.stdout + run.stderr).strip().splitlines()[:30])
        raise PluginError(
            f"compiling the DALI plugin for DALI {install.version} failed; GCC 11 or Clang 14, or newer, is needed "
            f"(CXX names another compiler). The command was\n  {shlex.join(command)}\nand it said\n{said}"
        )


def _no_tools(lacking: str, install: DaliInstall) -> str:
    return (
        f"tricodec's DALI operators must be compiled for the installed DALI {install.version}, because a DALI plugin "
        f"is bound to one DALI version, and {lacking}. Install what is missing, then import tricodec.dali again: a "
        "compiler by apt-get install g++ (CXX names another one), CUDA's headers by pip install nvidia-cuda-runtime "
        "nvidia-cuda-crt nvidia-cuda-cccl (CUDA_HOME names a toolkit's directory)"
    )


def _key(install: DaliInstall) -> str:
    """The part of the cache's path that all compilers share."""
    parts = [install.version, *install.defines, install.library_dir, platform.machine()]
    parts += [__version__, str(installation.library_path())]
    # The headers say how libtricodec.so is called; together with the sources they are the plugin.
    for source in sorted([*SOURCE_DIR.rglob("*.[ch]*"), *Path(installation.include_dir()).rglob("*.h")]):
        parts += [source.name, source.read_text()]
    return f"{install.version}-{_digest(*parts)[:16]}"


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, also by a crash
        yield


def register() -> None:
    """Make ``fn.tricodec`` exist. Does nothing if the operators are registered already."""
    install = _installed_dali()
    from nvidia.dali import backend, fn, ops

    use_installed_library()  # operators on a GPU and Bitcomp look for it

    # DALI ends the process when an operator is registered twice, so a plugin that DALI_PRELOAD_PLUGINS or a server's
    # configuration loaded from elsewhere must be left alone.
    if backend.TryGetSchema(_SCHEMAS[0]) is None:
        _load_library(install)
    if not hasattr(fn, "tricodec"):
        ops.Reload()
    refuse_fractions(backend, ops.tricodec, _SCHEMAS)
    accept_arguments(fn.tricodec)
    _announce_to_dynamic_mode(backend)


def plugin_path() -> Path:
    """The plugin for the installed DALI, compiled first if necessary.

    For programs that load plugins without importing ``tricodec``: ``DALI_PRELOAD_PLUGINS`` and the ``plugin_libs``
    option of Triton's DALI backend. It loads the library and the operators, which lie beside it, in the order that is
    safe. In a process that has them, importing ``tricodec.dali`` does not load them again.

    Raises:
        PluginError: if there is none for this DALI and it cannot be compiled here.
    """
    install = _installed_dali()
    return (_prebuilt(install) or _compiled(install)).with_name(PRELOAD_NAME)


def build() -> Path:
    """Compile the plugin for the installed DALI into the cache, even if one exists.

    A process that has the operators loaded keeps them; the new ones are for later processes.

    Returns:
        The path that plugin_path() returns if the cache is used.

    Raises:
        PluginError: if there is no compiler, CUDA's headers are missing, or compiling fails.
    """
    return cached_or_built(_installed_dali(), force=True).with_name(PRELOAD_NAME)


def _installed_dali() -> DaliInstall:
    try:
        return describe()
    except ModuleNotFoundError as error:
        if error.name not in ("nvidia", "nvidia.dali"):
            raise
        message = (
            "tricodec.dali needs NVIDIA DALI, which is not installed here: pip install tricodec[dali] "
            "(or the nvidia-dali package of your CUDA version)"
        )
        raise ImportError(message, name=error.name) from error


def _load_library(install: DaliInstall) -> None:
    from nvidia.dali import plugin_manager

    # The operators' library itself, not the preloading one: `import tricodec` has loaded the core, and so DALI reports
    # what is wrong with the library.
    prebuilt = _prebuilt(install)
    if prebuilt is not None:
        try:
            plugin_manager.load_library(str(prebuilt))
            return
        except RuntimeError as error:
            # Its operators are not registered then: the loader fails before any of the library's code runs.
            _log.info("the prebuilt DALI plugin does not load, it is compiled again: %s", error)
    library = _compiled(install)
    try:
        plugin_manager.load_library(str(library))
    except RuntimeError as error:
        raise PluginError(
            f"the DALI plugin {library} does not load with DALI {install.version}: {error}. Remove that file to have "
            "it compiled again"
        ) from error


def _compiled(install: DaliInstall) -> Path:
    try:
        return cached_or_built(install)
    except PluginError as error:
        facts = _prebuilt_facts()
        if not facts or facts.get("dali_version") == install.version:
            raise
        raise PluginError(
            f"{error}. The plugin that came with this tricodec is for DALI {facts.get('dali_version')}: with that DALI "
            "nothing needs to be compiled"
        ) from error


def _prebuilt(install: DaliInstall) -> Path | None:
    facts = _prebuilt_facts()
    if facts.get("dali_version") == install.version and facts.get("tricodec_version") == __version__:
        return PREBUILT_DIR / LIBRARY_NAME
    return None


def _prebuilt_facts() -> dict[str, Any]:
    """What the build wrote beside the plugin, empty if there is none."""
    library = PREBUILT_DIR / LIBRARY_NAME
    try:
        facts = json.loads(library.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return {}
    return facts if library.is_file() and isinstance(facts, dict) else {}


def _announce_to_dynamic_mode(backend: Any) -> None:
    """Add the operators to dynamic mode, which collects operators only once: when it is imported."""
    dynamic = sys.modules.get(_DYNAMIC)
    if dynamic is None or hasattr(dynamic, "tricodec"):
        return
    try:
        from nvidia.dali.experimental.dynamic import _op_builder, _ops  # noqa: PLC2701

        for schema in _SCHEMAS:
            operator = _op_builder.build_operator_class(backend.GetSchema(schema))
            _ops._all_ops.append(operator)
            if not operator._is_stateful:  # those are classes only
                _ops._all_functions.append(_op_builder.build_fn_wrapper(operator))
    except Exception as error:  # DALI's private names: another version may have others
        warnings.warn(
            f"DALI's dynamic mode was imported before tricodec.dali and cannot register its operators ({error}); "
            "import tricodec.dali first",
            stacklevel=2,
        )
