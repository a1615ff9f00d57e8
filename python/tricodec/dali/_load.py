# SPDX-License-Identifier: Apache-2.0
"""Finding the plugin that fits the installed DALI, and registering its operators once."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

from tricodec._tricodec import __version__
from tricodec.compress import use_installed_library
from tricodec.dali import _build
from tricodec.dali._arguments import accept_arguments, refuse_fractions
from tricodec.dali._build import PluginError
from tricodec.dali._dali_install import DaliInstall, describe

#: Where the build of the package puts a plugin for the DALI that it found.
PREBUILT_DIR = Path(__file__).parent / "lib"
_SCHEMAS = (
    "tricodec__DecodeVideo", "tricodec__Transform", "tricodec__EncodeVideo", "tricodec__Compress",
    "tricodec__Decompress", "tricodec__ReadVideo",
)  # fmt: skip
_DYNAMIC = "nvidia.dali.experimental.dynamic"

_log = logging.getLogger("tricodec.dali")


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
    return (_prebuilt(install) or _compiled(install)).with_name(_build.PRELOAD_NAME)


def build() -> Path:
    """Compile the plugin for the installed DALI into the cache, even if one exists.

    A process that has the operators loaded keeps them; the new ones are for later processes.

    Returns:
        The path that plugin_path() returns if the cache is used.

    Raises:
        PluginError: if there is no compiler, CUDA's headers are missing, or compiling fails.
    """
    return _build.cached_or_built(_installed_dali(), force=True).with_name(_build.PRELOAD_NAME)


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
        return _build.cached_or_built(install)
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
        return PREBUILT_DIR / _build.LIBRARY_NAME
    return None


def _prebuilt_facts() -> dict[str, Any]:
    """What the build wrote beside the plugin, empty if there is none."""
    library = PREBUILT_DIR / _build.LIBRARY_NAME
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
